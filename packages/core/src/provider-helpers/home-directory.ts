import { homedir } from "node:os";
import { isAbsolute } from "node:path";

/**
 * The user's home folder, for a provider that looks for a back end's usual files there; `/`, as container engines set it, for a user that
 * the system knows none of. Node.js throws for a user without `HOME` and without a line in `/etc/passwd`.
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
