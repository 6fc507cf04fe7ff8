import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./workspace.ts";

/**
 * Writes the names and types of kube-apiserver's flags to `data/kube-apiserver-flags.json` of the embedded API server.
 *
 * Use: `kube-apiserver --help | node tools/kube-apiserver-flags.ts v1.36.3`
 */
function main([version]: readonly string[]): void {
  if (version === undefined) throw new Error("tell the version of kube-apiserver, such as v1.36.3");
  const lines = readFileSync(0, "utf8").split("\n");
  const flags: Record<string, string> = {};
  for (const line of lines) {
    const [, name, type = ""] = /^ +(?:-\w, )?--([\w-]+)(?: (\S+))?(?: {2,}|$)/.exec(line) ?? [];
    if (name !== undefined) flags[name] = type === "" ? "bool" : type;
  }
  const source = `Flags of kube-apiserver ${version} (Apache-2.0, The Kubernetes Authors), by tools/kube-apiserver-flags.ts`;
  const path = join(root, "packages/embedded-apiserver/data/kube-apiserver-flags.json");
  writeFileSync(path, `${JSON.stringify({ source, flags }, undefined, 2)}\n`);
}

main(process.argv.slice(2));
