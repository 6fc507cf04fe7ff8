import { describe, expect, test } from "vitest";
import { importProblems, packageCycle, packageOf, readSource } from "./import-rules.ts";
import type { Manifest, WorkspacePackage } from "./workspace.ts";

function packageAt(folder: string, name: string, fields: Partial<Manifest> = {}): WorkspacePackage {
  return { folder, manifest: { name, version: "0.0.0", ...fields } };
}

const errdefs = packageAt("packages/errdefs", "@virtual-kubelet/errdefs");
const client = packageAt("packages/kube-client", "@virtual-kubelet/kube-client", {
  dependencies: { "@virtual-kubelet/errdefs": "workspace:^" },
});
const core = packageAt("packages/core", "@virtual-kubelet/core", {
  devDependencies: { "@virtual-kubelet/embedded-apiserver": "workspace:^" },
});
const embedded = packageAt("packages/embedded-apiserver", "@virtual-kubelet/embedded-apiserver");
const cli = packageAt("packages/cli", "virtual-kubelet");
const docker = packageAt("providers/docker", "@virtual-kubelet/provider-docker", {
  dependencies: { "@virtual-kubelet/errdefs": "workspace:^" },
});
const workspace = [errdefs, client, core, embedded, cli, docker];

function problemsIn(owner: WorkspacePackage, path: string, text: string): string[] {
  return importProblems(owner, [readSource({ path, text })], workspace, new Set(["vitest"]));
}

describe("readSource", () => {
  test("finds imports in every form, with their lines", () => {
    const text = [
      'import { a } from "a";',
      'import type { B } from "b";',
      'export { c } from "c";',
      'const d = await import("d");',
      'let e: import("e").E;',
      'import "f";',
      'const g = import.meta.resolve("g");',
    ].join("\n");

    expect(readSource({ path: "x.ts", text }).imports).toEqual(
      ["a", "b", "c", "d", "e", "f", "g"].map((specifier, index) => ({
        line: index + 1,
        specifier,
        isTypeOnly: specifier === "b" || specifier === "e",
      })),
    );
  });

  test("does not take strings and comments for imports", () => {
    expect(readSource({ path: "x.ts", text: '// import "a"\nconst text = \'import "b"\';\n' }).imports).toEqual([]);
  });
});

test.each([
  ["@virtual-kubelet/kube-client/testing", "@virtual-kubelet/kube-client"],
  ["undici", "undici"],
  ["yaml/util", "yaml"],
  ["node:fs", undefined],
  ["./pod.ts", undefined],
])("the package of %s is %s", (specifier, name) => {
  expect(packageOf(specifier)).toBe(name);
});

describe("importProblems", () => {
  test("accepts declared imports in the right direction", () => {
    expect(problemsIn(client, "packages/kube-client/src/x.ts", 'import { codeOf } from "@virtual-kubelet/errdefs";')).toEqual([]);
  });

  test("refuses an import against the direction", () => {
    const problems = problemsIn(errdefs, "packages/errdefs/src/x.ts", 'import "@virtual-kubelet/kube-client";');

    expect(problems[0]).toBe("packages/errdefs/src/x.ts:1 imports @virtual-kubelet/kube-client; packages/errdefs may import no package");
  });

  test("lets core's tests import the embedded API server, and no other file of core", () => {
    const text = 'import { applyPatch } from "@virtual-kubelet/embedded-apiserver/patch";';

    expect(problemsIn(core, "packages/core/src/test-support/x.ts", text)).toEqual([]);
    expect(problemsIn(core, "packages/core/src/x.ts", text)[0]).toMatch(
      /^packages\/core\/src\/x\.ts:1 imports @virtual-kubelet\/embedded-apiserver; packages\/core may import /,
    );
  });

  test("refuses a provider that imports the program", () => {
    const problems = problemsIn(docker, "providers/docker/src/x.ts", 'import "virtual-kubelet";\nimport "@virtual-kubelet/errdefs";');

    expect(problems[0]).toMatch(/^providers\/docker\/src\/x\.ts:1 imports virtual-kubelet; providers\/docker may import /);
  });

  test("refuses an import that the manifest does not declare", () => {
    expect(problemsIn(cli, "packages/cli/src/x.ts", 'import "undici";')).toEqual([
      "packages/cli/src/x.ts:1 imports undici, which packages/cli/package.json does not list in dependencies",
    ]);
  });

  test("lets sources import types, and a library that the build puts into the package, from devDependencies", () => {
    const owner = packageAt("packages/metrics", "@virtual-kubelet/metrics", {
      devDependencies: { library: "^1.0.0" },
      scripts: { build: "tsc && node ../../tools/bundle-dependency.ts dist/deep/library.js" },
    });

    expect(problemsIn(owner, "packages/metrics/src/x.ts", 'import type { A } from "library";\nexport type { B } from "library";')).toEqual(
      [],
    );
    expect(problemsIn(owner, "packages/metrics/src/deep/library.ts", 'export { A } from "library";')).toEqual([]);
    expect(problemsIn(owner, "packages/metrics/src/library.ts", 'export { A } from "library";')).toEqual([
      "packages/metrics/src/library.ts:1 imports library, which packages/metrics/package.json does not list in dependencies",
    ]);
  });

  test("lets only tests use what the top package.json holds", () => {
    const text = 'import "vitest";';

    expect(problemsIn(cli, "packages/cli/src/x.test.ts", text)).toEqual([]);
    expect(problemsIn(cli, "packages/cli/src/x.ts", text)).toHaveLength(1);
  });

  test("names a dependency that nothing imports", () => {
    expect(problemsIn(client, "packages/kube-client/src/x.ts", "")).toEqual([
      "packages/kube-client/package.json lists @virtual-kubelet/errdefs, which nothing in it imports",
    ]);
  });

  test("refuses a path into another package", () => {
    expect(problemsIn(cli, "packages/cli/src/x.ts", 'import "../../errdefs/src/codes.ts";')).toEqual([
      "packages/cli/src/x.ts:1 imports ../../errdefs/src/codes.ts, a file of another package; import that package by its name",
    ]);
  });

  test("refuses `export *`", () => {
    expect(problemsIn(cli, "packages/cli/src/index.ts", 'export * from "./x.ts";')).toEqual([
      "packages/cli/src/index.ts:1 has `export *`; name each export",
    ]);
  });

  test("refuses `new Date()` outside of tests, the program and system-clock.ts, and accepts a date of something", () => {
    const clockReads = (path: string): number => problemsIn(errdefs, path, "new Date(); new Date(0);").length;

    expect(clockReads("packages/errdefs/src/x.ts")).toBe(1);
    expect(clockReads("packages/errdefs/src/x.test.ts")).toBe(0);
    expect(clockReads("packages/errdefs/src/system-clock.ts")).toBe(0);
  });
});

describe("packageCycle", () => {
  test("finds none in a workspace that points one way", () => {
    expect(packageCycle(workspace)).toBeUndefined();
  });

  test("names the packages of a cycle, devDependencies included", () => {
    const looped = packageAt("packages/errdefs", "@virtual-kubelet/errdefs", {
      devDependencies: { "@virtual-kubelet/kube-client": "workspace:^" },
    });

    expect(packageCycle([looped, client])).toBe("@virtual-kubelet/errdefs → @virtual-kubelet/kube-client → @virtual-kubelet/errdefs");
  });
});
