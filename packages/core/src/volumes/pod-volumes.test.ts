import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { isInvalidInput, isUnsupported, ForbiddenError, isUnavailable, NotFoundError } from "@virtual-kubelet/errdefs";
import {
  noMetrics,
  Reflector,
  resource,
  resources,
  silentLogger,
  type KubernetesObject,
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type PodSpec,
} from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { waitingReasonOf } from "../env/config-error.ts";
import { FakeKubeClient } from "../test-support/fake-kube-client.ts";
import { PodSources } from "../pod-sources/pod-sources.ts";
import { PodVolumes } from "./pod-volumes.ts";
import type { VolumePayload } from "../provider/volume-payload.ts";

const { signal } = new AbortController();
const trustBundles = resource<KubernetesObject & { spec: { trustBundle: string } }>({
  group: "certificates.k8s.io",
  version: "v1",
  plural: "clustertrustbundles",
  kind: "ClusterTrustBundle",
  namespaced: false,
});
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const volumes: NonNullable<PodSpec["volumes"]> = [
  { name: "keys", secret: { secretName: "keys" } },
  { name: "labels", downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
  { name: "token", projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 600 } }] } },
  { name: "certificate", projected: { sources: [{ podCertificate: { signerName: "example.com/s", keyType: "ED25519" } }] } },
  { name: "anchors", projected: { sources: [{ clusterTrustBundle: { path: "ca", name: "one" } }] } },
  { name: "size", downwardAPI: { items: [{ path: "cpus", resourceFieldRef: { containerName: "app", resource: "limits.cpu" } }] } },
  { name: "settings", configMap: { name: "settings" } },
  { name: "scratch", emptyDir: {} },
  { name: "data", persistentVolumeClaim: { claimName: "data-web" } },
  { name: "extra", ephemeral: { volumeClaimTemplate: { spec: { accessModes: ["ReadWriteOnce"] } } } },
];

const boundClaim = (name: string): PersistentVolumeClaim => ({
  metadata: { namespace: "shop", name, uid: `uid-${name}` },
  spec: { volumeName: "pv-1" },
  status: { phase: "Bound" },
});

const volumeOf = (claim: string, spec: PersistentVolume["spec"] = {}): PersistentVolume => ({
  metadata: { name: "pv-1" },
  spec: { accessModes: ["ReadWriteOnce"], claimRef: { uid: `uid-${claim}` }, local: { path: "/mnt/1" }, ...spec },
});

