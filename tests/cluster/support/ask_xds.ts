/**
 * Asks an xDS server for listeners, as proxies with the tokens that standard input names; prints what became of each. To be run
 * inside of a cluster.
 *
 * @module
 */
// deno-lint-ignore-file no-console -- a program of its own
import { request } from "../../xds/support/fake_envoy.ts";
import { Client } from "../../xds/support/grpc_client.ts";

export interface Questions {
  readonly host: string;
  readonly port: number;
  readonly serverName: string;
  /** PEM. */
  readonly authority: string;
  readonly attempts: readonly {
    readonly what: string;
    /** What the proxy says of itself. */
    readonly node: string;
    readonly gateway: string;
    readonly token?: string;
  }[];
}

async function ask(
  { host, port, serverName, authority }: Questions,
  { node, gateway, token }: Questions["attempts"][number],
): Promise<string> {
  using client = new Client(port, { host, serverName, authority });
  const call = client.call(undefined, token === undefined ? {} : { authorization: `Bearer ${token}` });
  call.send({ ...request("listener"), node: { id: node, cluster: gateway } });
  const response = await call.next();
  if (response) return `served ${(response.resources ?? []).map(({ name }) => name)}`;
  const { code, message } = await call.status;
  return `${code}: ${message}`;
}

if (import.meta.main) {
  const questions: Questions = JSON.parse(await new Response(Deno.stdin.readable).text());
  const answers: { [what: string]: string } = {};
  for (const attempt of questions.attempts) answers[attempt.what] = await ask(questions, attempt);
  console.log(JSON.stringify(answers));
}
