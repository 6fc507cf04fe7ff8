import { expect, test } from "vitest";
import { base64Problem } from "./go-base64.ts";

test.each(["", "YQ==", "YWI=", "YWJj", "YW\nJj\r\n", "YQ=\n=\n", "+/+/"])("%j is base64", (text) => {
  expect(base64Problem(text, "standard")).toBeUndefined();
});

test.each([
  ["x", 0],
  ["YQ", 0],
  ["YWJjYQ", 4],
  ["YQ=", 3],
  ["YQ=a", 2],
  ["=", 0],
  ["Y===", 1],
  ["YQ==YQ==", 4],
  ["YWI=\na", 5],
  ["YW\nJ", 1],
  ["a b", 1],
  ["a-bc", 1],
  ["é", 0],
  ["YQ==\n", undefined],
])("%j is no base64 from byte %j on", (text, at) => {
  expect(base64Problem(text, "standard")).toBe(at === undefined ? undefined : `illegal base64 data at input byte ${at}`);
});

test.each([
  ["", undefined],
  ["YQ", undefined],
  ["YWI", undefined],
  ["_-_-", undefined],
  ["x", 0],
  ["YQ==", 2],
  ["a+bc", 1],
])("%j in the alphabet of URLs is wrong at byte %j", (text, at) => {
  expect(base64Problem(text, "raw URL")).toBe(at === undefined ? undefined : `illegal base64 data at input byte ${at}`);
});
