import { expect, test } from "vitest";
import { providerMessage } from "./provider-message.ts";

test.each([
  ["connect to https://user:pa55@host:2375/x failed", "connect to https://[redacted]@host:2375/x failed"],
  ["dial http://user:p@ss@host", "dial http://[redacted]@host"],
  ["401: Authorization: Bearer eyJhbGciOi.xyz-_", "401: Authorization: Bearer [redacted]"],
  ["refused password=hunter2&user=x", "refused password=[redacted]&user=x"],
  ['body {"token": "abc123", "zone": "a"}', 'body {"token": "[redacted]", "zone": "a"}'],
  ["token expired", "token expired"],
  ["connect ECONNREFUSED 127.0.0.1:2375", "connect ECONNREFUSED 127.0.0.1:2375"],
])("providerMessage takes credentials out of %s", (message, expected) => {
  expect(providerMessage(new Error(message))).toBe(expected);
});

test("providerMessage is one line of bounded length, with the causes", () => {
  const message = providerMessage(new Error("outer\n  line", { cause: new Error("x".repeat(2000)) }));

  expect(message).toMatch(/^outer line: x+…$/);
  expect(message).toHaveLength(512);
});

test.each([undefined, null, "", new Error("")])("providerMessage says something of %s as well", (error) => {
  expect(providerMessage(error)).not.toBe("");
});

test.each([
  ["  around  it ", "around it"],
  ["a basic QWxhZGRpbjpvcGVu was sent", "a basic [redacted] was sent"],
  ["Api-Key: abc123; zone=a", "Api-Key: [redacted]; zone=a"],
  ["access_key=AKIA secret=xyz", "access_key=[redacted] secret=[redacted]"],
  ["passwd: hunter2", "passwd: [redacted]"],
  ["bearer of news", "bearer of news"],
  ["a secretary: x", "a secretary: x"],
])("providerMessage makes of %j: %s", (message, expected) => {
  expect(providerMessage(new Error(message))).toBe(expected);
});

test("providerMessage keeps 512 characters and cuts at one more", () => {
  expect(providerMessage(new Error("x".repeat(512)))).toBe("x".repeat(512));
  expect(providerMessage(new Error("x".repeat(513)))).toBe(`${"x".repeat(511)}…`);
});
