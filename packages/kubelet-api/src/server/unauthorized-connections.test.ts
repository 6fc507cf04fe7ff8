import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { UnauthorizedConnections } from "./unauthorized-connections.ts";

let lastPort = 0;

type FakeSocket = Socket & { ended: boolean };

function connection(remoteAddress: string, remotePort: number = ++lastPort): FakeSocket {
  const socket = Object.assign(new EventEmitter(), {
    remoteAddress,
    remotePort,
    ended: false,
    destroy: () => {
      socket.ended = true;
      socket.emit("close");
    },
  });
  return socket as unknown as FakeSocket;
}

/** Connections from these addresses, each added in order. */
function admitted(connections: UnauthorizedConnections, addresses: readonly string[]): FakeSocket[] {
  return addresses.map((address) => {
    const socket = connection(address);
    connections.add(socket);
    return socket;
  });
}

const ended = (sockets: readonly FakeSocket[]): readonly boolean[] => sockets.map((socket) => socket.ended);

test("if an address has too many unauthorized connections, its oldest one is closed, and no other address is affected", () => {
  const connections = new UnauthorizedConnections(2);
  const sockets = admitted(connections, ["10.0.0.2", "10.0.0.1", "10.0.0.1"]);

  expect(connections.add(connection("10.0.0.1"))).toBe(true);

  expect(ended(sockets)).toEqual([false, true, false]);
  expect(connections.add(connection("10.0.0.2"))).toBe(false);
});

test("neither an authorized nor a closed connection counts", () => {
  const connections = new UnauthorizedConnections(2);
  const [known, gone] = admitted(connections, ["10.0.0.1", "10.0.0.1"]);

  connections.delete(known!);
  gone?.emit("close");
  const sockets = admitted(connections, ["10.0.0.1", "10.0.0.1"]);

  expect(ended([known!, ...sockets])).toEqual([false, false, false]);
});

test("a connection is identified by address and port, because its TLS socket is another object", () => {
  const connections = new UnauthorizedConnections(1);
  const socket = connection("10.0.0.1", 7);
  connections.add(socket);

  connections.delete(connection("10.0.0.1", 7));

  expect(connections.add(connection("10.0.0.1"))).toBe(false);
  expect(socket.ended).toBe(false);
});

test("the late end of a connection does not remove the next one on the same port", () => {
  const connections = new UnauthorizedConnections(1);
  const [first, second] = [connection("10.0.0.1", 7), connection("10.0.0.1", 7)];
  connections.add(first);
  connections.add(second);

  first.emit("close");

  expect(connections.add(connection("10.0.0.1"))).toBe(true);
  expect(second.ended).toBe(true);
});

test("connections without a known address count as one address", () => {
  const connections = new UnauthorizedConnections(1);
  const unknown = (): Socket => Object.assign(connection(""), { remoteAddress: undefined });

  expect([connections.add(unknown()), connections.add(unknown())]).toEqual([false, true]);
});

test.each([
  ["2001:db8::1", "2001:db8::ffff:2", true],
  ["2001:db8:0:0:1::1", "2001:db8::2", true],
  ["2001:db8:0:1::1", "2001:db8::1", false],
  ["fe80::1", "fe80::2", true],
  ["::ffff:10.0.0.1", "::ffff:10.0.0.2", false],
])("an IPv6 network of 64 bits counts as one address: %s and %s", (one, other, isOne) => {
  const connections = new UnauthorizedConnections(1);
  connections.add(connection(one));

  expect(connections.add(connection(other))).toBe(isOne);
});

test("the oldest connection of all can be closed, as long as there is one", () => {
  const connections = new UnauthorizedConnections(5);
  const sockets = admitted(connections, ["10.0.0.1", "10.0.0.2"]);

  expect([connections.evictOldest(), ended(sockets)]).toEqual([true, [true, false]]);
  expect([connections.evictOldest(), connections.evictOldest()]).toEqual([true, false]);
});
