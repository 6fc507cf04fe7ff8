import { homedir } from "node:os";
import { isAbsolute } from "node:path";

/**
 * Returns the user's home folder, in which a provider can look for a back end's files; `/`, as in container engines, for a user without
 * one. Node.js throws for a user without `HOME` and without a line in `/etc/passwd`.
 *
 * @param ofSystem - asks the system. Default: `homedir` of `node:os`
 */
export function homeDirectory(ofSystem: () => string = homedir): string {
  try {
    const home = ofSystem();
    return isAbsolute(home) ? home : "/";
  } catch {
    return "/";
  }
}
