import { assertEquals } from "@std/assert";
import { systemAuthorities } from "../../standalone/envoy/authorities.ts";

Deno.test("authorities of the system: the first file that is there, and no directory", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [none, directory, link, file] = ["none", "directory", "link", "file"].map((name) =>
      `${folder}/${name}`
    );
    await Deno.mkdir(directory!);
    await Deno.writeTextFile(file!, "");
    await Deno.symlink(file!, link!);
    assertEquals(await systemAuthorities([none!, directory!, file!, link!]), file);
    assertEquals(await systemAuthorities([none!, link!]), link);
    assertEquals(await systemAuthorities([none!, `${file}/below`]), undefined);
    assertEquals(await systemAuthorities([]), undefined);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
