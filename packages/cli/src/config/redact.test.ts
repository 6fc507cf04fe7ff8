import { expect, test } from "vitest";
import { redact } from "./redact.ts";

test("values of fields with secret names are removed; names of files and switches are not", () => {
  const value = { token: "abc", tokenFile: "/run/token", automountServiceAccountToken: false, nested: [{ password: 12 }] };

  expect(redact(value)).toEqual({
    token: "[redacted]",
    tokenFile: "/run/token",
    automountServiceAccountToken: false,
    nested: [{ password: "[redacted]" }],
  });
});

test("a token that only makes a request idempotent is shown", () => {
  expect(redact({ clientToken: "b1-0", authToken: "abc" })).toEqual({ clientToken: "b1-0", authToken: "[redacted]" });
});
