import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { payloadOf } from "../test-support/fake-resolved-pod.ts";
import { tempFolder } from "../test-support/temp-folder.ts";
import { writePayload, type PayloadTarget } from "./atomic-payload.ts";

function targetAt(path: string, options: Partial<PayloadTarget> = {}): PayloadTarget {
  return { path, clock: new VirtualClock(), random: new SeededRandom(1), ...options };
}

test("fsGroup owns and may read all files; a single file may have a user of its own", async () => {
  await using folder = await tempFolder();

  await writePayload(targetAt(folder.path, { fsGroup: 4242 }), payloadOf({ "a/key": { mode: 0o400 }, token: { mode: 0o600, uid: 1001 } }));

  const [key, token, within] = await Promise.all(["a/key", "token", "a"].map((name) => stat(join(folder.path, name))));
  expect(key).toMatchObject({ uid: 0, gid: 4242, mode: 0o100_440 });
  expect(token).toMatchObject({ uid: 1001, gid: 4242, mode: 0o100_640 });
  expect(within).toMatchObject({ gid: 4242, mode: 0o42_755 });
});

test("a different owner or group is a change, and the same is not", async () => {
  await using folder = await tempFolder();
  const write = (fsGroup: number | undefined, uid?: number): Promise<boolean> =>
    writePayload(targetAt(folder.path, { fsGroup, random: new SeededRandom((fsGroup ?? 0) + (uid ?? 0)) }), payloadOf({ key: { uid } }));

  expect([await write(undefined), await write(4242), await write(4242), await write(4242, 7), await write(4242, 7)]).toEqual([
    true,
    true,
    false,
    true,
    false,
  ]);
});
