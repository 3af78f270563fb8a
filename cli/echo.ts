/**
 * `gatehouse echo`: a backend to try routes on.
 *
 * @module
 */
import type { Command } from "commander";
import type { Io } from "./io.ts";
import { port } from "./options.ts";

export function registerEcho(program: Command, io: Io): void {
  program.command("echo")
    .description("Serve an HTTP backend that answers with what it was asked")
    .option("--port <port>", "port to listen on; 0 lets the system choose", port, 3000)
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--name <name>", "what it calls itself in its answers", "echo")
    .addHelpText("after", "\nExamples:\n  gatehouse echo --port 3000 --name web-1")
    .action(async (options: { readonly port: number; readonly host: string; readonly name: string }) => {
      const { serveEcho } = await import("../standalone/echo.ts");
      await using server = await serveEcho(options);
      io.err(`echo "${options.name}" listens on http://${options.host}:${server.port}`);
      await new Promise<void>((resolve) => {
        if (io.signal.aborted) resolve();
        io.signal.addEventListener("abort", () => resolve(), { once: true });
      });
    });
}