/** The volumes of a pod on a Kubernetes API in memory, on a clock that stands still. */
class Rig implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly client = new FakeKubeClient(this.clock);
  readonly events: string[] = [];
  node: Node | undefined;
  chance = 0;
  readonly sources: PodSources;
  readonly pod: Pod;
  readonly volumes: PodVolumes;
  readonly #stop = new AbortController();
  readonly #reflector: Reflector<Pod>;
  #following: Disposable | undefined;

  constructor() {
    const { client, clock } = this;
    const random = { next: () => this.chance, uuid: () => "" };
    const common = { client, clock, random, logger: silentLogger, metrics: noMetrics };
    this.#reflector = new Reflector<Pod>({ ...common, random: new SeededRandom(1), resource: resources.pods });
    this.sources = new PodSources({ ...common, store: this.#reflector.store });
    this.pod = client.put(resources.pods, {
      metadata: { namespace: "shop", name: "web", labels: { app: "1" } },
      spec: { containers: [{ name: "app" }], volumes },
    });
    this.volumes = new PodVolumes(this.pod, {
      sources: this.sources,
      node: () => this.node,
      recorder: { event: ({ uid }, type, reason, message) => void this.events.push(`${uid} ${type} ${reason} ${message}`) },
      clock,
      random,
    });
  }

  async start(): Promise<this> {
    void this.#reflector.run(this.#stop.signal);
    await this.settle();
    this.#following = this.sources.follow();
    return this;
  }

  async settle(ms = 0): Promise<void> {
    for (let turn = 0; turn < 5; turn++) await this.clock.advance(turn === 0 ? ms : 0);
  }

  putSecret(value: string): void {
    this.client.put(resources.secrets, { metadata: { namespace: "shop", name: "keys" }, data: { key: base64(value) } });
  }

  editPod(change: (pod: Pod) => void): void {
    this.client.edit(resources.pods, "web", change, "shop");
  }

  /** Follows a volume; what has come, as `path=content`, grows on. */
  watch(name: string, until: AbortSignal = signal): { readonly seen: string[]; readonly ended: Promise<void> } {
    const seen: string[] = [];
    const follow = async (): Promise<void> => {
      for await (const payload of this.volumes.watchVolume(name, until)) seen.push(shown(payload));
    };
    return { seen, ended: follow() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#following?.[Symbol.dispose]();
    this.#stop.abort();
    await this.sources.close();
  }
}

function shown({ files }: VolumePayload): string {
  return files.map(({ path, content }) => `${path}=${Buffer.from(content).toString()}`).join(" ");
}

describe("a volume that is read", () => {
  test("is fetched when it is asked for, and once", async () => {
    await using rig = await new Rig().start();
    rig.putSecret("one");
    const before = rig.client.calls.length;
    expect(rig.client.callsOf("get", "secrets")).toEqual([]);

    const [first, second] = await Promise.all([rig.volumes.volume("keys", signal), rig.volumes.volume("keys", signal)]);
    rig.putSecret("two");
    await rig.settle();

    expect([shown(first), shown(second), shown(await rig.volumes.volume("keys", signal))]).toEqual(["key=one", "key=one", "key=one"]);
    expect(rig.client.callsOf("get", "secrets")).toHaveLength(1);
    expect(before).toBe(rig.client.calls.length - 2);
  });

  test("and cannot be filled makes the pod wait as a kubelet does, and is read again the next time", async () => {
    await using rig = await new Rig().start();

    const error: unknown = await rig.volumes.volume("keys", signal).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ message: 'MountVolume.SetUp failed for volume "keys" : secret "keys" not found' });
    expect(isInvalidInput(error)).toBe(true);
    expect(waitingReasonOf(error)).toBe("ContainerCreating");
    expect(rig.events).toEqual([
      `${rig.pod.metadata?.uid} Warning FailedMount MountVolume.SetUp failed for volume "keys" : secret "keys" not found`,
    ]);
    rig.putSecret("one");
    await rig.settle(1_000);
    expect(shown(await rig.volumes.volume("keys", signal))).toBe("key=one");
  });

  test("and is none, or none of the API server's, is an error that names those that are", async () => {
    await using rig = await new Rig().start();

    await expect(rig.volumes.volume("nope", signal)).rejects.toThrow(
      'read volume "nope" of pod web: there is none, expected one of keys, labels, token, certificate, anchors, size, settings',
    );
    await expect(rig.volumes.volume("scratch", signal)).rejects.toThrow("its content does not come from the API server");
    expect(rig.events).toEqual([]);
  });

  test("and is not supported says so, and is no failed mount", async () => {
    await using rig = await new Rig().start();

    const error: unknown = await rig.volumes.volume("certificate", signal).catch((thrown: unknown) => thrown);

    expect([isUnsupported(error), waitingReasonOf(error), rig.events]).toEqual([true, undefined, []]);
    await expect(rig.watch("certificate").ended).rejects.toSatisfy(isUnsupported);
  });
});

