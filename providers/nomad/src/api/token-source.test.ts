import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TokenSource } from "./token-source.ts";

let folder: string;
let tokenFile: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "vk-nomad-token-"));
  tokenFile = join(folder, "token");
  writeFileSync(tokenFile, "from the file\n");
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a token's file goes before the token, which the environment may have filled in", async () => {
  const tokens = new TokenSource({ token: "from the environment", tokenFile });

  expect(await tokens.current()).toBe("from the file");
  expect(tokens.origin).toBe(`tokenFile ${tokenFile}`);
});

test("a refused token is read anew from its file, and only a file can hold another one", async () => {
  const tokens = new TokenSource({ tokenFile });
  const first = await tokens.current();

  expect(await tokens.renew(first)).toBe(false);
  writeFileSync(tokenFile, "renewed");
  expect([await tokens.renew(first), await tokens.current()]).toEqual([true, "renewed"]);
  expect(await new TokenSource({ token: "a" }).renew("a")).toBe(false);
});

test.each([
  [{ token: "a" }, "token"],
  [{ token: "" }, "nothing: requests go without a token"],
  [{}, "nothing: requests go without a token"],
])("where the token of %j is from is told without the token", (options, origin) => {
  expect(new TokenSource(options).origin).toBe(origin);
});
