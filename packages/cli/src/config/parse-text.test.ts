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
  ["x.yaml", "a: 1\nb: [1\n", /^Flow sequence .* at line 3, column 1$/],
  ["x.yaml", "a: 1\npassword: |hunter22\n", /^Block scalar header includes extra characters at line 2, column 12$/],
  ["x.yaml", "a: 1\npassword: *hunter22\n", /^Unresolved alias \(the anchor must be set before the alias\)$/],
  ["x.toml", 'a = 1\npassword = "hunter22" "\n', /^Invalid TOML document: .* at line 2, column \d+$/],
  ["x.json", '{\n  "password": hunter22\n}', /^Invalid JSON document: Unexpected token at line 2, column 15$/],
  ["x.json", '{"password": "hunter22", "a": tru}', /^Invalid JSON document: Unexpected token at line 1, column 34$/],
  ["x.json", '{"password": "hunter22",\n "a": 1,}', /^Invalid JSON document: Expected double-quoted property name at line 2, column 9$/],
  ["x.json", '{"password": "hunter22",\n', /^Invalid JSON document: Expected double-quoted property name at line 2, column 1$/],
  ["x.json", "", /^Invalid JSON document: Unexpected end at line 1, column 1$/],
  ["x.json", "hunter22", /^Invalid JSON document: Unexpected token at line 1, column 1$/],
] as const)("%s: %j is refused with the place of the mistake, and nothing of the text", async ([file, text, message]) => {
  const error: unknown = await parseText(file, text).catch((caught: unknown) => caught);

  expect((error as Error).message).toMatch(message);
  expect((error as Error).message).not.toContain("hunter22");
});
