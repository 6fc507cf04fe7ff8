import { expect, test } from "vitest";
import { bearerTokenOf } from "./bearer-token.ts";

test.each([
  ["Bearer abc", "abc"],
  ["bearer abc", "abc"],
  ["  Bearer abc ", "abc"],
  ["Basic abc", undefined],
  ["Bearer", undefined],
  ["Bearer ", undefined],
  ["", undefined],
])("the header %j carries %j", (authorization, token) => {
  expect(bearerTokenOf({ authorization })).toBe(token);
});

const protocols = (token: string) => `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString("base64url")}, v4.channel.k8s.io`;

test("a WebSocket may carry the token among its sub-protocols", () => {
  const headers = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-protocol": protocols("abc") };

  expect(bearerTokenOf(headers)).toBe("abc");
});

test("sub-protocols of a request that is not a WebSocket carry no token", () => {
  expect(bearerTokenOf({ "sec-websocket-protocol": protocols("abc") })).toBeUndefined();
});

test.each([
  [{}, undefined],
  [{ authorization: "BEARER abc def" }, "abc"],
  [{ authorization: "Bearer  abc" }, undefined],
])("%j carries %j", (headers, token) => {
  expect(bearerTokenOf(headers)).toBe(token);
});

test("the header takes precedence over the sub-protocols of a WebSocket", () => {
  const headers = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-protocol": protocols("other"),
    authorization: "Bearer abc",
  };

  expect(bearerTokenOf(headers)).toBe("abc");
});
