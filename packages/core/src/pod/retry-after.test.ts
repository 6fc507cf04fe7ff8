import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { Pod } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { NodeRig } from "../test-support/node-rig.ts";

const throttled = (): never => {
  throw new UnavailableError("too many requests", { retryAfterMs: 300_000 });
};

function label(value: string): (pod: Pod) => void {
  return (pod) => void (pod.metadata = { ...pod.metadata, labels: { value } });
}

describe("a Retry-After", () => {
  test("for an update does not put off the creation of a pod that the back end has lost", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    rig.provider.script("updatePod", throttled);
    await rig.editPod("web", label("1"));
    rig.provider.lose(ref);
    await rig.settle();

    expect(rig.callsOf("createPod web")).toBe(2);
  });

  test("for an update does not put off the question about a pod that a list lacks", async () => {
    await using rig = await new NodeRig({ provider: { notifyPods: undefined }, pods: { pollIntervalMs: 5_000 } }).start();
    const ref = await rig.createPod("web");
    await rig.settle(6_000);
    rig.provider.script("updatePod", throttled);
    await rig.editPod("web", label("1"));
    rig.provider.lose(ref, { silently: true });
    await rig.settle(6_000);

    expect([rig.callsOf("updatePod web"), rig.callsOf("getPod web"), rig.callsOf("createPod web")]).toEqual([1, 1, 2]);
  });

  test("for a creation does not put off the end of a pod that has been active for as long as it may", async () => {
    await using rig = await new NodeRig().start();
    rig.provider.script("createPod", throttled);
    await rig.createPod("web", { activeDeadlineSeconds: 10 });
    await rig.settle(12_000);

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
    expect(rig.callsOf("createPod web")).toBe(1);
  });

  test("is kept to for the operation that it was given for, whatever changes meanwhile", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web");
    rig.provider.script("updatePod", throttled);
    await rig.editPod("web", label("1"));
    await rig.editPod("web", label("2"));
    await rig.settle(299_000);
    expect(rig.callsOf("updatePod web")).toBe(1);

    await rig.settle(2_000);
    expect(rig.callsOf("updatePod web")).toBe(2);
  });

  test("for a creation is kept to although the provider is only asked about the pod first", async () => {
    await using rig = await new NodeRig().start();
    rig.provider.script("createPod", throttled);
    await rig.createPod("web");
    await rig.editPod("web", label("1"));
    await rig.settle(299_000);

    expect([rig.callsOf("createPod web"), rig.callsOf("getPod web")]).toEqual([1, 0]);
  });

  test("is cleared by a deletion", async () => {
    await using rig = await new NodeRig().start();
    rig.provider.script("createPod", throttled);
    await rig.createPod("web");
    await rig.deletePod("web", 5);
    await rig.settle();

    expect(rig.callsOf("deletePod web 5")).toBe(1);
  });
});
