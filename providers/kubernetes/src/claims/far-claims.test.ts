import type { ReleasedVolume, VolumeWish } from "@virtual-kubelet/core";
import { isConflict, isForbidden, isInvalidInput } from "@virtual-kubelet/errdefs";
import { resources, type PersistentVolumeClaim } from "@virtual-kubelet/kube-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startCarryRig, type CarryRig } from "../test-support/carry-rig.ts";
import { FarClaims } from "./far-claims.ts";

const { signal } = new AbortController();
const wish: VolumeWish = {
  name: "pvc-uid-of-data",
  provisioner: "kubernetes.virtual-kubelet.io",
  claim: { namespace: "shop", name: "data", uid: "uid-of-data" },
  parameters: {},
  accessModes: ["ReadWriteOnce"],
  storage: "10Gi",
  storageClassName: "far",
};
let rig: CarryRig;

beforeEach(async () => {
  rig = await startCarryRig();
});
afterEach(() => rig[Symbol.asyncDispose]());

async function farClaims(): Promise<readonly PersistentVolumeClaim[]> {
  return (await rig.client.list(resources.persistentVolumeClaims, {}, { signal })).items;
}

/** The volume of {@link wish}, whose claim is gone. */
async function released(claims: FarClaims): Promise<ReleasedVolume> {
  const source = await claims.provisionVolume(wish, signal);
  const { name, provisioner, claim } = wish;
  return { name, provisioner, claim, source };
}

describe("a home claim becomes a far claim", () => {
  test("of the same size and access modes, which no garbage collection removes", async () => {
    await using node = rig.open();
    const source = await new FarClaims(node.node).provisionVolume(wish, signal);

    const [claim, ...others] = await farClaims();
    expect(others).toEqual([]);
    expect(claim).toMatchObject({
      metadata: {
        namespace: "far",
        labels: { "virtual-kubelet.io/cluster": "home", "virtual-kubelet.io/node": "virtual" },
        annotations: { "virtual-kubelet.io/copy-of": "shop/data", "virtual-kubelet.io/copy-version": "uid-of-data" },
      },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "10Gi" } }, volumeMode: "Filesystem" },
    });
    expect(claim?.metadata).not.toHaveProperty("ownerReferences");
    expect(claim?.spec).not.toHaveProperty("storageClassName");
    expect(source).toEqual({ kind: "flexVolume", driver: wish.provisioner, options: { namespace: "far", claim: claim?.metadata?.name } });
  });

  test.each([
    ["the configuration names for the home class", { claims: { storageClasses: { far: "fast" } } }, { storageClassName: "slow" }, "fast"],
    ["the home class has as its parameter", {}, { storageClassName: "slow" }, "slow"],
  ])("of the storage class that %s", async (_, config, parameters, expected) => {
    await using node = rig.open({ config });

    await new FarClaims(node.node).provisionVolume({ ...wish, parameters }, signal);

    expect((await farClaims())[0]?.spec).toMatchObject({ storageClassName: expected });
  });

  test("once, also if the first answer was lost", async () => {
    await using node = rig.open();
    const claims = new FarClaims(node.node);
    using _lost = rig.server.faults.inject(
      { verb: "create", resource: "persistentvolumeclaims", times: 1 },
      { kind: "reset", forward: true },
    );

    await expect(claims.provisionVolume(wish, signal)).rejects.toThrow();
    await claims.provisionVolume(wish, signal);

    expect(await farClaims()).toHaveLength(1);
  });

  test("but not one that somebody else has made under its name", async () => {
    await using node = rig.open();
    const claims = new FarClaims(node.node);
    await claims.provisionVolume(wish, signal);
    const name = (await farClaims())[0]?.metadata?.name ?? "";
    const patch = { type: "merge", body: { metadata: { annotations: { "virtual-kubelet.io/copy-of": "other/data" } } } } as const;
    await rig.client.patch(resources.persistentVolumeClaims, { namespace: "far", name }, patch, { signal });

    await expect(claims.provisionVolume(wish, signal)).rejects.toSatisfy(isConflict);
  });

  test.each([
    ["an unknown parameter", { parameters: { type: "gp3" } }, "the parameters type are not known"],
    ["no size", { storage: undefined }, "spec.resources.requests.storage"],
  ])("never with %s", async (_, parts, message) => {
    await using node = rig.open();
    const refusal = new FarClaims(node.node).provisionVolume({ ...wish, ...parts }, signal);

    await expect(refusal).rejects.toSatisfy(isInvalidInput);
    await expect(refusal).rejects.toThrow(message);
  });
});

describe("the far claim of a released volume", () => {
  test("is deleted, and a second time that is no error", async () => {
    await using node = rig.open();
    const claims = new FarClaims(node.node);
    const volume = await released(claims);

    await claims.removeVolume(volume, signal);
    await claims.removeVolume(volume, signal);

    // The far cluster's own protection of claims in use has the last word.
    expect((await farClaims()).filter(({ metadata }) => metadata?.deletionTimestamp === undefined)).toEqual([]);
  });

  test("stays while any far pod uses it", async () => {
    await using node = rig.open();
    const claims = new FarClaims(node.node);
    const volume = await released(claims);
    const claimName = (await farClaims())[0]?.metadata?.name ?? "";
    const spec = {
      containers: [{ name: "main", image: "nginx:1" }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
    };
    await rig.client.create(resources.pods, { metadata: { namespace: "far", name: "foreign" }, spec }, { signal });

    await expect(claims.removeVolume(volume, signal)).rejects.toThrow("far pod foreign still uses it");
    expect(await farClaims()).toHaveLength(1);
  });

  test.each([
    ["of another home claim", { claim: { namespace: "shop", name: "data", uid: "another-uid" } }],
    ["that no PersistentVolume names", { source: { kind: "nfs", server: "192.0.2.7", path: "/" } as const }],
  ])("%s is never deleted", async (_, parts) => {
    await using node = rig.open();
    const claims = new FarClaims(node.node);
    const volume = await released(claims);

    await expect(claims.removeVolume({ ...volume, ...parts }, signal)).rejects.toSatisfy(isConflict);
    expect(await farClaims()).toHaveLength(1);
  });

  test("of another node is never deleted", async () => {
    await using node = rig.open();
    await using other = rig.open({ nodeName: "other" });
    const volume = await released(new FarClaims(node.node));

    await expect(new FarClaims(other.node).removeVolume(volume, signal)).rejects.toSatisfy(isConflict);
    expect(await farClaims()).toHaveLength(1);
  });

  test("stays, and it is tried again, while the far cluster does not list its pods", async () => {
    await using node = rig.open();
    const claims = new FarClaims(node.node);
    const volume = await released(claims);
    using _denied = rig.server.faults.inject({ verb: "list", resource: "pods" }, { kind: "status", status: 403 });

    await expect(claims.removeVolume(volume, signal)).rejects.toSatisfy(isForbidden);
    expect(await farClaims()).toHaveLength(1);
  });
});
