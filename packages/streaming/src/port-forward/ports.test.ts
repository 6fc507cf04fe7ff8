import { expect, test } from "vitest";
import { portForwardPorts } from "./ports.ts";

function request(url: string, protocol = "v4.channel.k8s.io"): Parameters<typeof portForwardPorts>[0] {
  return { url, headers: { connection: "Upgrade", upgrade: "websocket", "sec-websocket-protocol": protocol } };
}

test("the query names ports, several in one parameter or in several parameters", () => {
  expect(portForwardPorts(request("/portForward/ns/p?port=80,81&port=82"))).toEqual([80, 81, 82]);
});

test.each([
  ["/portForward/ns/p", 'query parameter "port" is required'],
  ["/portForward/ns/p?port=", 'query parameter "port" cannot be empty'],
  ["/portForward/ns/p?port=80,http", 'unable to parse "80,http" as a port'],
  ["/portForward/ns/p?port=65536", 'unable to parse "65536" as a port'],
  ["/portForward/ns/p?port=-1", 'unable to parse "-1" as a port'],
  ["/portForward/ns/p?port=0", 'port "0" must be > 0'],
  [`/portForward/ns/p?port=${"1,".repeat(128)}1`, "names 129 ports, at most 128"],
])("%s is refused: %s", (url, words) => {
  expect(() => portForwardPorts(request(url))).toThrow(words);
});

test("SPDY, alone or within a WebSocket, needs no ports in the query", () => {
  expect(portForwardPorts({ url: "/portForward/ns/p", headers: { connection: "Upgrade", upgrade: "SPDY/3.1" } })).toEqual([]);
  expect(portForwardPorts(request("/portForward/ns/p", "SPDY/3.1+portforward.k8s.io"))).toEqual([]);
});
