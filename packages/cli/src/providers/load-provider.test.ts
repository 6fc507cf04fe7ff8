import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadProvider } from "./load-provider.ts";

let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "vk-provider-"));
});
afterEach(async () => {
  await rm(cwd, { recursive: true });
});

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(cwd, path)), { recursive: true });
  await writeFile(join(cwd, path), text);
}

const source = (name: string): string =>
  `export const provider = { name: "${name}", capabilities: {}, configSchema: { safeParse: (data) => ({ success: true, data }) }, create() {} };`;

const load = async (name: string): Promise<string> => (await loadProvider(name, { cwd, setting: "--provider" })).name;

test("a built-in provider is found by its name", async () => {
  expect(await load("mock")).toBe("mock");
});

test.for(["aci", "azure"])(
  "the provider %s of a cloud is loaded if its package is installed where the program was started",
  async (name) => {
    await put("node_modules/@virtual-kubelet/provider-aci/package.json", JSON.stringify({ name: "p", main: "index.mjs" }));
    await put("node_modules/@virtual-kubelet/provider-aci/index.mjs", source("aci"));

    expect(await load(name)).toBe("aci");
  },
);

test("a module is found by its path, JavaScript or TypeScript", async () => {
  await put("own.mjs", source("own"));
  await put("typed.ts", `interface Shape { a: string }\n${source("typed")}`);

  expect(await load("./own.mjs")).toBe("own");
  expect(await load(join(cwd, "typed.ts"))).toBe("typed");
});

test.for([
  ["a plain main", { main: "index.mjs" }],
  ["exports for everything", { exports: "./index.mjs" }],
  ["exports for import only", { exports: { ".": { import: { types: "./x.d.ts", default: "./index.mjs" } } } }],
] as const)("a package installed where the program was started is found, with %s", async ([, entry]) => {
  await put("node_modules/@me/vk/package.json", JSON.stringify({ name: "@me/vk", type: "module", ...entry }));
  await put("node_modules/@me/vk/index.mjs", source("mine"));

  expect(await load("@me/vk")).toBe("mine");
});

test.for([
  ["exports", { name: "mine", exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.mjs" } } }],
  ["exports for import only", { name: "mine", exports: { ".": { import: "./dist/index.mjs" } } }],
  ["a main and no name", { main: "dist/index.mjs" }],
] as const)("a package is found by the path of its folder, with %s", async ([, manifest]) => {
  await put("mine/package.json", JSON.stringify(manifest));
  await put("mine/dist/index.mjs", source("mine"));

  expect(await load("./mine")).toBe("mine");
  expect(await load("./mine/")).toBe("mine");
});

test("a package that is not built says what to do", async () => {
  await put("package.json", JSON.stringify({ name: "mine", exports: { ".": "./dist/index.js" } }));

  await expect(load("./")).rejects.toThrow(
    '--provider: "./": dist/index.js does not exist; build the package first, as with npm run build',
  );
});

test("a folder that is no package is told", async () => {
  await put("empty/notes.txt", "");

  await expect(load("./empty")).rejects.toThrow('--provider: "./empty": the folder has no package.json');
});

test("a short name also finds the project's package of that name", async () => {
  await put(
    "node_modules/@virtual-kubelet/provider-far/package.json",
    JSON.stringify({ name: "@virtual-kubelet/provider-far", main: "index.mjs" }),
  );
  await put("node_modules/@virtual-kubelet/provider-far/index.mjs", source("far"));

  expect(await load("far")).toBe("far");
});

test.for([
  ["fs", "fs", undefined],
  ["a module that fails", "./broken.mjs", "throw new Error('no luck\\nat all');"],
  ["a module without a provider", "./empty.mjs", "export const other = 1;"],
  ["a module with half a provider", "./half.mjs", "export const provider = { name: 'half' };"],
] as const)("%s is refused in one line", async ([, name, text]) => {
  if (text !== undefined) await put(name, text);

  const error: unknown = await load(name).catch((caught: unknown) => caught);

  expect(error).toMatchObject({ exitCode: 78, message: expect.stringMatching(/^--provider: "[^\n]+$/) });
});
