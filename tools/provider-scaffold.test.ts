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
    "templates/remote-provider/README.md",
    "templates/remote-provider/conformance.json",
    "templates/remote-provider/package.json",
    "templates/remote-provider/src",
    "templates/remote-provider/test",
    "templates/remote-provider/tsconfig.build.json",
    "e2e/conformance/remote-template.test.ts",
  ])
    cpSync(join(root, path), join(top, path), { recursive: true });
});
afterEach(() => rmSync(top, { recursive: true }));

test("a new provider has its folder, its run of the suite, a changeset and its entry", () => {
  const files = scaffoldProvider(top, { name: "far-away", description: "Pods that are far away", kind: "process" });

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

test("one of a remote API also has that API's fake, with tests that its run of the suite starts", () => {
  const files = scaffoldProvider(top, { name: "far-away", description: "Pods that are far away", kind: "remote" });
  const paths = Object.keys(files);
  const suite = files["e2e/conformance/far-away.test.ts"] ?? "";

  expect(paths).toEqual(
    expect.arrayContaining([
      "providers/far-away/src/jobs-api.ts",
      "providers/far-away/test/fake-api.ts",
      "providers/far-away/test/run-fake-api.ts",
      "providers/far-away/test/outages.test.ts",
      "providers/far-away/conformance.json",
    ]),
  );
  expect(paths).not.toContain("providers/far-away/test/conformance.test.ts");
  expect(JSON.parse(files["providers/far-away/package.json"] ?? "")).toMatchObject({
    devDependencies: { "@virtual-kubelet/testing": "workspace:^" },
  });
  expect(suite).toContain('from "../../providers/far-away/test/fake-api.ts"');
  expect(suite).toContain('reportFile("far-away")');
  expect(suite).toContain('cwd: join(root, "providers/far-away")');
  expect(Object.values(files).join("\n")).not.toMatch(/templates\/|template-(remote-)?provider|name: "template"|remote-template/);
});

test("its entry comes after those that are there", () => {
  const before = parseProviderList(readFileSync(join(root, "provider.yaml"), "utf8"));
  const after = parseProviderList(
    scaffoldProvider(top, { name: "far-away", description: 'Says "hello"', kind: "process" })["provider.yaml"] ?? "",
  );

  expect(after).toEqual([...before, { name: '**Far Away**: Says "hello"', tag: "far-away", external: false, link: undefined }]);
});

test("nothing that is there is written over", () => {
  mkdirSync(join(top, "providers/near"), { recursive: true });

  expect(() => scaffoldProvider(top, { name: "near", description: "Near", kind: "process" })).toThrow(
    "providers/near is there already; choose another NAME",
  );
  expect(() => scaffoldProvider(top, { name: "mock", description: "Mock", kind: "process" })).toThrow(
    'NAME is "mock": a provider of that name already exists',
  );
  expect(() => scaffoldProvider(top, { name: "Far", description: "Far", kind: "process" })).toThrow(
    'NAME is "Far": expected lower-case letters',
  );
  expect(() => scaffoldProvider(top, { name: "far", description: "a\nb", kind: "remote" })).toThrow("--description is");
});
