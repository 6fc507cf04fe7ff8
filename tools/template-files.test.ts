import { defaultsFor, fillTemplate, projectFiles } from "@virtual-kubelet/create-provider";
import { expect, test } from "vitest";
import { libraryEngine } from "./manifest-rules.ts";
import { packTemplate } from "./template-files.ts";

const template = packTemplate();

test("what the template says of itself is found and replaced, everywhere", () => {
  const project = { ...defaultsFor("far"), description: "Far away", packageName: "@me/far" };
  const files = fillTemplate(template, project);

  expect(files["src/provider.ts"]).toContain('name: "far"');
  expect(files["src/index.ts"]).toContain(" * Far away.\n");
  expect(files["README.md"]).toMatch(/^# @me\/far\n\nFar away\.\n/);
  expect(Object.values(files).join("\n")).not.toContain("template-provider");
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
