import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Unmounts everything in a folder, such as in-memory volumes and the network namespace of an engine. */
export function unmountAll(directory: string): void {
  for (const point of mountsIn(directory).toReversed())
    try {
      execFileSync("umount", ["-l", point], { stdio: "pipe" });
    } catch (error) {
      // A process that is ending may have unmounted it in the meantime.
      if (mountsIn(directory).includes(point)) throw error;
    }
}

function mountsIn(directory: string): readonly string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((point) => point.startsWith(`${directory}/`));
}
