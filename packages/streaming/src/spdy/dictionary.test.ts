import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { headerDictionary, headerDictionaryId } from "./dictionary.ts";

test("the dictionary equals that of the draft, byte for byte", () => {
  expect(headerDictionary.length).toBe(1423);
  expect(createHash("sha256").update(headerDictionary).digest("hex")).toBe(
    "51d27341373f923f3cd88e1eb7162aeaa3723d7585ff2399201dc06498407f02",
  );
});

test("the dictionary's ID is its Adler-32", () => {
  let a = 1;
  let b = 0;
  for (const byte of headerDictionary) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }

  expect(b * 65_536 + a).toBe(headerDictionaryId);
});
