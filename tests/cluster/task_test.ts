/** `deno task cluster`, by what it tells its user to do; the cluster has a name of its own, so that another may run. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dirname } from "node:path";
import { type Result, root, run } from "../support/command.ts";
import { until } from "../support/until.ts";

const name = `test-${crypto.randomUUID()}`, folder = `build/cluster-${name}`;

/** Runs a line as a user does who has copied it. */
async function shell(line: string): Promise<Result> {
  const PATH = `${dirname(Deno.execPath())}:${Deno.env.get("PATH")}`;
  return await run(["sh", "-c", line], { cwd: root, env: { PATH, NO_COLOR: "1" } });
}

const cluster = (...args: readonly string[]) =>
  shell(`deno task --quiet cluster --name=${name} ${args.join(" ")}`);

/** A process, told from a later one with the same number by when it began. */
interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly began: string;
}

/** Every process that has not ended. */
async function processes(): Promise<readonly Process[]> {
  const found: Process[] = [];
  for await (const entry of Deno.readDir("/proc")) {
    const stat = /^\d+$/.test(entry.name) &&
      await Deno.readTextFile(`/proc/${entry.name}/stat`).catch(() => "");
    if (!stat) continue;
    // What is before is the number, and the command in parentheses, which may have any character.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] !== "Z") {
      found.push({ pid: Number(entry.name), parent: Number(fields[1]), began: fields[19]! });
    }
  }
  return found;
}

/** The processes of the cluster: the one that has started it, and all that came of that. */
async function processesOfCluster(): Promise<readonly Process[]> {
  const all = await processes(), inner = Number(await Deno.readTextFile(`${root}${folder}/pid`));
  const found = all.filter(({ pid }) => pid === all.find(({ pid }) => pid === inner)?.parent);
  for (const { pid } of found) found.push(...all.filter(({ parent }) => parent === pid));
  return found;
}

async function left(of: readonly Process[]): Promise<readonly Process[]> {
  const all = await processes();
  return of.filter(({ pid, began }) => all.some((one) => one.pid === pid && one.began === began));
}

Deno.test("deno task cluster: started, used as it says, and stopped", async (t) => {
  let told = "";
  const line = (pattern: RegExp): string => {
    assertMatch(told, pattern);
    return pattern.exec(told)![1]!;
  };
  try {
    await t.step("without one it says so", async () => {
      assertEquals(await cluster("status"), { code: 1, out: "No cluster runs.\n", err: "" });
      const { code, err } = await cluster("exec", "--", "true");
      assertEquals([code, err], [1, `error: No cluster runs; start one: deno task cluster --name=${name}\n`]);
    });

    await t.step("it starts, and goes on when its user has gone", async () => {
      const { code, out, err } = await cluster();
      assertEquals(code, 0, err);
      told = out;
      assertStringIncludes(out, "Kubernetes 1.37.2 with Gateway API's CRDs");
      assertStringIncludes(out, "localhost/gatehouse");
      const again = await cluster();
      assertStringIncludes(again.out, "The cluster runs already.\n");
      assertStringIncludes((await cluster("status")).out, out.slice(out.indexOf("\nKubernetes")));
    });

    await t.step("kubectl reaches it from this machine", async () => {
      const { code, out, err } = await shell(
        `${line(/^ +(export .*)$/m)}\n${line(/^ +(\S*kubectl get .*)$/m)}`,
      );
      assertEquals(code, 0, err);
      assertMatch(out, /^kube-system +coredns-\S+ +1\/1 +Running/m);
    });

    await t.step("its addresses are reached from inside, and so is it by kubectl", async () => {
      const inside = line(/^ +(deno task .* exec -- )curl http:\/\/ADDRESS\/$/m);
      const answer = await shell(`${inside}curl --silent --insecure https://10.96.0.1/livez`);
      assertEquals([answer.code, answer.out], [0, "ok"], answer.err);
      const { code, out, err } = await shell(`${inside}kubectl get crd/gateways.gateway.networking.k8s.io`);
      assertEquals(code, 0, err);
      assertStringIncludes(out, "gateways.gateway.networking.k8s.io");
      assertEquals((await shell(`${inside}sh -c 'exit 3'`)).code, 3);
    });

    await t.step("it ends with all of its processes", async () => {
      const before = await processesOfCluster();
      assert(
        before.length >= 4,
        `what started it, the control plane, the API server, a pod: ${before.length}`,
      );
      const { code, out, err } = await shell(line(/^(deno task .* stop) ends it\.$/m));
      assertEquals([code, out], [0, `The cluster has ended; its logs are in ${folder}.\n`], err);
      await until("the last process to end", async () => (await left(before)).length === 0);
      assert((await Deno.readTextFile(`${root}${folder}/lab.log`)).length > 0);
    });

    await t.step("there is nothing to stop then", async () => {
      assertEquals(await cluster("stop"), { code: 0, out: "No cluster runs.\n", err: "" });
    });
  } finally {
    await cluster("stop");
    await Deno.remove(root + folder, { recursive: true }).catch(() => {});
  }
});
