import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Whether the program openssl is there. */
export const hasOpenssl: boolean = spawnSync("openssl", ["version"]).status === 0;

/**
 * Runs openssl in a folder of its own that holds these files.
 *
 * @returns what it prints
 * @throws Error with what it says if it fails
 */
export function openssl(args: readonly string[], files: Readonly<Record<string, string>> = {}): string {
  const directory = mkdtempSync(join(tmpdir(), "openssl-"));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text, { mode: 0o600 });
    return execFileSync("openssl", args, { cwd: directory, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } finally {
    rmSync(directory, { recursive: true });
  }
}