describe("a volume that is watched", () => {
  test("comes at once, and again when it has changed, but not when anything else has", async () => {
    await using rig = await new Rig().start();
    rig.putSecret("one");
    const { seen } = rig.watch("keys");
    await rig.settle();
    expect(seen).toEqual(["key=one"]);

    rig.client.edit(resources.secrets, "keys", (secret) => (secret.metadata = { ...secret.metadata, labels: { a: "b" } }), "shop");
    rig.editPod((pod) => (pod.metadata = { ...pod.metadata, labels: { app: "2" } }));
    await rig.settle();
    expect(seen).toEqual(["key=one"]);

    rig.putSecret("two");
    await rig.settle();
    expect(seen).toEqual(["key=one", "key=two"]);
  });

  test("comes as soon as it can be had, and stays as it was while it cannot", async () => {
    await using rig = await new Rig().start();
    const { seen } = rig.watch("keys");
    await rig.settle();
    expect([seen, rig.events.length]).toEqual([[], 1]);

    rig.putSecret("one");
    await rig.settle();
    rig.client.remove(resources.secrets, "keys", "shop");
    await rig.settle();
    expect([seen, rig.events.length]).toEqual([["key=one"], 2]);

    rig.putSecret("one");
    await rig.settle();
    rig.putSecret("two");
    await rig.settle();
    expect(seen).toEqual(["key=one", "key=two"]);
  });

  test("of the downward API follows the pod's labels", async () => {
    await using rig = await new Rig().start();
    const { seen } = rig.watch("labels");
    await rig.settle();

    rig.editPod((pod) => (pod.metadata = { ...pod.metadata, labels: { app: "2" } }));
    await rig.settle();

    expect(seen).toEqual(['labels=app="1"', 'labels=app="2"']);
  });

  test("gets a new token before the old one expires, and only then", async () => {
    await using rig = await new Rig().start();
    const { seen } = rig.watch("token");
    await rig.settle();
    for (let passed = 0; passed < 420_000; passed += 60_000) await rig.settle(60_000);
    expect(seen).toHaveLength(1);

    await rig.settle(60_000);

    expect(seen).toHaveLength(2);
    expect(seen[0]).not.toBe(seen[1]);
    expect(rig.client.callsOf("create", "serviceaccounts", "token")).toHaveLength(2);
  });

  test("is refreshed within a minute also where nothing can be watched", async () => {
    await using rig = await new Rig().start();
    rig.putSecret("one");
    using _deaf = rig.client.intercept((call) => {
      if (call.resource === "secrets" && call.verb !== "get") throw new Error("watching is not allowed");
    });
    const { seen } = rig.watch("keys");
    await rig.settle();

    rig.putSecret("two");
    await rig.settle(60_000);

    expect(seen).toEqual(["key=one", "key=two"]);
  });

  test.each([
    ["is gone", (rig: Rig) => rig.client.remove(resources.pods, "web", "shop")],
    ["has ended", (rig: Rig) => rig.editPod((pod) => (pod.status = { phase: "Succeeded" }))],
  ])("ends when the pod %s, and nothing of it is kept", async (_, end) => {
    await using rig = await new Rig().start();
    rig.putSecret("one");
    const keys = rig.watch("keys");
    const token = rig.watch("token");
    await rig.settle();
    expect(rig.sources.secretsOf(rig.pod.metadata?.uid ?? "")).toHaveLength(2);

    end(rig);
    await rig.settle();

    await Promise.all([keys.ended, token.ended]);
    expect(rig.sources.secretsOf(rig.pod.metadata?.uid ?? "")).toEqual([]);
    await rig.settle(600_000);
    expect(rig.client.callsOf("create", "serviceaccounts", "token")).toHaveLength(1);
  });

  test("ends with the signal's reason when aborted, and when it is left", async () => {
    await using rig = await new Rig().start();
    rig.putSecret("one");
    const abort = new AbortController();
    const watched = rig.watch("keys", abort.signal);
    await rig.settle();
    const timers = rig.clock.pending;

    for await (const _ of rig.volumes.watchVolume("keys", signal)) break;
    abort.abort(new Error("enough"));

    await expect(watched.ended).rejects.toThrow("enough");
    expect(rig.clock.pending).toBe(timers - 1);
  });
});

