import { VirtualClock } from "@virtual-kubelet/clock";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test, vi } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { SizeWatch, type LimitedFolder } from "./size-watch.ts";

/** A watch of what a test names, that looks every second. */
function watchRig(): { clock: VirtualClock; folders: LimitedFolder[]; watch: SizeWatch; look: () => Promise<void> } {
  const clock = new VirtualClock();
  const folders: LimitedFolder[] = [];
  const watch = new SizeWatch({ clock, logger: silentLogger, intervalMs: 1_000, folders: () => folders });
  const looks = vi.spyOn(clock, "setTimer");
  const due = (): number => looks.mock.calls.filter(([ms]) => ms === 1_000).length;
  // du takes real time; a look is over when the next one is due.
  const look = async (): Promise<void> => {
    const before = due();
    await clock.advance(1_000);
    await vi.waitFor(() => expect(due()).toBeGreaterThan(before), 30_000);
  };
  return { clock, folders, watch, look };
}

test("it is idle while nothing has a limit, and looks from time to time once something has", async () => {
  await using folder = await tempFolder();
  await writeFile(join(folder.path, "file"), Buffer.alloc(100 * 1024, 1));
  const { clock, folders, watch, look } = watchRig();
  watch.wake();
  expect(clock.pending).toBe(0);
  let exceeded = 0;
  folders.push({ path: folder.path, limitBytes: 50 * 1024, onExceeded: () => exceeded++ });
  watch.wake();
  watch.wake();
  expect(clock.pending).toBe(1);
  await clock.advance(999);
  expect(exceeded).toBe(0);
  await look();
  await look();
  expect(exceeded).toBe(2);

  folders.length = 0;
  await clock.advance(1_000);
  await vi.waitFor(() => expect(clock.pending).toBe(0), 30_000);
  expect(exceeded).toBe(2);
  watch[Symbol.dispose]();
});

test("a folder that is gone, or is as large as it may be, is within its limit", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "gone");
  const { folders, watch, look } = watchRig();
  let exceeded = 0;
  folders.push(
    { path, limitBytes: 0, onExceeded: () => exceeded++ },
    { path: folder.path, limitBytes: 2 ** 40, onExceeded: () => exceeded++ },
  );
  watch.wake();
  await look();

  expect(exceeded).toBe(0);
  watch[Symbol.dispose]();
});

test("once it is disposed it looks no more, whoever wakes it", () => {
  const { clock, folders, watch } = watchRig();
  folders.push({ path: "/", limitBytes: 1, onExceeded: () => {} });
  watch.wake();

  watch[Symbol.dispose]();
  watch.wake();

  expect(clock.pending).toBe(0);
});
