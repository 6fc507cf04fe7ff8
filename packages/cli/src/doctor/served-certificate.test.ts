import { expect, test } from "vitest";
import { isUnconnected } from "./served-certificate.ts";

test.for(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL"])("after %s nothing listens", (code) => {
  expect(isUnconnected(Object.assign(new Error(code), { code }))).toBe(true);
});

test("a server that ends the connection listens", () => {
  expect(isUnconnected(Object.assign(new Error("reset"), { code: "ECONNRESET" }))).toBe(false);
});
