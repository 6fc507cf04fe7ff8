import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { InvalidInputError, NotFoundError } from "@virtual-kubelet/errdefs";
import {
  noMetrics,
  resources,
  silentLogger,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { FakeKubeClient } from "../test-support/fake-kube-client.ts";
import type { ReleasedVolume, VolumeWish } from "../provider/volume-provisioner.ts";
import { VolumeProvisioning } from "./volume-provisioning.ts";

const provisioner = "example.com/folders";
const node: Node = { metadata: { name: "vk", labels: { "kubernetes.io/hostname": "host" } } };

/** A node that makes volumes, with a Kubernetes API in memory on a clock that stands still. */
class Rig implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly client = new FakeKubeClient(this.clock);
  readonly events: string[] = [];
  readonly wishes: VolumeWish[] = [];
  readonly removed: ReleasedVolume[] = [];
  /** What the provider's next calls throw. */
  readonly failures: Error[] = [];
  readonly #stop = new AbortController();
  #running: Promise<unknown> | undefined;

  async start(): Promise<this> {
    const { client, clock } = this;
    const fail = (): void => {
      const failure = this.failures.shift();
      if (failure) throw failure;
    };
    const provisioning = new VolumeProvisioning({
      client,
      clock,
      random: new SeededRandom(1),
      logger: silentLogger,
      metrics: noMetrics,
      recorder: { event: ({ kind, name }, type, reason, message) => void this.events.push(`${kind}/${name} ${type} ${reason} ${message}`) },
      names: [provisioner],
      node: () => node,
      provisioner: {
        provisionVolume: async (wish) => {
          this.wishes.push(wish);
          fail();
          return { kind: "local", path: `/volumes/${wish.name}` };
        },
        removeVolume: async (volume) => {
          this.removed.push(volume);
          fail();
        },
      },
    });
    this.#running = provisioning.run(this.#stop.signal).catch(() => {});
    await this.settle();
    return this;
  }

  async settle(ms = 0): Promise<void> {
    for (let turn = 0; turn < 10; turn++) await this.clock.advance(turn === 0 ? ms : 0);
  }

  putClass(change: object = {}): void {
    const storageClass = { metadata: { name: "folders" }, provisioner, volumeBindingMode: "WaitForFirstConsumer", ...change };
    this.client.put(resources.storageClasses, storageClass);
  }

  putClaim(spec: PersistentVolumeClaim["spec"] = {}, annotations: Record<string, string> = {}): PersistentVolumeClaim {
    return this.client.put(resources.persistentVolumeClaims, {
      metadata: {
        namespace: "shop",
        name: "data",
        annotations: {
          "volume.kubernetes.io/storage-provisioner": provisioner,
          "volume.kubernetes.io/selected-node": "vk",
          ...annotations,
        },
      },
      spec: { storageClassName: "folders", accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
    });
  }

  /** A volume whose claim is gone. */
  putReleased(
    change: { readonly annotations?: Record<string, string>; readonly spec?: PersistentVolume["spec"]; readonly phase?: string } = {},
  ): void {
    this.client.put(resources.persistentVolumes, {
      metadata: {
        name: "pvc-c1",
        annotations: { "pv.kubernetes.io/provisioned-by": provisioner, "virtual-kubelet.io/provisioned-on": "vk", ...change.annotations },
      },
      spec: {
        claimRef: { namespace: "shop", name: "data", uid: "c1" },
        persistentVolumeReclaimPolicy: "Delete",
        local: { path: "/volumes/pvc-c1" },
        ...change.spec,
      },
      status: { phase: change.phase ?? "Released" },
    });
  }

  get volumes(): readonly PersistentVolume[] {
    return this.client.all(resources.persistentVolumes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.settle();
    await this.#running;
  }
}

describe("a claim", () => {
  test("whose pod was scheduled here gets a volume that only this node has", async () => {
    await using rig = await new Rig().start();
    rig.putClass({ reclaimPolicy: "Retain", mountOptions: ["noatime"], parameters: { kind: "fast" } });
    const claim = rig.putClaim();
    await rig.settle();

    const name = `pvc-${claim.metadata?.uid}`;
    const of = { namespace: "shop", name: "data", uid: claim.metadata?.uid };
    expect(rig.wishes).toEqual([
      {
        name,
        provisioner,
        claim: of,
        parameters: { kind: "fast" },
        accessModes: ["ReadWriteOnce"],
        storage: "1Gi",
        storageClassName: "folders",
      },
    ]);
    expect(rig.volumes).toMatchObject([
      {
        metadata: {
          name,
          annotations: { "pv.kubernetes.io/provisioned-by": provisioner, "virtual-kubelet.io/provisioned-on": "vk" },
        },
        spec: {
          capacity: { storage: "1Gi" },
          accessModes: ["ReadWriteOnce"],
          claimRef: { kind: "PersistentVolumeClaim", apiVersion: "v1", ...of },
          persistentVolumeReclaimPolicy: "Retain",
          storageClassName: "folders",
          mountOptions: ["noatime"],
          local: { path: `/volumes/${name}` },
          nodeAffinity: {
            required: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["host"] }] }],
            },
          },
        },
      },
    ]);
    expect(rig.events).toEqual([`PersistentVolumeClaim/data Normal ProvisioningSucceeded Successfully provisioned volume ${name}`]);
  });

  test.for<[string, PersistentVolumeClaim["spec"], Record<string, string>]>([
    ["of another node", {}, { "volume.kubernetes.io/selected-node": "other" }],
    ["of another provisioner", {}, { "volume.kubernetes.io/storage-provisioner": "example.com/disks" }],
    ["that has a volume", { volumeName: "pv-1" }, {}],
  ])("%s is left alone", async ([, spec, annotations]) => {
    await using rig = await new Rig().start();
    rig.putClass();
    rig.putClaim(spec, annotations);
    await rig.settle(60_000);

    expect([rig.wishes, rig.volumes, rig.events]).toEqual([[], [], []]);
  });

  test.for<[string, object, PersistentVolumeClaim["spec"], string]>([
    ["whose class binds at once", { volumeBindingMode: "Immediate" }, {}, "volumeBindingMode is Immediate, expected WaitForFirstConsumer"],
    ["with a selector", {}, { selector: {} }, "claim Selector is not supported"],
    ["made of another one", {}, { dataSource: { kind: "PersistentVolumeClaim", name: "x" } }, "a volume cannot be made from another one"],
    ["of a block device", {}, { volumeMode: "Block" }, "spec.volumeMode: Block is not supported"],
  ])("%s is refused once, and looked at again when it changes", async ([, storageClass, spec, message]) => {
    await using rig = await new Rig().start();
    rig.putClass(storageClass);
    rig.putClaim(spec);
    await rig.settle(600_000);

    expect(rig.wishes).toEqual([]);
    expect(rig.events).toEqual([
      expect.stringContaining('Warning ProvisioningFailed failed to provision volume with StorageClass "folders": '),
    ]);
    expect(rig.events[0]).toContain(message);
    rig.putClass();
    rig.client.remove(resources.persistentVolumeClaims, "data", "shop");
    rig.putClaim();
    await rig.settle();
    expect(rig.volumes).toHaveLength(1);
  });

  test("for which the provider refuses a volume is told so; for which it fails is tried again", async () => {
    await using rig = await new Rig().start();
    rig.putClass();
    rig.failures.push(new Error("the disk is full"), new InvalidInputError("spec.accessModes: no"));
    rig.putClaim();
    await rig.settle();
    await rig.settle(5_000);
    await rig.settle(600_000);

    expect(rig.wishes).toHaveLength(2);
    expect(rig.events.map((event) => event.slice(event.indexOf('":') + 3))).toEqual(["the disk is full", "spec.accessModes: no"]);
  });

  test("whose volume was made by an answer that was lost has it, and no second one", async () => {
    await using rig = await new Rig().start();
    rig.putClass();
    let lost = true;
    using _fault = rig.client.intercept(async ({ verb, resource, body }) => {
      if (verb !== "create" || resource !== "persistentvolumes" || !lost) return;
      lost = false;
      rig.client.put(resources.persistentVolumes, body as PersistentVolume);
      throw new Error("socket hang up");
    });
    rig.putClaim();
    await rig.settle();
    await rig.settle(5_000);

    expect(rig.volumes).toHaveLength(1);
  });
});

