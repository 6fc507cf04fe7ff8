import { expect, test } from "vitest";
import { parseText } from "./parse-text.ts";

test.for([
  ["x.json", '{"a": {"b": [1, "c"]}}'],
  ["x.yaml", "a:\n  b: [1, c]\n"],
  ["x.YML", "a: { b: [1, c] }"],
  ["x.toml", '[a]\nb = [1, "c"]\n'],
  ["no-suffix", '{"a": {"b": [1, "c"]}}'],
] as const)("%s is read by its suffix", async ([file, text]) => {
  expect(JSON.parse(JSON.stringify(await parseText(file, text)))).toEqual({ a: { b: [1, "c"] } });
});

test("an empty file is nothing", async () => {
  expect((await parseText("x.yaml", "# nothing\n")) ?? undefined).toBeUndefined();
});

test.for([
  ["x.json", "{"],
  ["x.yaml", "a: [1"],
  ["x.yaml", "a: 1\n---\nb: 2\n"],
  ["x.yaml", "a: 1\na: 2\n"],
  ["x.toml", "a = "],
] as const)("%s: %j is refused", async ([file, text]) => {
  await expect(parseText(file, text)).rejects.toThrow();
});
