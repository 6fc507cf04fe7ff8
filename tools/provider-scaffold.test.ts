import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseProviderList } from "./provider-list.ts";
import { scaffoldProvider } from "./provider-scaffold.ts";
import { root } from "./workspace.ts";

let top: string;

// What a scaffold reads of the repository.
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), "vk-scaffold-"));
  for (const path of [
    "provider.yaml",
    "pnpm-workspace.yaml",
    "packages/errdefs/package.json",
    "packages/create-provider/package.json",
    "templates/provider/README.md",
    "templates/provider/conformance.json",
    "templates/provider/package.json",
    "templates/provider/src",
    "templates/provider/test",
    "templates/provider/tsconfig.build.json",
    "e2e/conformance/template.test.ts",
  ])
    cpSync(join(root, path), join(top, path), { recursive: true });
});
afterEach(() => rmSync(top, { recursive: true }));

test("a new provider has its folder, its run of the suite, a changeset and its entry", () => {
  const files = scaffoldProvider(top, { name: "far-away", description: "Pods that are far away" });

  expect(Object.keys(files)).toEqual(
    expect.arrayContaining([
      "providers/far-away/README.md",
      "providers/far-away/conformance.json",
      "providers/far-away/package.json",
      "providers/far-away/src/index.ts",
      "providers/far-away/src/translate.test.ts",
      "providers/far-away/tsconfig.build.json",
      "e2e/conformance/far-away.test.ts",
      ".changeset/provider-far-away.md",
      "provider.yaml",
    ]),
  );
  expect(JSON.parse(files["providers/far-away/package.json"] ?? "")).toMatchObject({
    name: "@virtual-kubelet/provider-far-away",
    description: "Pods that are far away",
    repository: { directory: "providers/far-away" },
    dependencies: { "@virtual-kubelet/core": "workspace:^", zod: "catalog:" },
  });
  expect(files["e2e/conformance/far-away.test.ts"]).toContain('from "../../providers/far-away/src/index.ts"');
  expect(files["e2e/conformance/far-away.test.ts"]).toContain('reportFile("far-away")');
  expect(Object.values(files).join("\n")).not.toMatch(/templates\/|template-provider|name: "template"/);
});

test("its entry comes after those that are there", () => {
  const before = parseProviderList(readFileSync(join(root, "provider.yaml"), "utf8"));
  const after = parseProviderList(scaffoldProvider(top, { name: "far-away", description: 'Says "hello"' })["provider.yaml"] ?? "");

  expect(after).toEqual([...before, { name: '**Far Away**: Says "hello"', tag: "far-away", external: false, link: undefined }]);
});

test("nothing that is there is written over", () => {
  mkdirSync(join(top, "providers/near"), { recursive: true });

  expect(() => scaffoldProvider(top, { name: "near", description: "Near" })).toThrow(
    "providers/near is there already; choose another NAME",
  );
  expect(() => scaffoldProvider(top, { name: "mock", description: "Mock" })).toThrow(
    'NAME is "mock": there is a provider of that name already',
  );
  expect(() => scaffoldProvider(top, { name: "Far", description: "Far" })).toThrow('NAME is "Far": expected lower-case letters');
  expect(() => scaffoldProvider(top, { name: "far", description: "a\nb" })).toThrow("--description is");
});
