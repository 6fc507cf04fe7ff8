import { expect, test } from "vitest";
import { RuntimePresence } from "./runtime-presence.ts";

const { signal } = new AbortController();

test("a runtime is there until it leaves, and an absence is seen by whoever watched before or in the midst of it", async () => {
  const presence = new RuntimePresence();
  await presence.untilBack(signal);
  const before = presence.watch();
  expect(before()).toBe(false);
  presence.leave();
  presence.leave();
  const amid = presence.watch();
  presence.comeBack();
  presence.comeBack();

  expect([before(), amid(), presence.watch()()]).toEqual([true, true, false]);
});

test("who waits for a runtime that is away goes on when it is back, or is aborted", async () => {
  const presence = new RuntimePresence();
  presence.leave();
  const end = new AbortController();
  const aborted = presence.untilBack(end.signal);
  const waiting = presence.untilBack(signal).then(() => "back");
  end.abort(new Error("no longer"));
  await expect(aborted).rejects.toThrow("no longer");
  await expect(presence.untilBack(end.signal)).rejects.toThrow("no longer");
  presence.comeBack();

  expect(await waiting).toBe("back");
});
