import { expect, test } from "vitest";
import type { CrdVersion } from "./crd-fields.ts";
import { deprecationOf } from "./deprecation.ts";

const version = (name: string, more: Partial<CrdVersion> = {}): CrdVersion => ({ name, served: true, storage: false, ...more });
const warning = (of: CrdVersion, ...others: readonly CrdVersion[]): string | undefined =>
  deprecationOf({ group: "example.com", scope: "Namespaced", names: { plural: "cars", kind: "Car" }, versions: [of, ...others] }, of);

test("a version that is not deprecated has no warning", () => {
  expect(warning(version("v1", { deprecationWarning: "no" }), version("v2"))).toBeUndefined();
});

test("a deprecated version has the definition's warning", () => {
  expect(warning(version("v1", { deprecated: true, deprecationWarning: "old" }))).toBe("old");
});

test("otherwise the warning names the newest served version that is not deprecated", () => {
  const old = version("v1beta1", { deprecated: true });
  expect(warning(old)).toBe("example.com/v1beta1 Car is deprecated");
  expect(warning(old, version("v1alpha1"), version("v2", { served: false }), version("v3", { deprecated: true }))).toBe(
    "example.com/v1beta1 Car is deprecated",
  );
  expect(warning(old, version("v1"), version("v10"), version("v2"))).toBe("example.com/v1beta1 Car is deprecated; use example.com/v10 Car");
});
