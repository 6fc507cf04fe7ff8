import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readAccess, type ApiAccess } from "./api.ts";

const program = join(import.meta.dirname, "../../packages/embedded-apiserver/dist/program/main.js");
/** Plain JavaScript; the file says why. */
export const embeddingHost: string = join(import.meta.dirname, "embedding-host.mjs");

/** An embedded API server in its own process, which ends when this object is disposed. */
export interface EmbeddedProcess extends AsyncDisposable {
  readonly pid: number;
  readonly access: ApiAccess;
  /** Path of a kubeconfig. */
  readonly kubeconfig: string;
}

/** Starts the package's program as published, so build it first. */
export async function startEmbedded(): Promise<EmbeddedProcess> {
  return await start((kubeconfig) => [program, "--kubeconfig", kubeconfig]);
}

/** Starts a process with Node's default settings that calls `startApiServer`. */
export async function startEmbeddedInHost(): Promise<EmbeddedProcess> {
  return await start((kubeconfig) => [embeddingHost, kubeconfig]);
}

/** Starts a process and waits for its first output, which it prints when it serves. */
async function start(wordsFor: (kubeconfig: string) => readonly string[]): Promise<EmbeddedProcess> {
  const directory = mkdtempSync(join(tmpdir(), "bench-api-"));
  const kubeconfig = join(directory, "kubeconfig");
  const child = spawn(process.execPath, wordsFor(kubeconfig), { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await new Promise((resolve, reject) => {
    child.stdout.once("data", resolve).resume();
    child.once("exit", (code) => reject(new Error(`the embedded server ended with code ${String(code)} before it served`)));
  });
  return {
    pid: child.pid ?? 0,
    access: readAccess(kubeconfig),
    kubeconfig,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
