import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { Strangers } from "./strangers.ts";

let lastPort = 0;

function connection(remoteAddress: string, remotePort: number = ++lastPort): Socket {
  return Object.assign(new EventEmitter(), { remoteAddress, remotePort }) as unknown as Socket;
}

test("an address may have so many connections on which nobody was let in; others are not concerned", () => {
  const strangers = new Strangers(2);
  const [first, second] = [connection("10.0.0.1"), connection("10.0.0.1")];

  expect([strangers.admit(first), strangers.admit(second), strangers.admit(connection("10.0.0.1"))]).toEqual([true, true, false]);
  expect(strangers.admit(connection("10.0.0.2"))).toBe(true);

  strangers.letIn(first);
  expect([strangers.admit(connection("10.0.0.1")), strangers.admit(connection("10.0.0.1"))]).toEqual([true, false]);

  second.emit("close");
  first.emit("close");
  expect([strangers.admit(connection("10.0.0.1")), strangers.admit(connection("10.0.0.1"))]).toEqual([true, false]);
});

test("who is let in is known by address and port, for TLS has a socket of its own", () => {
  const strangers = new Strangers(1);
  strangers.admit(connection("10.0.0.1", 7));

  strangers.letIn(connection("10.0.0.1", 7));

  expect(strangers.admit(connection("10.0.0.1"))).toBe(true);
});

test("a connection that ends late does not take the count of the next one on its port", () => {
  const strangers = new Strangers(2);
  const [first, second] = [connection("10.0.0.1", 7), connection("10.0.0.1", 7)];
  strangers.admit(first);
  strangers.admit(second);

  first.emit("close");
  expect([strangers.admit(connection("10.0.0.1")), strangers.admit(connection("10.0.0.1"))]).toEqual([true, false]);

  strangers.letIn(second);
  expect(strangers.admit(connection("10.0.0.1"))).toBe(true);
});

test("whose address is not known is a stranger as any other", () => {
  const strangers = new Strangers(1);
  const unknown = (): Socket => Object.assign(new EventEmitter(), {}) as unknown as Socket;

  expect([strangers.admit(unknown()), strangers.admit(unknown())]).toEqual([true, false]);
});

test("who is let in twice, or was never admitted, makes no room for others", () => {
  const strangers = new Strangers(2);
  const [first, second] = [connection("10.0.0.1"), connection("10.0.0.1")];
  strangers.admit(first);
  strangers.admit(second);

  strangers.letIn(first);
  strangers.letIn(first);
  first.emit("close");
  strangers.letIn(connection("10.0.0.1"));

  expect([strangers.admit(connection("10.0.0.1")), strangers.admit(connection("10.0.0.1"))]).toEqual([true, false]);
});
