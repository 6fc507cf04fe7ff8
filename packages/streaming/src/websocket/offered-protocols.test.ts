import { expect, test } from "vitest";
import { offeredProtocols, webSocketBearerToken } from "./offered-protocols.ts";

const carrier = (token: string): string => `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString("base64url")}`;

function offering(...protocols: readonly string[]): { readonly headers: { readonly "sec-websocket-protocol": string } } {
  return { headers: { "sec-websocket-protocol": protocols.join(", ") } };
}

test("a bearer token is found among the sub-protocols, and is not offered as a sub-protocol", () => {
  const request = offering("v4.channel.k8s.io", carrier("s3cret ü"), "channel.k8s.io");

  expect(webSocketBearerToken(request)).toBe("s3cret ü");
  expect(offeredProtocols(request)).toEqual(["v4.channel.k8s.io", "channel.k8s.io"]);
});

test("a request without a token has none", () => {
  expect(webSocketBearerToken(offering("v4.channel.k8s.io"))).toBeUndefined();
  expect(webSocketBearerToken({ headers: {} })).toBeUndefined();
});

test.each([
  ["two tokens", offering(carrier("a"), carrier("b"), "v4.channel.k8s.io")],
  ["a token without any other sub-protocol", offering(carrier("a"))],
  ["an empty token", offering(carrier(""), "v4.channel.k8s.io")],
  ["a token that is not base64url", offering("base64url.bearer.authorization.k8s.io.a+b", "v4.channel.k8s.io")],
  [
    "a token that is not UTF-8",
    offering(`base64url.bearer.authorization.k8s.io.${Buffer.from([0xff]).toString("base64url")}`, "v4.channel.k8s.io"),
  ],
])("%s is refused, and the message does not repeat it", (_what, request) => {
  expect(() => webSocketBearerToken(request)).toThrow(/^read a bearer token from Sec-WebSocket-Protocol: /);
});
