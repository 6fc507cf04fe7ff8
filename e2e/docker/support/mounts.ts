import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Takes away what is mounted in a folder: volumes in memory, and the network namespace that an engine keeps so. */
export function unmountAll(directory: string): void {
  for (const point of mountsIn(directory).toReversed())
    try {
      execFileSync("umount", ["-l", point], { stdio: "pipe" });
    } catch (error) {
      // What is ending may have taken it away meanwhile.
      if (mountsIn(directory).includes(point)) throw error;
    }
}

function mountsIn(directory: string): readonly string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((point) => point.startsWith(`${directory}/`));
}
