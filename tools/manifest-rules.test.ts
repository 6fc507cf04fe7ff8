import { describe, expect, test } from "vitest";
import { libraryEngine, manifestProblems, type ManifestContext } from "./manifest-rules.ts";
import type { Manifest } from "./workspace.ts";

const entry = { "@virtual-kubelet/source": "./src/index.ts", types: "./dist/index.d.ts", default: "./dist/index.js" };

const manifest: Manifest = {
  name: "@virtual-kubelet/errdefs",
  version: "0.0.0",
  description: "Typed errors",
  keywords: ["kubernetes", "kubelet", "virtual-kubelet", "errors"],
  homepage: "https://github.com/virtual-kubelet/virtual-kubelet-ts/tree/main/packages/errdefs#readme",
  bugs: { url: "https://github.com/virtual-kubelet/virtual-kubelet-ts/issues" },
  license: "Apache-2.0",
  type: "module",
  sideEffects: false,
  repository: { type: "git", url: "git+https://github.com/virtual-kubelet/virtual-kubelet-ts.git", directory: "packages/errdefs" },
  engines: { node: libraryEngine },
  files: ["dist"],
  exports: { ".": entry, "./package.json": "./package.json" },
  dependencies: { yaml: "catalog:" },
  publishConfig: {
    access: "public",
    exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" }, "./package.json": "./package.json" },
  },
};

const context: ManifestContext = {
  engine: ">=24.11",
  catalog: { yaml: "^2.8.0" },
  readme: "# @virtual-kubelet/errdefs\n\n    npm install @virtual-kubelet/errdefs\n\n- `yaml` reads configuration.\n",
  documented: ["src/index.ts"],
  exists: (path) => path === "src/index.ts",
};

function problems(change: Partial<Manifest>, contextChange: Partial<ManifestContext> = {}, folder = "packages/errdefs"): string[] {
  return manifestProblems({ folder, manifest: { ...manifest, ...change } }, { ...context, ...contextChange });
}

describe("manifestProblems", () => {
  test("accepts a manifest in order", () => {
    expect(problems({})).toEqual([]);
  });

  test.each([
    ["a name outside of the scope", { name: "errdefs" }, 'packages/errdefs: name is "errdefs"; expected "@virtual-kubelet/errdefs"'],
    ["another licence", { license: "MIT" }, 'packages/errdefs: license is "MIT"; expected "Apache-2.0"'],
    [
      "a library that asks for the program's Node.js",
      { engines: { node: ">=24.11" } },
      `packages/errdefs: engines.node is ">=24.11"; expected "${libraryEngine}"`,
    ],
    ["files without dist", { files: ["src"] }, "packages/errdefs: files must include dist"],
    [
      "an undocumented dependency",
      { dependencies: { yaml: "1", zod: "1" } },
      "packages/errdefs: README.md must list the dependency `zod` and say why it is needed",
    ],
    [
      "a dependency of a single version",
      { dependencies: { yaml: "2.8.0" } },
      'packages/errdefs: yaml is "2.8.0"; expected a range such as "^1.2.0", in the catalog of pnpm-workspace.yaml',
    ],
    [
      "no keyword of its own",
      { keywords: ["kubernetes", "kubelet", "virtual-kubelet"] },
      "packages/errdefs: keywords must include what the package is about",
    ],
    [
      "the homepage of another package",
      { homepage: "https://example.com" },
      'packages/errdefs: homepage is "https://example.com"; expected "https://github.com/virtual-kubelet/virtual-kubelet-ts/tree/main/packages/errdefs#readme"',
    ],
    ["modules with side effects", { sideEffects: true }, "packages/errdefs: sideEffects is true; expected false"],
    ["no description", { description: "" }, "packages/errdefs: description is missing"],
  ])("refuses %s", (_what, change, problem) => {
    expect(problems(change)).toContain(problem);
  });

  test("refuses a single version in the catalog", () => {
    expect(problems({}, { catalog: { yaml: "2.8.0" } })).toContain(
      'packages/errdefs: yaml is "2.8.0"; expected a range such as "^1.2.0", in the catalog of pnpm-workspace.yaml',
    );
  });

  test("has the program ask for the workspace's Node.js", () => {
    const program = { name: "virtual-kubelet", engines: { node: ">=24.11" } };

    expect(problems(program, {}, "packages/cli").filter((problem) => problem.includes("engines"))).toEqual([]);
    expect(problems({ ...program, engines: { node: libraryEngine } }, {}, "packages/cli")).toContain(
      `packages/cli: engines.node is "${libraryEngine}"; expected ">=24.11"`,
    );
  });

  test("refuses a source condition that would be published", () => {
    const [problem] = problems({ publishConfig: { access: "public", exports: { ".": entry, "./package.json": "./package.json" } } });

    expect(problem).toMatch(/^packages\/errdefs: publishConfig\.exports is .+; expected \{"\.":\{"types"/);
  });

  test("refuses an export whose built file is another module than its source", () => {
    const [problem] = problems({ exports: { ".": { ...entry, default: "./dist/main.js" }, "./package.json": "./package.json" } });

    expect(problem).toMatch(/^packages\/errdefs: exports\["\."\] must be /);
  });

  test("refuses an export whose source does not exist", () => {
    expect(problems({}, { exists: () => false })).toEqual(['packages/errdefs: exports["."] names src/index.ts, which does not exist']);
  });

  test("refuses an export that the documentation leaves out", () => {
    expect(problems({}, { documented: [] })).toEqual(['packages/errdefs: exports["."] is not among the entryPoints of typedoc.json']);
  });

  test("refuses a package without a README", () => {
    expect(problems({}, { readme: undefined })).toEqual(["packages/errdefs: README.md is missing"]);
  });

  test("gives providers their own names, and the program one without a scope", () => {
    expect(problems({}, {}, "providers/mock")[0]).toContain('expected "@virtual-kubelet/provider-mock"');
    expect(problems({}, {}, "packages/cli")[0]).toContain('expected "virtual-kubelet"');
  });
});
