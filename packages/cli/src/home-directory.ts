import { isAbsolute } from "node:path";

/**
 * The user's home folder, as the system says; `/`, as container engines set it, for a user that it knows none of. Node.js throws for a user without
 * `HOME` and without a line in `/etc/passwd`. As in core, which would take the program's start longer to load than everything else.
 */
export function homeDirectory(ofSystem: () => string): string {
  try {
    const home = ofSystem();
    return isAbsolute(home) ? home : "/";
  } catch {
    return "/";
  }
}
