/**
 * From the API server's answer to a new route until the gateway serves it, as a user sees it: standalone as a whole, real Envoy.
 *
 * The gateway is asked again as soon as it has answered, on one kept-alive connection. 404 means not yet; anything else but 200 is a wrong
 * answer.
 *
 * @module
 */
import { Agent, request } from "node:http";
import { systemClock } from "../../controllers/runtime/clock.ts";
import { httpRoute } from "../../crds/mod.ts";
import type { Kube } from "../../kube/types.ts";
import { gatehouse, Running } from "../support/command.ts";
import { kubeOf } from "../support/kube.ts";
import type { Bench, Report } from "./bench.ts";

const present = 100, measured = 200;
const address = "127.0.45.1", namespace = "default";

const bench: Bench = {
  name: "first-200",
  async run(report) {
    const data = await Deno.makeTempDir({ prefix: "gatehouse-bench-" });
    try {
      const flags = ["--data", data, "--api-port", "0", "--addresses", address];
      await using running = new Running(gatehouse("standalone", ...flags));
      await running.line(/^ready/);
      const kube = await kubeOf(`${data}/kubeconfig`, "bench");
      await measure(kube, report);
      await rest(running.pid, report);
    } finally {
      await Deno.remove(data, { recursive: true });
    }
  },
};
export default bench;

async function measure(kube: Kube, report: Report): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  let wrong = 0;
  for (let i = 0; i < present + measured; i++) {
    await create(kube, i);
    const start = performance.now();
    for (let status = 0; status !== 200;) {
      status = await ask(agent, host(i));
      if (status !== 200 && status !== 404) wrong++;
      if (performance.now() - start > 30_000) throw new Error(`Route ${i} still answers ${status}`);
    }
    if (i >= present) times.push(performance.now() - start);
  }
  agent.destroy();
  report.samples(`new route to first 200, ${present} to ${present + measured} routes present`, "ms", times);
  report.value("wrong answers", "", wrong);
}

const host = (i: number) => `h${i}.example.com`;

async function create(kube: Kube, i: number): Promise<void> {
  await kube.create(httpRoute, {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { namespace, name: `r${i}` },
    spec: {
      parentRefs: [{ name: "web" }],
      hostnames: [host(i)],
      rules: [{ backendRefs: [{ name: "echo", port: 80 }] }],
    },
  });
}

/** The status of one answer. */
async function ask(agent: Agent, host: string): Promise<number> {
  const status = Promise.withResolvers<number>();
  const call = request({ host: address, port: 80, path: "/", headers: { host }, agent });
  call.on("response", (response) => {
    response.resume();
    response.on("end", () => status.resolve(response.statusCode ?? 0));
  });
  call.on("error", () => status.resolve(0));
  call.end();
  return await status.promise;
}

/** What the operator needs when nothing happens. */
async function rest(pid: number, report: Report): Promise<void> {
  await systemClock.sleep(5_000);
  const before = await cpu(pid), start = performance.now();
  await systemClock.sleep(20_000);
  const seconds = (performance.now() - start) / 1000;
  report.value("operator at rest, share of a core", "%", 100 * (await cpu(pid) - before) / seconds);
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  report.value("operator at rest, resident", "MB", Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1000);
}

/** Seconds of user and system time; the kernel counts in hundredths. */
async function cpu(pid: number): Promise<number> {
  const fields = (await Deno.readTextFile(`/proc/${pid}/stat`)).split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
