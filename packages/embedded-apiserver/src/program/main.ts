#!/usr/bin/env node
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArguments, usage, UsageError } from "./arguments.ts";
import { checkReadiness } from "./check-readiness.ts";
import { writeAssets } from "./envtest/write-assets.ts";
import { restartWithLessMemory } from "./restart-with-less-memory.ts";

const exitCodes = { ok: 0, failure: 1, usage: 2 };

process.exitCode = await run(process.argv.slice(2));

/** @returns the exit code */
async function run(words: readonly string[]): Promise<number> {
  try {
    // oxlint-disable-next-line node/no-process-env -- this is the composition root
    const asked = parseArguments(words, process.env);
    if (asked.action === "serve") {
      restartWithLessMemory();
      // The server's modules are not loaded twice, and not for the other commands.
      const { serve } = await import("./serve.ts");
      await serve(asked.settings);
    } else if (asked.action === "ready") await checkReadiness(asked.port);
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

async function packageVersion(): Promise<string> {
  const manifest = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };
  return manifest.version;
}
