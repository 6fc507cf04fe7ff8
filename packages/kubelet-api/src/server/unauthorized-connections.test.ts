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

/** As many connections of an address, each admitted. */
function admitted(connections: UnauthorizedConnections, addresses: readonly string[]): FakeSocket[] {
  return addresses.map((address) => {
    const socket = connection(address);
    connections.add(socket);
    return socket;
  });
}

const ended = (sockets: readonly FakeSocket[]): readonly boolean[] => sockets.map((socket) => socket.ended);

test("an address may have so many connections on which nobody was let in; for one more the oldest ends, and others' are not concerned", () => {
  const connections = new UnauthorizedConnections(2);
  const sockets = admitted(connections, ["10.0.0.2", "10.0.0.1", "10.0.0.1"]);

  expect(connections.add(connection("10.0.0.1"))).toBe(true);

  expect(ended(sockets)).toEqual([false, true, false]);
  expect(connections.add(connection("10.0.0.2"))).toBe(false);
});

test("where somebody was let in is no stranger's connection, and neither is one that has ended", () => {
  const connections = new UnauthorizedConnections(2);
  const [known, gone] = admitted(connections, ["10.0.0.1", "10.0.0.1"]);

  connections.delete(known!);
  gone?.emit("close");
  const sockets = admitted(connections, ["10.0.0.1", "10.0.0.1"]);

  expect(ended([known!, ...sockets])).toEqual([false, false, false]);
});

test("who is let in is known by address and port, for TLS has a socket of its own", () => {
  const connections = new UnauthorizedConnections(1);
  const socket = connection("10.0.0.1", 7);
  connections.add(socket);

  connections.delete(connection("10.0.0.1", 7));

  expect(connections.add(connection("10.0.0.1"))).toBe(false);
  expect(socket.ended).toBe(false);
});

test("a connection that ends late does not take the place of the next one on its port", () => {
  const connections = new UnauthorizedConnections(1);
  const [first, second] = [connection("10.0.0.1", 7), connection("10.0.0.1", 7)];
  connections.add(first);
  connections.add(second);

  first.emit("close");

  expect(connections.add(connection("10.0.0.1"))).toBe(true);
  expect(second.ended).toBe(true);
});

test("whose address is not known is a stranger as any other", () => {
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
])("of IPv6 a network of 64 bits is one address: %s and %s", (one, other, isOne) => {
  const connections = new UnauthorizedConnections(1);
  connections.add(connection(one));

  expect(connections.add(connection(other))).toBe(isOne);
});

test("the oldest of all can be ended, as long as there is one", () => {
  const connections = new UnauthorizedConnections(5);
  const sockets = admitted(connections, ["10.0.0.1", "10.0.0.2"]);

  expect([connections.evictOldest(), ended(sockets)]).toEqual([true, [true, false]]);
  expect([connections.evictOldest(), connections.evictOldest()]).toEqual([true, false]);
});
