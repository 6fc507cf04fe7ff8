import { VirtualClock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { ObjectMeta } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import type { Content } from "./content.ts";
import { FarCopy } from "./far-copy.ts";
import { copyOf } from "./far-object.ts";
import type { Stored } from "./far-writer.ts";

const { signal } = new AbortController();
const owner = { clusterId: "home", nodeName: "virtual" };

/** A copy, a home object at version `v1`, and a far API server whose answers a test gives. */
class Rig {
  version = "v1";
  listed: ObjectMeta | undefined;
  readonly writes: { readonly version: string; readonly answer: PromiseWithResolvers<Stored> }[] = [];
  readonly copy: FarCopy = new FarCopy({
    object: copyOf(owner, { kind: "Secret", namespace: "shop", name: "db" }, "far"),
    owner,
    clock: new VirtualClock(),
    listed: () => this.listed,
    writer: {
      write: (_object, { version }) => {
        const answer = Promise.withResolvers<Stored>();
        this.writes.push({ version, answer });
        return answer.promise;
      },
      remove: () => Promise.resolve(true),
    },
  });

  settle(): Promise<void> {
    const read = async (): Promise<Content> => ({ version: this.version, data: {} });
    return this.copy.settle(read, signal);
  }

  /** The watch shows a change. @returns whether it is somebody else's */
  show(resourceVersion: string): boolean {
    const object = { metadata: { uid: "uid-1", resourceVersion } };
    const change = { type: "updated", uid: "uid-1", object, previous: object } as const;
    this.listed = object.metadata;
    return this.copy.onChange(change);
  }

  async answer(write: number, resourceVersion: string): Promise<void> {
    this.writes[write]?.answer.resolve({ uid: "uid-1", resourceVersion });
    await turns();
  }
}

async function turns(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

test("callers at one time share one write", async () => {
  const rig = new Rig();
  const all = Promise.all([rig.settle(), rig.settle(), rig.settle()]);
  await turns();
  await rig.answer(0, "10");
  await all;

  expect(rig.writes.map(({ version }) => version)).toEqual(["v1"]);
});

test("a change at home during a write is written after it", async () => {
  const rig = new Rig();
  const first = rig.settle();
  await turns();
  rig.version = "v2";
  const second = rig.settle();
  await turns();
  await rig.answer(0, "10");
  await rig.answer(1, "11");
  await Promise.all([first, second]);

  expect(rig.writes.map(({ version }) => version)).toEqual(["v1", "v2"]);
});

test("the watch's event of our own write changes nothing, whether it comes before or after the answer", async () => {
  const rig = new Rig();
  const first = rig.settle();
  await turns();
  rig.show("10");
  await rig.answer(0, "10");
  await first;
  rig.version = "v2";
  const second = rig.settle();
  await turns();
  await rig.answer(1, "11");
  await second;

  expect(rig.show("11")).toBe(false);
  await rig.settle();
  expect(rig.writes).toHaveLength(2);
});

test("somebody else's change during a write is written over, even if the watch shows it before the answer", async () => {
  const rig = new Rig();
  const settled = rig.settle();
  await turns();
  rig.show("10");
  rig.show("11");
  await rig.answer(0, "10");
  await rig.answer(1, "12");
  await settled;

  expect(rig.writes).toHaveLength(2);
});

test("somebody else's later change is noticed, and written over at the next call", async () => {
  const rig = new Rig();
  const first = rig.settle();
  await turns();
  await rig.answer(0, "10");
  await first;

  expect(rig.show("11")).toBe(true);
  const second = rig.settle();
  await turns();
  await rig.answer(1, "12");
  await second;
  expect(rig.writes).toHaveLength(2);
});

test("after an unclear outcome it is written again", async () => {
  const rig = new Rig();
  const first = rig.settle();
  await turns();
  await rig.answer(0, "10");
  await first;
  rig.version = "v2";
  const second = rig.settle();
  await turns();
  rig.writes[1]?.answer.reject(new UnavailableError("connection reset"));
  await expect(second).rejects.toThrow("connection reset");

  rig.version = "v1";
  const third = rig.settle();
  await turns();
  await rig.answer(2, "12");
  await third;
  expect(rig.writes.map(({ version }) => version)).toEqual(["v1", "v2", "v1"]);
});
