import { isAbsolute } from "node:path";

/**
 * Home folder of the user. If the system knows none (no `HOME`, no line in `/etc/passwd`), Node.js throws; this returns `/`, as container
 * engines do. Core has the same function, but loading core would dominate the program's start time.
 */
export function homeDirectory(ofSystem: () => string): string {
  try {
    const home = ofSystem();
    return isAbsolute(home) ? home : "/";
  } catch {
    return "/";
  }
}
