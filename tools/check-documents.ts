import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { runAsProgram, type CheckResult } from "./check.ts";
import { guideProblems } from "./site/guides.ts";
import { root } from "./workspace.ts";

/** Link targets of a Markdown page that are files, without their fragments. Links inside code are skipped. */
export function linkedFiles(page: string): string[] {
  const prose = page.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`\n]*`/g, "");
  const targets = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return targets.filter((target) => !/^([a-z]+:|#)/.test(target)).map((target) => target.replace(/#.*$/, ""));
}

/** Names of the TypeScript files that a page mentions, without their folders. Placeholders in capitals are skipped. */
export function namedSources(page: string): string[] {
  return [...new Set([...page.matchAll(/(?<![\w.-])[a-z0-9][a-z0-9-]*(?:\.[a-z-]+)*\.ts\b/g)].map(([name]) => name))];
}

/** Problems in the numbers of decision records, whose files are named `NNNN-subject.md`: a gap, or a number used twice. */
export function numberProblems(files: readonly string[]): string[] {
  return files
    .toSorted()
    .map((file, index) => ({ file, expected: String(index + 1).padStart(4, "0") }))
    .filter(({ file, expected }) => !file.startsWith(`${expected}-`))
    .map(({ file, expected }) => `docs/adr/${file}: expected number ${expected}, because records are numbered without gaps`);
}

const isInstalledOrBuilt = (path: string): boolean => /(^|\/)(node_modules|dist|site)$/.test(path);

/** Checks that the files which Markdown pages link to or name exist, and that decision records are numbered without gaps. */
export function checkDocuments(): CheckResult[] {
  const pages = globSync("**/*.md", { cwd: root, exclude: isInstalledOrBuilt }).sort();
  const read = (page: string): string => readFileSync(join(root, page), "utf8");
  const sources = new Set(globSync("**/*.ts", { cwd: root, exclude: isInstalledOrBuilt }).map((path) => basename(path)));
  return [
    {
      name: "links between pages",
      problems: pages.flatMap((page) =>
        linkedFiles(read(page))
          .filter((target) => !existsSync(join(root, dirname(page), target)))
          .map((target) => `${page} links to ${target}, which does not exist`),
      ),
    },
    {
      name: "source files named in docs",
      problems: pages
        .filter((page) => page.startsWith("docs/"))
        .flatMap((page) =>
          namedSources(read(page))
            .filter((name) => !sources.has(name))
            .map((name) => `${page} names ${name}, but no file of the repository has that name`),
        ),
    },
    { name: "guides of the site", problems: guideProblems() },
    { name: "numbers of decision records", problems: numberProblems(globSync("*.md", { cwd: join(root, "docs/adr") })) },
  ];
}

await runAsProgram(import.meta, checkDocuments);
