#!/usr/bin/env node
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { parseArguments, usage, UsageError } from "./arguments.ts";
import { checkReadiness } from "./check-readiness.ts";
import { writeAssets } from "./envtest/write-assets.ts";
import type { Serving, ServerSettings } from "./server-thread.ts";

/** Node.js 24 lets the young generation grow to 64 MiB. Without a command-line flag, only a worker thread can have a lower limit. */
const youngGenerationMiB = 24;

const exitCodes = { ok: 0, failure: 1, usage: 2 };

if (isMainThread) process.exitCode = await run(process.argv.slice(2));
else if (parentPort !== null) {
  const { serve } = await import("./server-thread.ts");
  await serve(parentPort, workerData as ServerSettings);
  parentPort.close();
}

/** @returns the exit code */
async function run(words: readonly string[]): Promise<number> {
  try {
    // oxlint-disable-next-line node/no-process-env -- this is the composition root
    const asked = parseArguments(words, process.env);
    if (asked.action === "serve") await serveInThread(asked.settings);
    else if (asked.action === "ready") await checkReadiness(asked.port);
    else
      process.stdout.write(
        asked.action === "assets" ? await assets(asked.directory) : asked.action === "help" ? usage : `${await packageVersion()}\n`,
      );
    return exitCodes.ok;
  } catch (error) {
    process.stderr.write(`embedded-apiserver: ${error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof UsageError ? exitCodes.usage : exitCodes.failure;
  }
}

/** Writes the programs for envtest. @returns the line that makes envtest use them */
async function assets(directory: string): Promise<string> {
  const path = resolve(directory);
  await writeAssets(path);
  return `export KUBEBUILDER_ASSETS=${JSON.stringify(path)}\n`;
}

/** Resolves when the thread has exited, after a signal or an error. */
async function serveInThread(settings: ServerSettings): Promise<void> {
  const thread = new Worker(new URL(import.meta.url), {
    workerData: settings,
    resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMiB },
  });
  const ended = new Promise<void>((resolveEnd, reject) => {
    thread.once("error", reject).once("exit", () => resolveEnd());
  });
  let stopping = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (stopping) void thread.terminate();
      else thread.postMessage("stop");
      stopping = true;
    });
  }
  thread.once("message", ({ url, version }: Serving) => {
    const path = resolve(settings.kubeconfig);
    process.stdout.write(`Kubernetes ${version} at ${url}\nexport KUBECONFIG=${JSON.stringify(path)}\n`);
  });
  await ended;
}

async function packageVersion(): Promise<string> {
  const manifest = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };
  return manifest.version;
}
