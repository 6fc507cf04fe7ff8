import type { ClaimedVolume, ClaimedVolumeSource, Pod } from "@virtual-kubelet/core";
import { isUnsupported, UnavailableError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { contextOf, homePod } from "../test-support/translation.ts";
import { readFarVolumeSources } from "./read-far-volume-sources.ts";

const { signal } = new AbortController();
const provisioner = "kubernetes.virtual-kubelet.io";
const ours: ClaimedVolumeSource = { kind: "flexVolume", driver: provisioner, options: { namespace: "far", claim: "data-abc" } };

/** A pod whose volume `data` is a claim. */
const pod: Pod = homePod({
  volumes: [
    { name: "cache", emptyDir: {} },
    { name: "data", persistentVolumeClaim: { claimName: "data" } },
  ],
});

function volumeOf(source: ClaimedVolumeSource, parts: Partial<ClaimedVolume> = {}): ClaimedVolume {
  const claim = { namespace: "shop", name: "data", uid: "uid-of-data" };
  return { name: "pvc-1", claim, source, accessModes: ["ReadWriteOnce"], isReadOnly: false, mountOptions: [], ...parts };
}

async function sourceOf(volume: ClaimedVolume): Promise<unknown> {
  return (await readFarVolumeSources(pod, { claimedVolume: () => Promise.resolve(volume) }, contextOf(), signal)).get("data");
}

test("a claim of the provisioner is the far claim, read-only if the home volume is", async () => {
  expect(await sourceOf(volumeOf(ours))).toEqual({ persistentVolumeClaim: { claimName: "data-abc" } });
  expect(await sourceOf(volumeOf(ours, { isReadOnly: true }))).toEqual({
    persistentVolumeClaim: { claimName: "data-abc", readOnly: true },
  });
});

test("a claim that is bound to an NFS share is that share", async () => {
  const nfs = { kind: "nfs", server: "192.0.2.7", path: "/export" } as const;

  expect(await sourceOf(volumeOf(nfs, { isReadOnly: true }))).toEqual({ nfs: { server: "192.0.2.7", path: "/export", readOnly: true } });
});

test.each<[string, ClaimedVolume, string]>([
  ["a folder of a home node", volumeOf({ kind: "hostPath", path: "/data", type: "" }), "a hostPath volume of the home cluster"],
  [
    "a volume of a CSI driver",
    volumeOf({ kind: "other", type: "csi", driver: "ebs.csi.aws.com" }),
    "of type csi with the driver ebs.csi.aws.com",
  ],
  ["a volume of another provider", volumeOf({ ...ours, driver: "nomad.virtual-kubelet.io" }), "with the driver nomad.virtual-kubelet.io"],
  ["a far claim of another far namespace", volumeOf({ ...ours, options: { namespace: "other", claim: "x" } }), "in namespace other"],
  [
    "an NFS share with mount options",
    volumeOf({ kind: "nfs", server: "192.0.2.7", path: "/export" }, { mountOptions: ["nfsvers=4.1"] }),
    "mountOptions nfsvers=4.1",
  ],
])("%s is refused, with the field's path", async (_, volume, message) => {
  const refusal = sourceOf(volume);

  await expect(refusal).rejects.toSatisfy(isUnsupported);
  await expect(refusal).rejects.toMatchObject({ fieldPath: "spec.volumes[1].persistentVolumeClaim" });
  await expect(refusal).rejects.toThrow(message);
});

test("a claim that is not bound yet lets the pod wait", async () => {
  const resolved = { claimedVolume: () => Promise.reject(new UnavailableError("PVC is not bound")) };

  await expect(readFarVolumeSources(pod, resolved, contextOf(), signal)).rejects.toThrow("PVC is not bound");
});

test("without a cluster, as in a plan, the far claim is a placeholder", async () => {
  const volumes = await readFarVolumeSources(homePod({ volumes: [{ name: "data", ephemeral: {} }] }), {}, contextOf(), signal);

  expect(volumes.get("data")).toEqual({ persistentVolumeClaim: { claimName: "{far claim of volume data}" } });
});
