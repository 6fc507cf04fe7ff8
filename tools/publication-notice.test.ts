import { expect, test } from "vitest";
import { cloneSteps, imageNotice, withNotice } from "./publication-notice.ts";

const path = "docs/guides/a.md";
const marks = "<!-- generated:not-published -->\n\n<!-- /generated:not-published -->";

test.for([
  ["code", "# A\n\nText.\n\n", "```bash\ncd x\nnpm install @virtual-kubelet/core\n```\n"],
  ["a paragraph", "# A\n\n", "First line,\nthen `npx virtual-kubelet run`.\n"],
  ["a command that only an installation provides", "# A\n\n", "```console\n$ virtual-kubelet status\n```\n"],
  ["an indented command", "# A\n\n", "    sudo virtual-kubelet run --provider docker\n"],
  ["code after other code", "```ts\nx();\n```\n\n", "```sh\nnpm create @virtual-kubelet/provider\n```\n"],
] as const)("the notice is before %s with the first command", ([, before, rest]) => {
  const page = withNotice(before + rest, path, false);
  expect(page).toMatch(/Not on npm yet/);
  expect(page.startsWith(`${before}<!-- generated:not-published -->\n\n> **Not on npm yet.**`)).toBe(true);
  expect(page.endsWith(`<!-- /generated:not-published -->\n\n${rest}`)).toBe(true);
});

test("the notice is there once, however often it is written", () => {
  const page = withNotice("```\nnpx virtual-kubelet\nnpx virtual-kubelet\n```\n", path, false);
  expect(withNotice(page, path, false)).toBe(page);
});

test("once the packages are published, only the marks are left", () => {
  const page = "# A\n\n```\nnpx virtual-kubelet\n```\n";
  expect(withNotice(withNotice(page, path, false), path, true)).toBe(`# A\n\n${marks}\n\n\`\`\`\nnpx virtual-kubelet\n\`\`\`\n`);
});

test("a page without such a command stays as it is", () => {
  const page = "# A\n\n```\nnpm install\nnpm run -s vk -- run\n```\n";
  expect(withNotice(page, path, false)).toBe(page);
});

test("pages with the image say that it is not published, until it is", () => {
  expect(imageNotice(false)).toContain("No image and no chart is published yet");
  expect(imageNotice(true)).toBe("");
});

test.each([
  ["README.md", "(docs/guides/getting-started.md#before-the-first-release)"],
  ["packages/cli/README.md", "(../../docs/guides/getting-started.md#before-the-first-release)"],
  ["docs/guides/docker.md", "(getting-started.md#before-the-first-release)"],
])("the notice of %s links to the steps that stand in for npm", (page, link) => {
  expect(withNotice("```\nnpx virtual-kubelet\n```\n", page, false)).toContain(link);
});

test("the page with these steps has no notice", () => {
  const page = "```\nvirtual-kubelet version\n```\n";
  expect(withNotice(page, "docs/guides/getting-started.md", false)).toBe(page);
});

test("the steps that stand in for npm vanish with the first release", () => {
  expect(cloneSteps(false)).toContain("npm install --global ../vk-packages/*.tgz");
  expect(cloneSteps(true)).toBe("");
});
