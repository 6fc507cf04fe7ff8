import { chmod, mkdir, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { starterVariable } from "./until-signal-or-orphaned.ts";
import { memoryEnvironment, memoryFlags } from "../restart-with-less-memory.ts";

/** Programs that envtest starts, and the modules that take their place. */
const programs = { "kube-apiserver": "./kube-apiserver", etcd: "./etcd" } as const;

/**
 * Writes executables `kube-apiserver` and `etcd` that envtest starts in the place of the real ones. They run this package where it is, with
 * the Node.js that runs this process.
 *
 * @param directory - is created if it does not exist; it becomes `KUBEBUILDER_ASSETS`
 */
export async function writeAssets(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  // `.ts` when the package runs from its source.
  const extension = extname(fileURLToPath(import.meta.url));
  const settings = [
    ...Object.entries(memoryEnvironment).map(([name, value]) => `export ${name}="\${${name}:-${value}}"`),
    `export ${starterVariable}="$PPID"`,
  ];
  for (const [name, module] of Object.entries(programs)) {
    const path = join(directory, name);
    const command = [process.execPath, ...process.execArgv, ...memoryFlags, fileURLToPath(new URL(module + extension, import.meta.url))];
    await writeFile(path, `${["#!/bin/sh", ...settings, `exec ${command.map(quoted).join(" ")} "$@"`].join("\n")}\n`);
    await chmod(path, 0o755);
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
