import { expect, test } from "vitest";
import { newSetAnnotations, revisionAnnotation, revisionOf } from "./deployment-annotations.ts";

test("revisions have 64 bits", () => {
  const old = revisionOf({ [revisionAnnotation]: "3546343826724305832" });

  expect(newSetAnnotations({}, {}, old + 1n)).toEqual({ [revisionAnnotation]: "3546343826724305833" });
  expect(revisionOf({ [revisionAnnotation]: "9223372036854775808" })).toBe(0n);
  expect(revisionOf({ [revisionAnnotation]: "x" })).toBe(0n);
});
