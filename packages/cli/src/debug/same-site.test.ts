import { expect, test } from "vitest";
import { foreignRequest, isLoopbackHost } from "./same-site.ts";

test.each([
  { host: "127.0.0.1:10247" },
  { host: "localhost:8080", "sec-fetch-site": "none" },
  { host: "[::1]:10247", origin: "http://[::1]:10247", "sec-fetch-site": "same-origin" },
  { host: "LOCALHOST" },
  { host: "127.9.9.9" },
])("a request of the page itself, or without a browser, is answered: %j", (headers) => {
  expect(foreignRequest(headers)).toBeUndefined();
});

test.each([
  [{ host: "attacker.example:10247" }, "Host"],
  [{ host: "127.0.0.1.attacker.example" }, "Host"],
  [{ host: "localhost.attacker.example" }, "Host"],
  [{ host: "192.0.2.1:10247" }, "Host"],
  [{ host: "[::ffff:127.0.0.1]:1" }, "Host"],
  [{ host: "" }, "Host"],
  [{}, "Host"],
  [{ host: "127.0.0.1:1", origin: "http://attacker.example" }, "Origin"],
  [{ host: "127.0.0.1:1", origin: "http://127.0.0.1:2" }, "Origin"],
  [{ host: "127.0.0.1:1", origin: "null" }, "Origin"],
  [{ host: "127.0.0.1:1", "sec-fetch-site": "cross-site" }, "another site"],
  [{ host: "127.0.0.1:1", "sec-fetch-site": "same-site" }, "another site"],
])("a request of another site is refused: %j", (headers, reason) => {
  expect(foreignRequest(headers)).toContain(reason);
});

test("hosts of loopback are known", () => {
  expect(["localhost", "127.0.0.1", "127.1.2.3", "::1"].map(isLoopbackHost)).toEqual([true, true, true, true]);
  expect(["", "0.0.0.0", "::", "10.0.0.1", "127.1", "example.com", "::ffff:127.0.0.1"].some(isLoopbackHost)).toBe(false);
});
