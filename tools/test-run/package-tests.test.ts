import { expect, test } from "vitest";
import { belongsTo, packageNames, subjectProblems } from "./package-tests.ts";

test("tests beside the code belong to their package", () => {
  expect(belongsTo("packages/core/src/pod/state/next-action.test.ts", "core")).toBe(true);
  expect(belongsTo("providers/docker/src/docker-runtime.test.ts", "docker")).toBe(true);
  expect(belongsTo("packages/core/src/pod/state/next-action.test.ts", "docker")).toBe(false);
  expect(belongsTo("templates/provider/src/translate.test.ts", "template")).toBe(true);
  expect(belongsTo("tools/check-documents.test.ts", "tools")).toBe(true);
});

test("end-to-end tests belong to the packages that they are about", () => {
  expect(belongsTo("e2e/docker/pulls.test.ts", "pod-runtime")).toBe(true);
  expect(belongsTo("e2e/docker/pulls.test.ts", "zun")).toBe(false);
  expect(belongsTo("e2e/conformance/zun-faults.test.ts", "zun")).toBe(true);
});

test("a test that belongs nowhere is a problem", () => {
  expect(subjectProblems(["e2e/new-folder/first.test.ts"], packageNames())).toContainEqual(
    "e2e/new-folder/first.test.ts is in no row of the table in tools/test-run/package-tests.ts",
  );
});

test("a row without a test, or with a package that does not exist, is a problem", () => {
  const problems = subjectProblems([], ["core"]).join("\n");

  expect(problems).toContain('has a row "e2e/parity/", and there is no such test');
  expect(problems).toContain('names "embedded-apiserver" for "e2e/parity/", and there is no such package');
});
