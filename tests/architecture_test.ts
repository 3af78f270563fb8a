/**
 * The rules that keep the parts apart; `docs/architecture.md` explains them.
 *
 * @module
 */
import { assertEquals } from "@std/assert";

/** Which parts, and which packages, each part may import; `types/` in front allows `import type` alone. */
const allowed: { readonly [part: string]: readonly string[] } = {
  crds: ["zod"],
  ir: ["types/runtime"],
  runtime: ["@peculiar/x509", "prom-client", "reflect-metadata", "node:"],
  kube: ["crds", "runtime", "@cloudydeno/kubernetes-apis", "@std/http", "rfc6902", "yaml", "zod", "node:"],
  translate: ["crds", "ir", "graph", "re2js", "node:crypto"],
  infrastructure: ["crds", "ir", "translate", "graph", "node:crypto"],
  xds: ["ir", "runtime", "@bufbuild/protobuf", "node:"],
  webhooks: ["crds", "translate", "hono"],
  effects: ["crds", "kube", "runtime", "infrastructure"],
  standalone: ["types/ir", "crds", "kube", "runtime", "webhooks", "*"],
  cli: [
    "crds",
    "ir",
    "runtime",
    "kube",
    "translate",
    "infrastructure",
    "xds",
    "webhooks",
    "effects",
    "standalone",
    "*",
  ],
  main: ["cli"],
};

/** Files that may touch what everything else is given as an argument. */
const rim = /^(main|scripts\/.*|controllers\/runtime\/(clock|log))\.ts$/;
const ambient = /\bDeno\.(env|args)\b|\bconsole\.|\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b/;

function partOf(path: string): string {
  const [folder, sub] = path.split("/");
  if (folder === "main.ts") return "main";
  if (folder !== "controllers") return folder!;
  if (/^controllers\/runtime\/(graph|equal|kept)\.ts$/.test(path)) return "graph";
  return sub!.endsWith(".ts") ? "effects" : sub!;
}

async function* sources(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* sources(`${folder}/${name}`);
    else if (name.endsWith(".ts")) yield `${folder}/${name}`;
  }
}

interface Import {
  readonly path: string;
  readonly to: string;
  readonly type: boolean;
}

const root = new URL("../", import.meta.url).pathname;
const texts = new Map<string, string>([["main.ts", await Deno.readTextFile(`${root}main.ts`)]]);
for (const folder of ["crds", "kube", "controllers", "xds", "webhooks", "standalone", "cli"]) {
  if (!await Deno.stat(root + folder).then(() => true, () => false)) continue;
  for await (const path of sources(root + folder)) {
    texts.set(path.slice(root.length), await Deno.readTextFile(path));
  }
}

const imports: Import[] = [...texts].flatMap(([path, text]) =>
  [...text.matchAll(/^(?:import|export)\b([^;"]*?\bfrom\s+|\s+)"([^"]+)"|\bimport\("([^"]+)"\)/gm)].map(
    (match) => {
      const specifier = match[2] ?? match[3]!;
      const to = specifier.startsWith(".")
        ? new URL(specifier, `file:///${path}`).pathname.slice(1)
        : specifier;
      return { path, to, type: /^\s+type\b/.test(match[1] ?? "") };
    },
  )
);

Deno.test("architecture: parts import only what they may", () => {
  const wrong = imports.filter(({ path, to, type }) => {
    const part = partOf(path) === "graph" ? "runtime" : partOf(path), may = allowed[part] ?? [];
    if (!texts.has(to)) {
      return !may.some((name) =>
        name === "*" || to === name || to.startsWith(name.endsWith(":") ? name : `${name}/`)
      );
    }
    const target = partOf(to), names = target === "graph" ? ["graph", "runtime"] : [target];
    return !names.some((name) =>
      name === part || may.includes(name) || type && may.includes(`types/${name}`)
    );
  });
  assertEquals(wrong.map(({ path, to }) => `${path} imports ${to}`), []);
});

Deno.test("architecture: no import cycles, but for types, which are gone at run time", () => {
  const done = new Set<string>(), cycles: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(" → "));
    if (done.has(path) || trail.includes(path)) return;
    for (const { to } of imports.filter((i) => i.path === path && texts.has(i.to) && !i.type)) {
      visit(to, [...trail, path]);
    }
    done.add(path);
  };
  for (const path of texts.keys()) visit(path, []);
  assertEquals(cycles, []);
});

Deno.test("architecture: no state at module level, nothing ambient outside the rim", () => {
  const wrong: string[] = [];
  for (const [path, text] of texts) {
    const code = text.replaceAll(/\/\*.*?\*\//gs, (comment) => comment.replaceAll(/[^\n]/g, ""))
      .replaceAll(/^\s*\/\/.*$/gm, "");
    code.split("\n").forEach((line, i) => {
      if (/^(export )?let\b/.test(line)) wrong.push(`${path}:${i + 1} keeps state in a module: ${line}`);
      if (!rim.test(path) && ambient.test(line)) {
        wrong.push(`${path}:${i + 1} is not handed in: ${line.trim()}`);
      }
    });
  }
  assertEquals(wrong, []);
});

Deno.test("architecture: what is combined with a long-lived signal is taken off it again", () => {
  // `AbortSignal.any` cannot be: see controllers/runtime/signals.ts. A command's own signal lives as long as the process.
  const wrong = [...texts].filter(([path, text]) =>
    !/^(cli\/|controllers\/runtime\/signals\.ts$)/.test(path) && text.includes("AbortSignal.any(")
  );
  assertEquals(wrong.map(([path]) => path), []);
});

Deno.test("architecture: every file says why it exists", () => {
  assertEquals([...texts].filter(([, text]) => !/^\/\*\*.*?@module/s.test(text)).map(([path]) => path), []);
});
