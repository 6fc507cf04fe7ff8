import assert from "node:assert/strict";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { check, type Check } from "../check.ts";
import { ProviderRig } from "../provider-rig.ts";
import { isTime } from "../status-rules.ts";
import { suiteOwner } from "../suite-host.ts";

/** Identity and owner of pods. */
export const identityChecks: readonly Check[] = [
  check("identity", "every report of a pod has its namespace, name and UID", async (rig) => {
    const ref = await rig.run();
    const another = "tells of a pod with another namespace, name or UID";
    assert.deepEqual((await rig.provider.getPod(ref, rig.signal)).ref, ref, `getPod ${another}`);
    const { pods } = await rig.provider.getPods(rig.signal);
    assert.deepEqual(pods.find((pod) => pod.ref.uid === ref.uid)?.ref, ref, `getPods ${another}`);
    for (const update of rig.told(ref)) assert.deepEqual(update.ref, ref, `a report ${another}`);
  }),
  check("identity", "another UID under a pod's name is not found, and deleting it does not affect the pod", async (rig) => {
    const ref = await rig.run();
    const other = { ...ref, uid: "00000000-0000-4000-8000-000000000001" };
    await assert.rejects(rig.provider.getPod(other, rig.signal), (error) => isNotFound(error));
    await assert.rejects(rig.provider.getPodStatus(other, rig.signal), (error) => isNotFound(error));
    await rig.delete(other, 0);
    assert.equal((await rig.status(ref)).phase, "Running");
  }),
  check("identity", "a new pod of the same name runs while the old one ends, and outlives it", async (rig) => {
    const name = "created-anew";
    const old = await rig.runStubborn({ name });
    await rig.delete(old, 3);
    const fresh = await rig.run({ name });
    assert.notEqual(fresh.uid, old.uid);
    await rig.untilGone(old, 3000 + rig.timeouts.endMs);
    assert.equal((await rig.status(fresh)).phase, "Running", "the new pod was taken down with the old one");
    const { uids } = await rig.inventory();
    assert.deepEqual([uids.includes(fresh.uid), uids.includes(old.uid)], [true, false]);
  }),
  check("ownership", "a pod at the back end is tagged with cluster and node, and has its creation time", async (rig) => {
    const beforeMs = rig.clock.now();
    const ref = await rig.run();
    const { pods } = await rig.provider.getPods(rig.signal);
    const listed = pods.find((pod) => pod.ref.uid === ref.uid);
    for (const pod of [listed, await rig.provider.getPod(ref, rig.signal)]) {
      assert.deepEqual(pod?.owner, suiteOwner, "owner must be the tag found on the back-end object: clusterId and nodeName of the host");
      assert.ok(pod.createdAt !== undefined, "createdAt is missing: keep it in the tag where the back end does not tell it");
      assert.ok(isTime(pod.createdAt), `createdAt is ${pod.createdAt}, expected a time of RFC 3339`);
      // Clocks of back ends differ.
      assert.ok(Math.abs(Date.parse(pod.createdAt) - beforeMs) < 300_000, `createdAt is ${pod.createdAt}, minutes from when it was made`);
    }
  }),
  check("ownership", "another node's provider neither lists the pod as its own nor deletes it", async (rig) => {
    const ref = await rig.run();
    await using other = await ProviderRig.open(rig.options, "conformance-other-node");
    const { pods } = await other.provider.getPods(other.signal);
    assert.ok(
      !pods.some((pod) => pod.ref.uid === ref.uid && pod.owner.nodeName !== suiteOwner.nodeName),
      "another node's provider claims the pod",
    );
    assert.equal((await rig.status(ref)).phase, "Running");
  }),
];
