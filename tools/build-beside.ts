import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";

/** Builds into a folder beside the final one and moves it when complete, so an interrupted build leaves no incomplete result. */
export async function buildBeside(directory: string, build: (output: string) => Promise<void>): Promise<void> {
  mkdirSync(dirname(directory), { recursive: true });
  const output = mkdtempSync(`${directory}.building-`);
  try {
    await build(output);
    rmSync(directory, { recursive: true, force: true });
    renameSync(output, directory);
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}
