import { VirtualClock } from "@virtual-kubelet/clock";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test, vi } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { SizeWatch, type LimitedFolder } from "./size-watch.ts";

/** A watch of the given folders, which checks every second. */
function watchRig(): { clock: VirtualClock; folders: LimitedFolder[]; watch: SizeWatch; look: () => Promise<void> } {
  const clock = new VirtualClock();
  const folders: LimitedFolder[] = [];
  const watch = new SizeWatch({ clock, logger: silentLogger, intervalMs: 1_000, folders: () => folders });
  const looks = vi.spyOn(clock, "setTimer");
  const due = (): number => looks.mock.calls.filter(([ms]) => ms === 1_000).length;
  // du takes real time. A check has ended when the next one is scheduled.
  const look = async (): Promise<void> => {
    const before = due();
    await clock.advance(1_000);
    await vi.waitFor(() => expect(due()).toBeGreaterThan(before), 30_000);
  };
  return { clock, folders, watch, look };
}

test("it is idle while no folder has a limit, and checks at intervals once one has", async () => {
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

test("a missing folder, or one that is exactly as large as allowed, does not exceed its limit", async () => {
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

test("after its disposal nothing can start another check", () => {
  const { clock, folders, watch } = watchRig();
  folders.push({ path: "/", limitBytes: 1, onExceeded: () => {} });
  watch.wake();

  watch[Symbol.dispose]();
  watch.wake();

  expect(clock.pending).toBe(0);
});
