import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Asker } from "./complete-project.ts";
import { create } from "./create.ts";
import type { Template } from "./template.ts";

const local = { packageName: "@virtual-kubelet/template-provider", description: "Virtual Kubelet provider that runs processes" };
const remote = { packageName: "@virtual-kubelet/template-remote-provider", description: "Virtual Kubelet provider that runs jobs" };

const textsOf = ({ packageName, description }: typeof local): Record<string, string> => ({
  "README.md": `# ${packageName}\n\n${description}.\n\n## Configuration\n`,
  "src/provider.ts": `/** ${description}. */\nexport const provider = { name: "template" };\n`,
});

const template: Template = {
  sources: {
    process: { ...local, files: textsOf(local) },
    remote: { ...remote, files: { ...textsOf(remote), "src/poller.ts": "" } },
  },
  packages: [
    "@virtual-kubelet/core",
    "@virtual-kubelet/errdefs",
    "@virtual-kubelet/kube-client",
    "@virtual-kubelet/testing",
    "virtual-kubelet",
  ],
  versions: Object.fromEntries(
    [
      "@types/node",
      "@virtual-kubelet/core",
      "@virtual-kubelet/errdefs",
      "@virtual-kubelet/remote-pods",
      "@virtual-kubelet/testing",
      "typescript",
      "virtual-kubelet",
      "zod",
    ].map((name) => [name, "^1.2.3"]),
  ),
  engine: "^22.21 || >=24.11",
};

let cwd: string;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "vk-create-"));
});
afterEach(() => rmSync(cwd, { recursive: true }));

/** Answers in their order, and notes what it was asked. */
class FakeAsker implements Asker {
  readonly said: string[] = [];
  readonly #answers: string[];

  constructor(...answers: string[]) {
    this.#answers = answers;
  }

  async ask(question: string, standard: string): Promise<string> {
    this.said.push(`${question} (${standard})`);
    return this.#answers.shift() || standard;
  }

  refuse(problem: string): void {
    this.said.push(problem);
  }
}

async function run(words: readonly string[], asker?: Asker): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ["", ""];
  const code = await create(words, {
    cwd,
    asker,
    version: "1.2.3",
    template: async () => template,
    print: (text) => void (out += text),
    printError: (text) => void (err += text),
  });
  return { code, out, err };
}

const read = (path: string): string => readFileSync(join(cwd, path), "utf8");

test("a name is enough: folder, package and description follow from it", async () => {
  const { code, out, err } = await run(["my-cloud"]);

  expect([code, err]).toEqual([0, ""]);
  expect(out).toContain("cd virtual-kubelet-provider-my-cloud\n  npm install\n");
  expect(JSON.parse(read("virtual-kubelet-provider-my-cloud/package.json"))).toMatchObject({
    name: "virtual-kubelet-provider-my-cloud",
    description: "Virtual Kubelet provider for my-cloud",
    dependencies: { "@virtual-kubelet/core": "^1.2.3", zod: "^1.2.3" },
    devDependencies: { "virtual-kubelet": "^1.2.3", typescript: "^1.2.3" },
    engines: { node: "^22.21 || >=24.11" },
  });
  expect(read("virtual-kubelet-provider-my-cloud/src/provider.ts")).toBe(
    '/** Virtual Kubelet provider for my-cloud. */\nexport const provider = { name: "my-cloud" };\n',
  );
  expect(read("virtual-kubelet-provider-my-cloud/README.md")).toMatch(
    /^# virtual-kubelet-provider-my-cloud\n[^]*## Work on it\n[^]*## Configuration\n$/,
  );
});

test("all can be said by flags, and then nothing is asked", async () => {
  const asker = new FakeAsker();
  const flags = [
    "--name",
    "far",
    "--kind",
    "process",
    "--description",
    "Far away: $& and $1.",
    "--package",
    "@me/far",
    "--directory",
    "deep/in",
  ];

  expect(await run(flags, asker)).toMatchObject({ code: 0, err: "" });
  expect(asker.said).toEqual([]);
  expect(JSON.parse(read("deep/in/package.json"))).toMatchObject({ name: "@me/far", description: "Far away: $& and $1." });
  expect(read("deep/in/src/provider.ts")).toContain("/** Far away: $& and $1. */");
});

test("of kind remote, it polls an API, and has a fake one to begin with", async () => {
  const { code, out } = await run(["far", "--kind", "remote"]);

  expect(code).toBe(0);
  expect(out).toContain("  npm run fake-api   # in a terminal of its own\n  npm start -- --nodename my-node\n");
  expect(readdirSync(join(cwd, "virtual-kubelet-provider-far/src"))).toEqual(["poller.ts", "provider.ts"]);
  expect(read("virtual-kubelet-provider-far/src/provider.ts")).toContain(
    '/** Virtual Kubelet provider for far. */\nexport const provider = { name: "far" }',
  );
  expect(JSON.parse(read("virtual-kubelet-provider-far/package.json"))).toMatchObject({
    scripts: { "fake-api": "node test/run-fake-api.ts" },
  });
});

