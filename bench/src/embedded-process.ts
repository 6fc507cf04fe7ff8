import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApiAccess } from "./api.ts";

/** Plain JavaScript; see there. */
export const embeddedServer: string = join(import.meta.dirname, "embedded-server.mjs");

/** An embedded API server in a process of its own; ends when disposed. */
export interface EmbeddedProcess extends AsyncDisposable {
  readonly pid: number;
  readonly access: ApiAccess;
  /** Path of a kubeconfig. */
  readonly kubeconfig: string;
}

/** Starts the embedded server as published: build it first. */
export async function startEmbedded(nodeOptions: readonly string[] = []): Promise<EmbeddedProcess> {
  const child = spawn(process.execPath, [...nodeOptions, embeddedServer], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const line = await new Promise<string>((resolve, reject) => {
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      printed += chunk;
      if (printed.endsWith("\n")) resolve(printed);
    });
    child.once("exit", (code) => reject(new Error(`the embedded server ended with code ${String(code)} before it said where it is`)));
  });
  const access = JSON.parse(line) as ApiAccess;
  const directory = mkdtempSync(join(tmpdir(), "bench-api-"));
  const kubeconfig = join(directory, "kubeconfig");
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(access)), { mode: 0o600 });
  return {
    pid: child.pid ?? 0,
    access,
    kubeconfig,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function kubeconfigOf({ server, ca, cert, key }: ApiAccess): object {
  const encode = (text: string): string => Buffer.from(text).toString("base64");
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "bench", cluster: { server, "certificate-authority-data": encode(ca) } }],
    users: [{ name: "bench", user: { "client-certificate-data": encode(cert), "client-key-data": encode(key) } }],
    contexts: [{ name: "bench", context: { cluster: "bench", user: "bench" } }],
    "current-context": "bench",
  };
}
