import { expect, test } from "vitest";
import { dialRefusal } from "./dial-refusal.ts";

function messageOf(error: unknown): unknown {
  return (JSON.parse(dialRefusal(error).text) as { message: unknown }).message;
}

test("a back end that cannot be reached is told in Go's words", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED", address: "10.1.0.7", port: 80 });

  expect(messageOf(new Error("GET /a at 10.1.0.7:80: no answer", { cause: refused }))).toBe(
    "error dialing backend: dial tcp 10.1.0.7:80: connect: connection refused",
  );
});

test("a back end that answers wrongly was reached", () => {
  const reset = Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });

  expect(messageOf(new Error("GET /a at 10.1.0.7:80: no answer", { cause: reset }))).toBe("unexpected EOF");
  expect(messageOf(new Error("invalid upgrade response: status code 200"))).toBe("invalid upgrade response: status code 200");
});