test("packed packages take the place of published ones, also of those that others depend on", async () => {
  mkdirSync(join(cwd, "packed"));
  for (const name of [...template.packages, "@virtual-kubelet/other"])
    writeFileSync(join(cwd, "packed", `${name.replace("@", "").replace("/", "-")}-1.2.3-beta.1.tgz`), "");

  const { code, err } = await run(["far", "--tarballs", "packed"]);

  expect([code, err]).toEqual([0, ""]);
  const file = (name: string): string => `file:${join(cwd, "packed", `${name}-1.2.3-beta.1.tgz`)}`;
  expect(JSON.parse(read("virtual-kubelet-provider-far/package.json"))).toMatchObject({
    dependencies: { "@virtual-kubelet/core": file("virtual-kubelet-core"), zod: "^1.2.3" },
    devDependencies: { "virtual-kubelet": file("virtual-kubelet") },
    overrides: {
      "virtual-kubelet": "$virtual-kubelet",
      "@virtual-kubelet/core": "$@virtual-kubelet/core",
      "@virtual-kubelet/kube-client": file("virtual-kubelet-kube-client"),
    },
  });
});

test("at most four questions are asked, and a wrong answer is asked again", async () => {
  const asker = new FakeAsker("My Cloud", "my-cloud", "far", "remote", "", "@me/cloud");

  expect(await run([], asker)).toMatchObject({ code: 0 });
  expect(asker.said).toEqual([
    "Name of the provider ()",
    expect.stringMatching(/^"My Cloud": expected lower-case letters/),
    "Name of the provider ()",
    "Kind: process or remote (process)",
    '"far": expected process or remote',
    "Kind: process or remote (process)",
    "Description (Virtual Kubelet provider for my-cloud)",
    "Name of its npm package (virtual-kubelet-provider-my-cloud)",
  ]);
  expect(readdirSync(cwd)).toEqual(["cloud"]);
});

test("--yes asks nothing", async () => {
  const asker = new FakeAsker();

  expect(await run(["far", "--yes"], asker)).toMatchObject({ code: 0 });
  expect(asker.said).toEqual([]);
});

test("an empty folder, or one that git has just made, may be filled; `.` is one", async () => {
  mkdirSync(join(cwd, ".git"));

  const { code, out } = await run(["far", "--directory", "."]);

  expect(code).toBe(0);
  expect(out).toBe("wrote virtual-kubelet-provider-far; next:\n\n  npm install\n  npm test\n  npm start -- --nodename my-node\n");
});

test.each([
  [[], "missing name, as in npm create @virtual-kubelet/provider my-cloud"],
  [["My Cloud"], '--name: "My Cloud": expected lower-case letters, digits and single dashes'],
  [["docker"], '--name: "docker": a provider of that name already exists'],
  [["far", "--kind", "cloud"], '--kind: "cloud": expected process or remote'],
  [["far", "--tarballs", "none"], '--tarballs: "none": cannot be read, expected a folder of packed packages'],
  [
    ["far", "--tarballs", "full"],
    '--tarballs: "full": it holds no virtual-kubelet-core-*.tgz, expected one packed package of @virtual-kubelet/core',
  ],
  [["far", "--package", "Far Away"], '--package: "Far Away": expected the name of an npm package'],
  [["far", "--description", "a\nb"], '--description: "a\\nb": expected one line of plain text'],
  [["far", "--description", "ends a comment */"], "expected one line of plain text"],
  [["far", "away"], '"away": unexpected argument, expected one name'],
  [["far", "--folder", "x"], "Unknown option '--folder'; see --help"],
  [["far", "--directory", "full"], '--directory: "full": it contains notes.txt, expected a new or empty folder'],
  [["far", "--directory", "full/notes.txt"], '--directory: "full/notes.txt": it is a file, expected a folder'],
])("%j costs one line, and nothing is written", async (words, message) => {
  mkdirSync(join(cwd, "full"));
  writeFileSync(join(cwd, "full/notes.txt"), "");

  const { code, out, err } = await run(words);

  expect([code, out]).toEqual([1, ""]);
  expect(err).toContain(`create-provider: `);
  expect(err).toContain(message);
  expect(err.trimEnd().split("\n")).toHaveLength(1);
  expect(readdirSync(cwd, { recursive: true }).sort()).toEqual(["full", "full/notes.txt"]);
});

test("--help and --version write nothing", async () => {
  expect((await run(["--help"])).out).toContain("Usage: npm create @virtual-kubelet/provider [NAME]");
  expect(await run(["--version"])).toEqual({ code: 0, out: "1.2.3\n", err: "" });
  expect(readdirSync(cwd)).toEqual([]);
});
