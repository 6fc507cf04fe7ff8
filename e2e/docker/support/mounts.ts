import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Takes away what is mounted in a folder: volumes in memory, and the network namespace that an engine keeps so. */
export function unmountAll(directory: string): void {
  const points = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((point) => point.startsWith(`${directory}/`));
  for (const point of points.toReversed()) execFileSync("umount", ["-l", point]);
}
