import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isScope, rewriteScope } from "./rewrite-scope.ts";
import { scope } from "./scope.ts";
import { root } from "./workspace.ts";

/** Files of the repository, tracked or new, that are text. */
function textFiles(top: string): string[] {
  const list = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    cwd: top,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  return list.split("\0").filter((path) => path !== "" && !/\.(png|ico|gz|woff2?)$/.test(path));
}

/** Rewrites the npm scope in every file of the repository at `top`, and returns the paths that changed. */
export function setScope(top: string, from: string, to: string): string[] {
  if (!isScope(to))
    throw new Error(`the scope is ${JSON.stringify(to)}; expected @ and lower-case letters, digits, dots or dashes, such as @my-org`);
  return textFiles(top).filter((path) => {
    const before = readFileSync(join(top, path), "utf8");
    const after = rewriteScope(before, from, to);
    if (after === before) return false;
    writeFileSync(join(top, path), after);
    return true;
  });
}

if (import.meta.main) {
  try {
    const changed = setScope(root, scope, process.argv[2] ?? "");
    console.log(`${scope} is now ${process.argv[2]} in ${changed.length} files; run \`make build\` next, which installs what changed`);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 2;
  }
}
