import { expect, test } from "vitest";
import { copyName } from "./names.ts";

const owner = { clusterId: "home", nodeName: "virtual" };
const copy = (namespace: string, name: string): string => copyName(owner, "Secret", { namespace, name });

test("of two copies that a user can give the same beginning, the hash is too long to be found again", () => {
  const [one, other] = [copy("a", "db"), copy("b", `db${"-".repeat(60)}x`)];

  expect(one).toMatch(/^db-[a-z0-9]{20}$/);
  expect(other).toMatch(/^db-[a-z0-9]{20}$/);
  expect(one).not.toBe(other);
});

test("a copy of the longest name has a name of at most 63 characters", () => {
  expect(copy("a", `${"a.".repeat(126)}a`)).toMatch(/^[a.]{1,42}-[a-z0-9]{20}$/);
});
