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

test.for([
  ["x.yaml", "a: 1\nb: [1\n", /line 3, column 1/],
  ["x.toml", 'a = 1\npassword = "hunter22" "\n', /^Invalid TOML document: .* at line 2, column \d+$/],
] as const)("%s: %j is refused with the place of the mistake, on one line", async ([file, text, message]) => {
  const error: unknown = await parseText(file, text).catch((caught: unknown) => caught);

  expect(String((error as Error).message.split("\n", 1)[0])).toMatch(message);
});
