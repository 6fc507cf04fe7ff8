import { EventEmitter } from "node:events";
import type { TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { Strangers } from "./strangers.ts";

function connection(remoteAddress: string): TLSSocket {
  return Object.assign(new EventEmitter(), { remoteAddress }) as unknown as TLSSocket;
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