describe("what a volume is made from", () => {
  test("are the cluster's trust anchors, the node's resources and config maps of the pod's namespace", async () => {
    await using rig = await new Rig().start();
    rig.client.onRaw(() => ({ resources: [{ name: "clustertrustbundles" }] }));
    const pem = "-----BEGIN CERTIFICATE-----\nQUFB\n-----END CERTIFICATE-----\n";
    rig.client.put(trustBundles, { metadata: { name: "one" }, spec: { trustBundle: pem } });
    rig.client.put(resources.configMaps, { metadata: { namespace: "shop", name: "settings" }, data: { colour: "blue" } });
    rig.node = { status: { allocatable: { cpu: "7" } } };

    expect(shown(await rig.volumes.volume("anchors", signal))).toBe(`ca=${pem}`);
    expect(shown(await rig.volumes.volume("size", signal))).toBe("cpus=7");
    expect(shown(await rig.volumes.volume("settings", signal))).toBe("colour=blue");
  });
});

describe("a volume that nothing calls for", () => {
  test.each([
    [0, 60_000],
    [0.999_999, 45_000],
  ])("is looked at again after a minute, less up to a quarter by chance: %d", async (chance, ms) => {
    await using rig = await new Rig().start();
    rig.putSecret("one");
    rig.chance = chance;
    using _deaf = rig.client.intercept((call) => {
      if (call.resource === "secrets" && call.verb !== "get") throw new Error("watching is not allowed");
    });
    const { seen } = rig.watch("keys");
    await rig.settle();
    rig.putSecret("two");

    await rig.settle(ms - 1);
    expect(seen).toEqual(["key=one"]);
    await rig.settle(2);
    expect(seen).toEqual(["key=one", "key=two"]);
  });
});

test("whoever gives up a read is told their own reason, and no event says that the mount failed", async () => {
  await using rig = await new Rig().start();
  using _hang = rig.client.intercept(({ verb, resource }) =>
    verb === "get" && resource === "secrets" ? new Promise(() => {}) : undefined,
  );
  const stop = new AbortController();
  const reading = rig.volumes.volume("keys", stop.signal);
  stop.abort(new Error("stop"));

  await expect(reading).rejects.toThrow(/^stop$/);
  expect(rig.events).toEqual([]);
});

test("a pod without volumes of the API server's is told which would be", async () => {
  await using rig = await new Rig().start();
  const bare = new PodVolumes(
    { metadata: { name: "bare" }, spec: { containers: [] } },
    {
      sources: rig.sources,
      node: () => undefined,
      recorder: { event: () => {} },
      clock: rig.clock,
      random: new SeededRandom(1),
    },
  );

  await expect(bare.volume("v", signal)).rejects.toThrow(
    'read volume "v" of pod bare: there is none, expected a pod with configMap, secret, downwardAPI or projected volumes',
  );
});

