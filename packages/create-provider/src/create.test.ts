import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Asker } from "./complete-project.ts";
import { create } from "./create.ts";
import type { Template } from "./template.ts";

const template: Template = {
  files: {
    "README.md":
      "# @virtual-kubelet/template-provider\n\nVirtual Kubelet provider that runs each pod as a process of this machine.\n\n## Configuration\n",
    "src/provider.ts":
      '/** Virtual Kubelet provider that runs each pod as a process of this machine. */\nexport const provider = { name: "template" };\n',
  },
  versions: Object.fromEntries(
    [
      "@types/node",
      "@virtual-kubelet/core",
      "@virtual-kubelet/errdefs",
      "@virtual-kubelet/testing",
      "typescript",
      "virtual-kubelet",
      "vitest",
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
    devDependencies: { "virtual-kubelet": "^1.2.3", vitest: "^1.2.3" },
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
  const flags = ["--name", "far", "--description", "Far away: $& and $1.", "--package", "@me/far", "--directory", "deep/in"];

  expect(await run(flags, asker)).toMatchObject({ code: 0, err: "" });
  expect(asker.said).toEqual([]);
  expect(JSON.parse(read("deep/in/package.json"))).toMatchObject({ name: "@me/far", description: "Far away: $& and $1." });
  expect(read("deep/in/src/provider.ts")).toContain("/** Far away: $& and $1. */");
});

test("at most three questions are asked, and a wrong answer is asked again", async () => {
  const asker = new FakeAsker("My Cloud", "my-cloud", "", "@me/cloud");

  expect(await run([], asker)).toMatchObject({ code: 0 });
  expect(asker.said).toEqual([
    "Name of the provider ()",
    expect.stringMatching(/^"My Cloud": expected lower-case letters/),
    "Name of the provider ()",
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
  [[], "no name, expected one, as in npm create @virtual-kubelet/provider my-cloud"],
  [["My Cloud"], '--name: "My Cloud": expected lower-case letters, digits and single dashes'],
  [["docker"], '--name: "docker": there is a provider of that name already'],
  [["far", "--package", "Far Away"], '--package: "Far Away": expected the name of an npm package'],
  [["far", "--description", "a\nb"], '--description: "a\\nb": expected one line of plain text'],
  [["far", "--description", "ends a comment */"], "expected one line of plain text"],
  [["far", "away"], '"away": unexpected argument, expected one name'],
  [["far", "--folder", "x"], "Unknown option '--folder'; see --help"],
  [["far", "--directory", "full"], '--directory: "full": it holds notes.txt, expected a folder that is new or empty'],
  [["far", "--directory", "full/notes.txt"], '--directory: "full/notes.txt": there is a file, expected a folder'],
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
