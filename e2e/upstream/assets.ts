import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../../packages/embedded-apiserver/src/program/main.ts", import.meta.url));

/** Command that starts the embedded API server from its source. */
export const programCommand: readonly [string, ...string[]] = [process.execPath, "--conditions=@virtual-kubelet/source", main];

/** Programs that envtest starts, in a temporary folder. */
export interface Assets extends Disposable {
  /** The value of `KUBEBUILDER_ASSETS`. */
  readonly directory: string;
}

/** @throws Error if they cannot be written, with the program's words */
export function writeAssets(): Assets {
  const directory = mkdtempSync(join(tmpdir(), "vk-assets-"));
  const [program, ...words] = programCommand;
  const { status, stderr } = spawnSync(program, [...words, "assets", directory], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return { directory, [Symbol.dispose]: () => rmSync(directory, { recursive: true }) };
}
