import { expect, test } from "vitest";
import { certificateOf } from "./key-pair.ts";
import { makeSelfSigned } from "./self-signed.ts";

test("a pair is checked once, and a pair with another key each time", async () => {
  const pair = await makeSelfSigned("vk", undefined, Date.UTC(2026, 0, 1));
  const { key } = await makeSelfSigned("vk", undefined, Date.UTC(2026, 0, 1));
  const wrong = { ...pair, key };

  expect(certificateOf(pair)).toBe(certificateOf(pair));
  for (const _ of [1, 2]) expect(() => certificateOf(wrong)).toThrow("the key does not belong to the certificate");
});
