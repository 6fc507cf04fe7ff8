import { expect, test } from "vitest";
import { releaseProblems, type VersionedPackage } from "./release-rules.ts";

const core: VersionedPackage = {
  folder: "packages/core",
  manifest: { name: "@virtual-kubelet/core", version: "0.2.0" },
  versionBefore: "0.1.0",
  changeLog: "# @virtual-kubelet/core\n\n## 0.2.0\n\n### Minor Changes\n\n- 1a2b3c4: A node has a taint.\n\n## 0.1.0\n\n- First release.\n",
};

test("a version with an entry in the change log can be released", () => {
  expect(releaseProblems(core)).toEqual([]);
});

test("a package that keeps its version needs no entry", () => {
  expect(releaseProblems({ ...core, versionBefore: "0.2.0", changeLog: undefined })).toEqual([]);
});

test.each<[string, Partial<VersionedPackage>, RegExp]>([
  ["that was never given a version", { manifest: { name: "@virtual-kubelet/core", version: "0.0.0" } }, /version is 0\.0\.0/],
  ["without a change log", { changeLog: undefined }, /CHANGELOG\.md is missing/],
  [
    "whose change log ends with an older version",
    { changeLog: "# x\n\n## 0.1.0\n\n- First release.\n" },
    /first version is "0\.1\.0"; expected 0\.2\.0/,
  ],
  ["whose version has no entry", { changeLog: "# x\n\n## 0.2.0\n\n## 0.1.0\n\n- First release.\n" }, /0\.2\.0 has no entries/],
])("a package %s cannot be released", (_, change, problem) => {
  expect(releaseProblems({ ...core, ...change })).toEqual([expect.stringMatching(problem)]);
});
