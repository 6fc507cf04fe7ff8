import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";
import { root } from "./workspace.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Joins the modules of a package with these files, and returns its folder. */
async function bundled(files: Readonly<Record<string, string>>, main = "./dist/index.js"): Promise<string> {
  // Inside the workspace, so that libraries are found.
  const folder = mkdtempSync(join(root, "packages/kube-client/node_modules/.bundle-"));
  folders.push(folder);
  const manifest = { name: "example", type: "module", sideEffects: false, exports: { ".": { types: "./dist/index.d.ts", default: main } } };
  for (const [path, text] of Object.entries({ "package.json": JSON.stringify(manifest), ...files })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  await promisify(execFile)(process.execPath, [join(root, "tools/bundle-package.ts")], { cwd: folder });
  return folder;
}

/** Output of a program that imports the package's entry point as `own`. */
async function run(folder: string, program: string): Promise<string> {
  const code = `const own = await import(${JSON.stringify(pathToFileURL(join(folder, "dist/index.js")).href)}); ${program}`;
  return (await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", code])).stdout.trim();
}

test("the modules of a package become one, and a part that is imported on demand stays separate", async () => {
  const folder = await bundled({
    "dist/index.js": `import { sum } from "./deep/sum.js"; export { sum }; export const late = () => import("./deep/late.js");`,
    "dist/deep/sum.js": `import { first } from "./first.js"; export const sum = first + 1;`,
    "dist/deep/first.js": `export const first = 1;`,
    "dist/deep/late.js": `import { first } from "./first.js"; export const value = first + 40;`,
    "dist/deep/sum.d.ts": `export declare const sum: number;`,
    "dist/old-chunk.js": `export {};`,
  });

  expect(await run(folder, `console.log(own.sum, (await own.late()).value)`)).toBe("2 41");
  expect(["deep/sum.js", "deep/first.js", "deep/late.js", "old-chunk.js"].filter((path) => existsSync(join(folder, "dist", path)))).toEqual(
    [],
  );
  expect(existsSync(join(folder, "dist/deep/sum.d.ts"))).toBe(true);
});

test("a module that is imported for its effect is kept", async () => {
  const folder = await bundled({
    "dist/index.js": `await import("./program.js");`,
    "dist/program.js": `console.log("it ran");`,
  });

  expect(await run(folder, "")).toBe("it ran");
});

test("libraries stay imports", async () => {
  const folder = await bundled({ "dist/index.js": `export { parse } from "yaml";` });

  expect(readFileSync(join(folder, "dist/index.js"), "utf8")).toMatch(/from "yaml"/);
});

test("node:http and undici are loaded without their fetch", async () => {
  const folder = await bundled({
    "dist/index.js": `
      import { createServer, STATUS_CODES } from "node:http";
      import { buildConnector, errors, Pool } from "undici";
      export const answer = [typeof createServer, STATUS_CODES[404], typeof buildConnector, errors.UndiciError.name, Pool.name];
    `,
  });
  const loaded = `
    const { createRequire } = await import("node:module");
    const own2 = Object.keys(createRequire(import.meta.url)("node:module")._cache).concat(process.moduleLoadList);
    console.log(JSON.stringify([own.answer, own2.filter((name) => /undici\\/undici$|undici\\/index\\.js$|fetch/.test(name))]));
  `;

  expect(JSON.parse(await run(folder, loaded))).toEqual([["function", "Not Found", "function", "UndiciError", "Pool"], []]);
});

test("an entry point below dist/ is refused, because paths relative to its modules would change", async () => {
  await expect(bundled({ "dist/deep/index.js": `export {};` }, "./dist/deep/index.js")).rejects.toThrow(
    "dist/deep/index.js: expected an entry point directly in dist/",
  );
});
