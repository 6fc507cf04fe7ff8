import { freePort } from "@virtual-kubelet/testing";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EmbeddedProcess } from "./embedded-process.ts";
import { waitUntilReady } from "./node-ready.ts";

const main = join(import.meta.dirname, "../../packages/cli/dist/main.js");

/** Starts the program with a provider in its own process; resolves when the node is Ready. */
export async function startNode(
  { access, kubeconfig }: EmbeddedProcess,
  provider: "docker" | "mock" | "nomad",
  config: object,
): Promise<AsyncDisposable & { readonly pid: number }> {
  const directory = mkdtempSync(join(tmpdir(), "bench-node-"));
  const configFile = join(directory, "provider.json");
  writeFileSync(configFile, JSON.stringify(provider === "docker" ? { ...config, ...folders(directory) } : config));
  const flags = ["--kubeconfig", kubeconfig, "--nodename", provider, "--provider", provider, "--provider-config", configFile];
  const log = openSync(join(directory, "log"), "a");
  const child = spawn(
    process.execPath,
    [main, ...flags, ...["--log-level", "warn", "--health-addr", "127.0.0.1:0", "--kubelet-port", String(await freePort())]],
    {
      stdio: ["ignore", "ignore", log],
    },
  );
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await waitUntilReady(access, provider, directory);
  return {
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
      // The program leaves the mount for secrets in place for the next program.
      spawnSync("umount", ["-l", join(directory, "pods/memory")]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The Docker provider's folders. */
function folders(directory: string): object {
  return { rootDirectory: join(directory, "pods"), log: { folder: join(directory, "logs") } };
}
