import { isUnavailable, messageOf } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { isDecodeError } from "../errors/decode-error.ts";
import { PageTokens } from "./page-tokens.ts";

test("tokens that are all others, and the absence of one on the last page, are taken", () => {
  const tokens = new PageTokens("list pods");

  expect(() => ["a", "b", "c", undefined].forEach((token) => tokens.add(token))).not.toThrow();
});

test.each([
  ["at once", ["a", "a"]],
  ["after another", ["a", "b", "a"]],
  ["after many", [...Array.from({ length: 1_000 }, (_, index) => String(index)), "7"]],
])("a token that comes again %s is the server's error", (_what, all) => {
  const tokens = new PageTokens("list pods");
  for (const token of all.slice(0, -1)) tokens.add(token);

  let thrown: unknown;
  try {
    tokens.add(all.at(-1));
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toSatisfy(isUnavailable);
  expect(thrown).toSatisfy(isDecodeError);
  expect(messageOf(thrown)).toBe(
    "list pods: the pages lead in a circle: a page has the metadata.continue of one before; the server's paging is broken",
  );
});

test("pages without end are the server's error", () => {
  const tokens = new PageTokens("list pods");
  for (let page = 1; page < 10_000; page++) tokens.add(String(page));

  expect(() => tokens.add("more")).toThrow("list pods: the list has more than 10000 pages; the server's paging is broken");
});
