import { VirtualClock } from "@virtual-kubelet/clock";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { ownerLabels, podLabels } from "../runtime/labels.ts";
import { FakeRuntime } from "../test-support/fake-runtime.ts";
import { podWith } from "../test-support/pod-rig.ts";
import { GarbageCollector } from "./garbage-collector.ts";

const owner = { clusterId: "c1", nodeName: "n1" };
const never = new AbortController().signal;

/** Folders of pods, by UID. */
class FakeFolders {
  readonly uids: Set<string>;

  constructor(...uids: readonly string[]) {
    this.uids = new Set(uids);
  }

  async sweep(isKnown: (uid: string) => boolean | Promise<boolean>): Promise<readonly string[]> {
    const removed: string[] = [];
    for (const uid of [...this.uids]) if (!(await isKnown(uid))) removed.push(uid);
    for (const uid of removed) this.uids.delete(uid);
    return removed;
  }
}

function rigOf(
  known: ReadonlySet<string> | undefined,
  folders = new FakeFolders("known", "running", "gone"),
  info: typeof silentLogger.info = silentLogger.info,
) {
  const clock = new VirtualClock();
  const runtime = new FakeRuntime(clock);
  const cgroups = new FakeFolders("known", "running", "gone");
  const rig = { clock, runtime, folders, cgroups, known };
  const collector = new GarbageCollector({
    runtime,
    labels: ownerLabels(owner),
    volumes: folders,
    cgroups,
    clock,
    logger: { ...silentLogger, info },
    isListed: () => rig.known !== undefined,
    isKnown: (uid) => rig.known?.has(uid) ?? false,
  });
  return Object.assign(rig, { collector });
}

async function run(runtime: FakeRuntime, uid: string, by = owner): Promise<void> {
  const pod = podWith({});
  await runtime.createSandbox({ labels: podLabels({ namespace: "default", name: uid, uid }, by, 0), hostname: uid, hosts: [], pod });
}

test("folders and cgroups that neither the API server nor the runtime knows are removed", async () => {
  const { collector, runtime, folders, cgroups } = rigOf(new Set(["known"]));
  await run(runtime, "running");

  expect(await collector.sweepFolders(never)).toEqual(["gone"]);
  expect([...folders.uids]).toEqual(["known", "running"]);
  expect([...cgroups.uids]).toEqual(["known", "running"]);
});

test("folders of pods that run for another node with the same root are kept", async () => {
  const { collector, runtime, folders } = rigOf(new Set(["known"]));
  await run(runtime, "running", { clusterId: "c1", nodeName: "n2" });

  expect(await collector.sweepFolders(never)).toEqual(["gone"]);
  expect([...folders.uids]).toEqual(["known", "running"]);
});

test("nothing is removed before the API server's pods were listed, or if the runtime does not answer", async () => {
  const rig = rigOf(undefined);
  expect(await rig.collector.sweepFolders(never)).toEqual([]);

  rig.known = new Set();
  rig.runtime.failNext("list");
  await expect(rig.collector.sweepFolders(never)).rejects.toThrow("the runtime is away");

  expect(rig.folders.uids.size).toBe(3);
});

test("it sweeps every minute, continues after a failure, and ends when aborted", async () => {
  const { collector, clock, runtime, folders } = rigOf(new Set(["known", "running"]));
  const stop = new AbortController();
  const done = collector.run(stop.signal);
  runtime.failNext("list");

  await clock.advance(60_000);
  expect(folders.uids.has("gone")).toBe(true);
  await clock.advance(60_000);
  expect(folders.uids.has("gone")).toBe(false);

  stop.abort(new Error("enough"));
  await expect(done).rejects.toThrow("enough");
});

test("a pod that becomes known during the request to the runtime keeps its folder", async () => {
  const rig = rigOf(new Set(["known", "running"]));
  const list = rig.runtime.list.bind(rig.runtime);
  rig.runtime.list = async (labels) => {
    if ("io.kubernetes.pod.uid" in labels) rig.known = new Set(["known", "running", "gone"]);
    return list(labels);
  };

  expect(await rig.collector.sweepFolders(never)).toEqual([]);
});

test("a pod of which the runtime holds only a container keeps its folder", async () => {
  const rig = rigOf(new Set(["known"]));
  await run(rig.runtime, "running");
  const labels = [...rig.runtime.sandboxes.values()][0]?.labels ?? {};
  rig.runtime.sandboxes.clear();
  rig.runtime.containers.set("c1", { id: "c1", sandboxId: "s", labels, image: "", imageId: "", state: { kind: "created" } });

  expect(await rig.collector.sweepFolders(never)).toEqual(["gone"]);
});

test("removals are logged, and a sweep without any is not", async () => {
  const said: string[] = [];
  const rig = rigOf(new Set(["known", "running"]), undefined, (_: unknown, message: string) => void said.push(message));
  await rig.collector.sweepFolders(never);
  expect(said).toEqual(["folders of pods that are gone were removed", "cgroups of pods that are gone were removed"]);

  await rig.collector.sweepFolders(never);

  expect(said).toHaveLength(2);
});
