import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { IdleConnections } from "./idle-connections.ts";

test("the connection that has been idle longest is closed first", () => {
  const idle = new IdleConnections();
  const [first, second] = [new PassThrough(), new PassThrough()];
  for (const connection of [first, second, first]) idle.idle(connection);

  expect(idle.evictOldest()).toBe(true);
  expect([first.destroyed, second.destroyed]).toEqual([false, true]);
  expect(idle.evictOldest()).toBe(true);
  expect(idle.evictOldest()).toBe(false);
});

test("a busy connection is not closed", () => {
  const idle = new IdleConnections();
  const connection = new PassThrough();
  idle.idle(connection);
  idle.busy(connection);

  expect(idle.evictOldest()).toBe(false);
  expect(connection.destroyed).toBe(false);
});

test("a closed connection does not count as idle, whether it closed before or after it became idle", async () => {
  const idle = new IdleConnections();
  const [before, after] = [new PassThrough(), new PassThrough()];
  before.destroy();
  await once(before, "close");
  idle.idle(before);
  idle.idle(after);
  after.destroy();
  await once(after, "close");

  expect(idle.evictOldest()).toBe(false);
});