describe("a claimed volume", () => {
  /** A pod with a claim and a volume, each as it was changed. */
  async function claiming(
    change: { readonly claim?: Partial<PersistentVolumeClaim>; readonly volume?: PersistentVolume["spec"] } = {},
    name = "data-web",
  ): Promise<Rig> {
    const rig = await new Rig().start();
    const claim = boundClaim(name);
    rig.client.put(resources.persistentVolumeClaims, {
      ...claim,
      ...change.claim,
      metadata: { ...claim.metadata, ...change.claim?.metadata },
    });
    rig.client.put(resources.persistentVolumes, volumeOf(name, change.volume));
    return rig;
  }

  const unmounted = (volume: string): string =>
    `Unable to attach or mount volumes: unmounted volumes=[${volume}], unattached volumes=[], failed to process volumes=[${volume}]: `;

  test("is what its claim is bound to, read by name and not kept", async () => {
    await using rig = await claiming({ volume: { mountOptions: ["noatime", "", "noatime"], accessModes: ["ReadWriteOncePod"] } });

    expect(await rig.volumes.claimedVolume("data", signal)).toEqual({
      name: "pv-1",
      claim: { namespace: "shop", name: "data-web", uid: "uid-data-web" },
      source: { kind: "local", path: "/mnt/1" },
      accessModes: ["ReadWriteOncePod"],
      isReadOnly: false,
      mountOptions: ["noatime"],
    });
    await rig.volumes.claimedVolume("data", signal);
    const verbs = rig.client.calls
      .filter(({ resource: of }) => of.startsWith("persistentvolume"))
      .map(({ verb, resource: of }) => `${verb} ${of}`);
    expect(verbs).toEqual(["get persistentvolumeclaims", "get persistentvolumes", "get persistentvolumeclaims", "get persistentvolumes"]);
    expect(rig.events).toEqual([]);
  });

  const none = { local: undefined };
  test.for<[PersistentVolume["spec"], object]>([
    [
      { ...none, hostPath: { path: "/srv", type: "Directory" } },
      { kind: "hostPath", path: "/srv", type: "Directory" },
    ],
    [
      { ...none, nfs: { server: "nfs.example.com", path: "/exports", readOnly: true } },
      { kind: "nfs", server: "nfs.example.com", path: "/exports" },
    ],
    [
      { ...none, flexVolume: { driver: "example.com/disk", options: { size: "1" } } },
      { kind: "flexVolume", driver: "example.com/disk", options: { size: "1" } },
    ],
    [
      { ...none, csi: { driver: "ebs.csi.aws.com", volumeHandle: "vol-1" } },
      { kind: "other", type: "csi", driver: "ebs.csi.aws.com", handle: "vol-1" },
    ],
    [
      { ...none, iscsi: { iqn: "iqn", lun: 1, targetPortal: "" } },
      { kind: "other", type: "iscsi", driver: undefined },
    ],
    [none, { kind: "other", type: "none", driver: undefined }],
  ])("of %j is %j", async ([spec, source]) => {
    await using rig = await claiming({ volume: { storageClassName: "fast", capacity: { storage: "1Gi" }, ...spec } });

    expect(await rig.volumes.claimedVolume("data", signal)).toMatchObject({ source, isReadOnly: spec?.nfs?.readOnly ?? false });
  });

  test.for<[string, { claim?: Partial<PersistentVolumeClaim>; volume?: PersistentVolume["spec"] }, string]>([
    ["is not bound", { claim: { status: { phase: "Pending" } } }, "error processing PVC shop/data-web: PVC is not bound"],
    ["names no volume", { claim: { spec: {} } }, "error processing PVC shop/data-web: PVC has empty pvc.Spec.VolumeName"],
    [
      "is going",
      { claim: { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } } },
      "error processing PVC shop/data-web: PVC is being deleted",
    ],
    [
      "is bound to a volume that has no claim",
      { volume: { claimRef: undefined } },
      "error processing PVC shop/data-web: found PV object pv-1 but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim",
    ],
    [
      "is bound to the volume of an earlier claim",
      { volume: { claimRef: { uid: "uid-other" } } },
      "error processing PVC shop/data-web: found PV object pv-1 but its pv.Spec.ClaimRef.UID uid-other does not point to claim.UID uid-data-web",
    ],
    ["is of a block device", { volume: { volumeMode: "Block" } }, "volume data has volumeMode Block, but is specified in volumeMounts"],
    [
      "names a volume that is gone",
      { claim: { spec: { volumeName: "pv-2" } } },
      'error processing PVC shop/data-web: failed to fetch PV pv-2 from API server: persistentvolumes "pv-2" not found',
    ],
  ])("whose claim %s makes the pod wait, and an event says why", async ([, change, problem]) => {
    await using rig = await claiming(change);

    const error: unknown = await rig.volumes.claimedVolume("data", signal).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ message: `${unmounted("data")}${problem}` });
    expect([isInvalidInput(error) || isUnavailable(error), waitingReasonOf(error)]).toEqual([true, "ContainerCreating"]);
    expect(rig.events).toEqual([`${rig.pod.metadata?.uid} Warning FailedMount ${unmounted("data")}${problem}`]);
  });

  test("whose claim is missing comes once there is one", async () => {
    await using rig = await new Rig().start();

    await expect(rig.volumes.claimedVolume("data", signal)).rejects.toThrow(
      `${unmounted("data")}error processing PVC shop/data-web: failed to fetch PVC from API server: persistentvolumeclaims "data-web" not found`,
    );
    rig.client.put(resources.persistentVolumeClaims, boundClaim("data-web"));
    rig.client.put(resources.persistentVolumes, volumeOf("data-web"));

    expect(await rig.volumes.claimedVolume("data", signal)).toMatchObject({ name: "pv-1" });
  });

  test("is kept while a claim that is deleted is protected", async () => {
    const metadata = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["kubernetes.io/pvc-protection"] };
    await using rig = await claiming({ claim: { metadata } });

    expect(await rig.volumes.claimedVolume("data", signal)).toMatchObject({ name: "pv-1" });
  });

  test("that other nodes have is refused by the node's labels, not by its name", async () => {
    const term = (key: string, value: string): object => ({ key, operator: "In", values: [value] });
    const required = { nodeSelectorTerms: [{ matchExpressions: [term("kubernetes.io/hostname", "vk")] }] } as never;
    await using rig = await claiming({ volume: { nodeAffinity: { required } } });
    const refusal = 'MountVolume.NodeAffinity check failed for volume "pv-1" : no matching NodeSelectorTerms';

    await expect(rig.volumes.claimedVolume("data", signal)).rejects.toThrow(refusal);
    rig.node = { metadata: { name: "vk", labels: { "kubernetes.io/hostname": "other" } } };
    await expect(rig.volumes.claimedVolume("data", signal)).rejects.toThrow(refusal);
    rig.node = { metadata: { name: "vk", labels: { "kubernetes.io/hostname": "vk" } } };
    expect(await rig.volumes.claimedVolume("data", signal)).toMatchObject({ name: "pv-1" });
  });

  test("of a generic ephemeral volume is the pod's own, or none", async () => {
    await using rig = await claiming({}, "web-extra");

    await expect(rig.volumes.claimedVolume("extra", signal)).rejects.toThrow(
      `${unmounted("extra")}PVC shop/web-extra was not created for pod shop/web (pod is not owner)`,
    );
    const owner = { apiVersion: "v1", kind: "Pod", name: "web", controller: true, uid: rig.pod.metadata?.uid ?? "" };
    rig.client.edit(
      resources.persistentVolumeClaims,
      "web-extra",
      (claim) => (claim.metadata = { ...claim.metadata, ownerReferences: [owner] }),
      "shop",
    );

    expect(await rig.volumes.claimedVolume("extra", signal)).toMatchObject({ name: "pv-1", claim: { name: "web-extra" } });
  });

  test("is not concluded from a 404 that is not the API server's own, nor from a first refusal", async () => {
    await using rig = await claiming();
    const reading = (): Promise<unknown> => rig.volumes.claimedVolume("data", signal).catch((thrown: unknown) => thrown);
    {
      using _proxy = rig.client.intercept(({ verb, resource: of }) => {
        if (verb === "get" && of === "persistentvolumes") throw new NotFoundError("404 page not found");
      });
      expect(await reading()).toSatisfy(isUnavailable);
    }
    let refusals = 2;
    using _authorizer = rig.client.intercept(({ verb, resource: of }) => {
      if (verb === "get" && of === "persistentvolumeclaims" && refusals-- > 0) throw new ForbiddenError("not yet");
    });
    const read = reading();
    await rig.settle(1_500);

    expect(await read).toMatchObject({ name: "pv-1" });
  });

  test("is asked for by the name of a claim's volume", async () => {
    await using rig = await new Rig().start();

    await expect(rig.volumes.claimedVolume("scratch", signal)).rejects.toThrow('volume "scratch" of pod web: it is no claim');
    await expect(rig.volumes.claimedVolume("nope", signal)).rejects.toThrow('volume "nope" of pod web: there is none');
    expect(rig.events).toEqual([]);
  });
});
