import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { ImageFile } from "../docker/support/busybox-image.ts";

/** A program of this machine and its shared libraries, at their original paths. @throws Error if ldd cannot read it */
export function hostProgram(path: string): readonly ImageFile[] {
  const linked = execFileSync("ldd", [path], { encoding: "utf8" });
  // Such as `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…)`, and the loader by its path alone.
  const libraries = [...linked.matchAll(/(?<!\S)(\/\S+) \(0x/g)].map(([, library = ""]) => library);
  return [path, ...libraries].map((file) => ({ name: file.slice(1), mode: 0o755, content: readFileSync(file) }));
}
