import { expect, test } from "vitest";
import { RuntimePresence } from "./runtime-presence.ts";

const { signal } = new AbortController();

test("an absence is seen by everybody who started to watch before or during it", async () => {
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

test("waiting for an absent runtime ends when it is back, or when aborted", async () => {
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
