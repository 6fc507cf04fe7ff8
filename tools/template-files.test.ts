import { defaultsFor, fillTemplate, kinds, projectFiles } from "@virtual-kubelet/create-provider";
import { expect, test } from "vitest";
import { libraryEngine } from "./manifest-rules.ts";
import { packTemplate, toNodeTest } from "./template-files.ts";

const template = packTemplate();

test.each(kinds)("what the template of kind %s says of itself is found and replaced, everywhere", (kind) => {
  const project = { ...defaultsFor("far"), description: "Far away", packageName: "@me/far" };
  const files = fillTemplate(template.sources[kind], project);

  expect(files["src/provider.ts"]).toContain('name: "far"');
  expect(files["src/index.ts"]).toContain(" * Far away.\n");
  expect(files["README.md"]).toMatch(/^# @me\/far\n\nFar away\.\n/);
  expect(Object.values(files).join("\n")).not.toMatch(/template-(remote-)?provider|name: "template"/);
});

test("tests of a project outside run on Node's own runner", () => {
  const text = 'import { expect, test } from "vitest";\ntest("a", () => {\n  expect(f(1)).toEqual({ a: 1 });\n});\n';

  expect(toNodeTest("a.test.ts", text)).toBe(
    'import assert from "node:assert/strict";\nimport { test } from "node:test";\ntest("a", () => {\n  assert.deepEqual(f(1), { a: 1 });\n});\n',
  );
  expect(() => toNodeTest("a.test.ts", text.replace("toEqual", "toMatchObject"))).toThrow("a.test.ts: expected");
  for (const kind of kinds) expect(Object.values(template.sources[kind].files).join("\n")).not.toContain('"vitest"');
});

test("a project outside gets versions that a registry has, and the template's sources, tests and README", () => {
  const files = projectFiles(template, defaultsFor("far"));

  expect(files["package.json"]).not.toMatch(/workspace:|catalog:|npm:/);
  expect(JSON.parse(files["package.json"] ?? "")).toMatchObject({
    engines: { node: libraryEngine },
    devDependencies: { "@types/node": expect.stringMatching(/^\^22\./) as string },
  });
  expect(files["README.md"]).toContain("## Work on it");
  expect(Object.keys(files)).toEqual(
    expect.arrayContaining(["src/index.ts", "src/translate.test.ts", "test/conformance.test.ts", "tsconfig.json", ".gitignore"]),
  );
});
