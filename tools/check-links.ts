import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { runAsProgram, type CheckResult } from "./check.ts";
import { root } from "./workspace.ts";

/** Targets of a page's Markdown links that are files, without their fragment; code blocks are left out. */
export function linkedFiles(page: string): string[] {
  const prose = page.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`\n]*`/g, "");
  const targets = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return targets.filter((target) => !/^([a-z]+:|#)/.test(target)).map((target) => target.replace(/#.*$/, ""));
}

/** Checks that every file a Markdown page of the repository links to exists. */
export function checkLinks(): CheckResult[] {
  const pages = globSync("**/*.md", { cwd: root, exclude: (path) => /(^|\/)(node_modules|dist|site)$/.test(path) });
  const problems = pages.sort().flatMap((page) => {
    const missing = linkedFiles(readFileSync(join(root, page), "utf8")).filter((target) => !existsSync(join(root, dirname(page), target)));
    return missing.map((target) => `${page} links to ${target}, which does not exist`);
  });
  return [{ name: "links between pages", problems }];
}

await runAsProgram(import.meta, checkLinks);