describe("a released volume", () => {
  test("is removed at the provider, and then at the API server", async () => {
    await using rig = await new Rig().start();
    rig.failures.push(new Error("pods of this node still use it"));
    rig.putReleased();
    await rig.settle();
    expect(rig.volumes).toHaveLength(1);
    expect(rig.events).toEqual(["PersistentVolume/pvc-c1 Warning VolumeFailedDelete pods of this node still use it"]);
    await rig.settle(5_000);

    const claim = { namespace: "shop", name: "data", uid: "c1" };
    const volume = { name: "pvc-c1", provisioner, claim, source: { kind: "local", path: "/volumes/pvc-c1" } };
    expect(rig.removed).toEqual([volume, volume]);
    expect(rig.volumes).toEqual([]);
  });

  test.for<[string, Parameters<Rig["putReleased"]>[0]]>([
    ["to be kept", { spec: { persistentVolumeReclaimPolicy: "Retain" } }],
    ["of another node", { annotations: { "virtual-kubelet.io/provisioned-on": "other" } }],
    ["of another provisioner", { annotations: { "pv.kubernetes.io/provisioned-by": "example.com/disks" } }],
    ["that is still bound", { phase: "Bound" }],
    ["that is not named after its claim", { spec: { claimRef: { namespace: "shop", name: "data", uid: "c2" } } }],
  ])("%s is left alone", async ([, change]) => {
    await using rig = await new Rig().start();
    rig.putReleased(change);
    await rig.settle(600_000);

    expect([rig.removed, rig.volumes.length, rig.events]).toEqual([[], 1, []]);
  });

  test("whose claim the API server has all the same stays", async () => {
    await using rig = await new Rig().start();
    rig.client.put(resources.persistentVolumeClaims, {
      metadata: { namespace: "shop", name: "data", uid: "c1" },
      spec: { volumeName: "pvc-c1" },
    });
    rig.putReleased();
    await rig.settle(60_000);

    expect(rig.removed).toEqual([]);
    expect(rig.events[0]).toBe("PersistentVolume/pvc-c1 Warning VolumeFailedDelete its claim shop/data is there");
  });

  test.for(["persistentvolumes", "persistentvolumeclaims"])("is not removed on a 404 of somebody else about %s", async (plural) => {
    await using rig = await new Rig().start();
    using _proxy = rig.client.intercept(({ verb, resource }) => {
      if (verb === "get" && resource === plural) throw new NotFoundError("404 page not found");
    });
    rig.putReleased();
    await rig.settle(60_000);

    expect([rig.removed, rig.volumes.length]).toEqual([[], 1]);
  });

  test("that is bound again by the time it is looked at stays", async () => {
    await using rig = await new Rig().start();
    using _race = rig.client.intercept(({ verb, resource }) => {
      if (verb === "get" && resource === "persistentvolumes")
        rig.client.edit(resources.persistentVolumes, "pvc-c1", (volume) => (volume.status = { phase: "Bound" }));
    });
    rig.putReleased();
    await rig.settle(60_000);

    expect([rig.removed, rig.volumes.length]).toEqual([[], 1]);
  });
});
