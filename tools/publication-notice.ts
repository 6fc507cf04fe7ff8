import { globSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { CheckResult } from "./check.ts";
import { replaceRegion } from "./marked-region.ts";
import { root } from "./workspace.ts";

/** The one switch: after the first release, set it to `true` and run `make generate`, and the notice is gone from every page. */
const arePackagesPublished: boolean = false;

const region = "not-published";

/** Page with the steps that stand in for npm, in the section that {@link cloneSteps} fills. */
const stepsPage = "docs/guides/getting-started.md";

function noticeOf(path: string): string {
  const link = `${relative(dirname(path), stepsPage)}#before-the-first-release`;
  return [
    "> **Not on npm yet.** Nothing of this project is published, and a package of such a name on npm would be somebody else's. Until the first",
    `> release, [install the command and the packages from a clone](${link}), or type in the clone`,
    "> `npm run -s vk --` instead of `virtual-kubelet` and `npx virtual-kubelet`.",
  ].join("\n");
}

/** Section with the steps that stand in for npm; empty once the packages are there. */
export function cloneSteps(isPublished: boolean = arePackagesPublished): string {
  if (isPublished) return "";
  return `## Before the first release

Nothing is on npm yet. In the clone, \`npm run -s vk --\` stands for the command \`virtual-kubelet\` of the guides. For the command itself, in every
folder and for every user, pack the packages of the clone and install all of them. This needs Node.js 24.11 or newer:

\`\`\`bash
npm run -s pack -- ../vk-packages             # one tarball for each package
npm install --global ../vk-packages/*.tgz     # with sudo, if root owns the folder of npm's global packages
virtual-kubelet version
\`\`\`

A project of your own installs the same tarballs: \`npm install --save-dev PATH/vk-packages/*.tgz\`. Install all of them, because they need each
other, and npm finds none of them elsewhere.`;
}

/** Notice of pages that run the program's image; empty once it is published. */
export function imageNotice(isPublished: boolean = arePackagesPublished): string {
  if (isPublished) return "";
  return "> **No image and no chart is published yet.** Until the first release, build the image in a clone, and use the chart from there.";
}

/** A command that installs or runs a package of this project from npm, or a line that starts with the program. */
const command =
  /\b(?:npm (?:install|i|create|init)|npx|pnpm (?:add|dlx|create)|yarn (?:add|dlx))\b[^\n`]*virtual-kubelet|^ *(?:\$ )?(?:sudo )?virtual-kubelet [a-z]/m;

/** Pages for users. Those for contributors work in a clone, and templates become pages of somebody else's project. */
const pages = ["README.md", "docs/guides/*.md", "{packages,providers,deploy}/**/README.md"];

/** Adds an empty region for the notice before the paragraph or the code with the page's first such command, if it is not there yet. */
function withRegion(page: string): string {
  const found = command.exec(page);
  if (found === null || page.includes(`<!-- generated:${region} -->`)) return page;
  const before = page.slice(0, found.index);
  const fences = [...before.matchAll(/^```/gm)];
  const isInCode = fences.length % 2 === 1;
  const start = isInCode ? (fences.at(-1)?.index ?? 0) : before.lastIndexOf("\n\n") + 2;
  return `${page.slice(0, start)}<!-- generated:${region} -->\n\n<!-- /generated:${region} -->\n\n${page.slice(start)}`;
}

/** The page at a path of the repository with the notice, or without it once the packages are published. Pages without such commands stay as they are. */
export function withNotice(page: string, path: string, isPublished: boolean = arePackagesPublished): string {
  // This page has the steps themselves.
  if (path === stepsPage) return page;
  const marked = withRegion(page);
  return marked.includes(`<!-- generated:${region} -->`) ? replaceRegion(marked, region, isPublished ? "" : noticeOf(path)) : page;
}

/** Writes the notice into every page that shows such a command, or with `check` reports the pages on which it is not as it should be. */
export function updateNotices({ check }: { readonly check: boolean }): CheckResult {
  const paths = pages.flatMap((pattern) => globSync(pattern, { cwd: root, exclude: (path) => path.includes("node_modules") }));
  const problems = paths.toSorted().flatMap((path) => {
    const before = readFileSync(join(root, path), "utf8");
    const after = withNotice(before, path);
    if (after === before) return [];
    if (check) return [`${path}: the notice about npm is missing or out of date; run \`make generate\` and commit the result`];
    writeFileSync(join(root, path), after);
    return [];
  });
  return { name: "pages with npm commands say whether the packages are published", problems };
}
