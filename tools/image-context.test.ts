import { expect, test } from "vitest";
import { lockedVersions } from "./image-context.ts";

test("a package of which the lockfile has one version keeps it, and one of several or from elsewhere is left open", () => {
  const lockfile = `
packages:
  "@scope/one@1.2.3": {}
  two@1.0.0: {}
  two@2.0.0: {}
  local@file:../local.tgz: {}
`;

  expect(lockedVersions(lockfile)).toEqual({ "@scope/one": "1.2.3" });
});
