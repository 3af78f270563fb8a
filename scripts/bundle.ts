/**
 * Writes one JavaScript file that holds everything: `build/gatehouse.js`, or the file that is named. The same tree gives the same
 * bytes, wherever it and the cache of packages are.
 *
 * @module
 */
import { cacheFolders } from "./notices.ts";

const [file = "build/gatehouse.js"] = Deno.args;
await Deno.mkdir(file.slice(0, Math.max(file.lastIndexOf("/"), 0)) || ".", { recursive: true });
const { success } = await new Deno.Command(Deno.execPath(), {
  args: ["bundle", "--quiet", "--output", file, "main.ts"],
  stdin: "null",
  stdout: "inherit",
  stderr: "inherit",
}).output();
if (!success) Deno.exit(1);

// Modules are called by their paths from here, which is another one on each machine.
const up = "../".repeat(Deno.cwd().split("/").length - 1);
let text = await Deno.readTextFile(file);
for (const folder of await cacheFolders()) text = text.replaceAll(`${up}${folder.slice(1)}/`, "npm/");
await Deno.writeTextFile(file, text);
