import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { noMetrics, Reflector, resource, resources, silentLogger, type KubernetesObject, type Pod } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { FakeKubeClient } from "../test-support/fake-kube-client.ts";
import { PodSources } from "./pod-sources.ts";

const { signal } = new AbortController();
const trustBundles = resource<KubernetesObject>({
  group: "certificates.k8s.io",
  version: "v1",
  plural: "clustertrustbundles",
  kind: "ClusterTrustBundle",
  namespaced: false,
});
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** The sources of a node's pods on a Kubernetes API in memory, on a clock that stands still. */
class Rig implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly client = new FakeKubeClient(this.clock);
  readonly sources: PodSources;
  readonly #stop = new AbortController();
  readonly #reflector: Reflector<Pod>;
  #following: Disposable | undefined;

  constructor() {
    const common = { client: this.client, clock: this.clock, random: new SeededRandom(1), logger: silentLogger, metrics: noMetrics };
    this.#reflector = new Reflector<Pod>({ ...common, resource: resources.pods });
    this.sources = new PodSources({ ...common, store: this.#reflector.store });
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

  /** Makes a pod. @returns its UID */
  async createPod(name: string, phase = "Pending"): Promise<string> {
    const { metadata } = this.client.put(resources.pods, {
      metadata: { namespace: "shop", name },
      spec: { containers: [] },
      status: { phase },
    });
    await this.settle();
    return metadata?.uid ?? "";
  }

  async editPod(name: string, change: (pod: Pod) => void): Promise<void> {
    this.client.edit(resources.pods, name, change, "shop");
    await this.settle();
  }

  async put(kind: "secrets" | "configMaps", value: string): Promise<void> {
    const metadata = { namespace: "shop", name: "keys" };
    if (kind === "secrets") this.client.put(resources.secrets, { metadata, data: { key: base64(value) } });
    else this.client.put(resources.configMaps, { metadata, data: { key: value } });
    await this.settle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#following?.[Symbol.dispose]();
    this.#stop.abort();
    await this.sources.close();
  }
}

test("a pod is live until it has ended or is gone", async () => {
  await using rig = await new Rig().start();
  const uid = await rig.createPod("web");
  expect(rig.sources.livePod(uid)?.metadata?.name).toBe("web");

  await rig.editPod("web", (pod) => void (pod.status = { phase: "Failed" }));
  expect(rig.sources.livePod(uid)).toBeUndefined();
  expect(rig.sources.livePod("nobody")).toBeUndefined();
});

describe("what a pod has asked for", () => {
  test.each(["secrets", "configMaps"] as const)("of %s is watched, and a change is told with the pod's UID", async (kind) => {
    await using rig = await new Rig().start();
    const uid = await rig.createPod("web");
    await rig.put(kind, "1");
    const told: string[] = [];
    const listening = rig.sources.onConfigChanged((changed) => void told.push(changed));
    await (kind === "secrets" ? rig.sources.getSecret("shop", "keys", signal, uid) : rig.sources.getConfigMap("shop", "keys", signal, uid));
    await rig.settle();

    await rig.put(kind, "2");
    expect(told).toEqual([uid]);
    listening[Symbol.dispose]();
    await rig.put(kind, "3");

    expect(told).toEqual([uid]);
  });

  test.each(["secrets", "configMaps"] as const)("of %s is watched for nobody where nobody asks, or one that has ended", async (kind) => {
    await using rig = await new Rig().start();
    const uid = await rig.createPod("web", "Succeeded");
    await rig.put(kind, "1");
    const get = (of?: string) =>
      kind === "secrets" ? rig.sources.getSecret("shop", "keys", signal, of) : rig.sources.getConfigMap("shop", "keys", signal, of);
    await get();
    await get(uid);
    await get("nobody");
    await rig.settle();

    expect(rig.client.calls.filter(({ verb, resource }) => verb === "watch" && resource !== "pods")).toEqual([]);
  });

  test("are its secrets' values in plain text and its tokens, and of no one else", async () => {
    await using rig = await new Rig().start();
    const uid = await rig.createPod("web");
    const other = await rig.createPod("other");
    await rig.put("secrets", "gehéim");
    await rig.sources.getSecret("shop", "keys", signal, uid);
    const { token } = await rig.sources.getToken(uid, { audience: undefined, expirationSeconds: 600 }, signal);

    expect(rig.sources.secretsOf(uid)).toEqual(["gehéim", token]);
    expect(rig.sources.secretsOf(other)).toEqual([]);
  });

  test.each([
    ["has ended", (rig: Rig) => rig.editPod("web", (pod) => void (pod.status = { phase: "Succeeded" }))],
    ["is gone", async (rig: Rig) => rig.client.remove(resources.pods, "web", "shop")],
  ])("is let go of when it %s", async (_what, end) => {
    await using rig = await new Rig().start();
    const uid = await rig.createPod("web");
    await rig.put("secrets", "1");
    await rig.put("configMaps", "1");
    await rig.sources.getSecret("shop", "keys", signal, uid);
    await rig.sources.getConfigMap("shop", "keys", signal, uid);
    await rig.sources.getToken(uid, { audience: undefined, expirationSeconds: 600 }, signal);
    await rig.settle();
    const told: string[] = [];
    rig.sources.onConfigChanged((changed) => void told.push(changed));

    await end(rig);
    await rig.settle();
    await rig.put("secrets", "2");
    await rig.put("configMaps", "2");

    expect(rig.sources.secretsOf(uid)).toEqual([]);
    expect(told).toEqual([]);
    await expect(rig.sources.getToken(uid, { audience: undefined, expirationSeconds: 600 }, signal)).rejects.toSatisfy(isNotFound);
  });
});

describe("whoever listens to a pod", () => {
  test("hears of its changes, of its end, and of what it has asked for, but not of its status", async () => {
    await using rig = await new Rig().start();
    const uid = await rig.createPod("web");
    await rig.put("secrets", "1");
    await rig.sources.getSecret("shop", "keys", signal, uid);
    await rig.settle();
    let heard = 0;
    using _listening = rig.sources.onPodChange(uid, () => heard++);

    await rig.editPod("web", (pod) => void (pod.status = { phase: "Running" }));
    expect(heard).toBe(0);
    await rig.editPod("web", (pod) => void (pod.metadata = { ...pod.metadata, labels: { a: "1" } }));
    expect(heard).toBe(1);
    await rig.put("secrets", "2");
    expect(heard).toBe(2);
    await rig.editPod("web", (pod) => void (pod.status = { phase: "Succeeded" }));
    expect(heard).toBe(3);
  });

  test("hears of every trust bundle's change", async () => {
    await using rig = await new Rig().start();
    const uid = await rig.createPod("web");
    rig.client.onRaw(() => ({ resources: [{ name: "clustertrustbundles" }] }));
    await rig.sources.getTrustAnchors({ name: "one", optional: true }, signal);
    let heard = 0;
    using _listening = rig.sources.onPodChange(uid, () => heard++);
    rig.client.put(trustBundles, { metadata: { name: "one" } });
    await rig.settle();

    expect(heard).toBe(1);
  });

  test("hears nothing any more once they have stopped, while others go on, and again when they listen anew", async () => {
    await using rig = await new Rig().start();
    const uid = await rig.createPod("web");
    const heard: string[] = [];
    const label = (value: string) => rig.editPod("web", (pod) => void (pod.metadata = { ...pod.metadata, labels: { value } }));
    const first = rig.sources.onPodChange(uid, () => void heard.push("first"));
    const second = rig.sources.onPodChange(uid, () => void heard.push("second"));

    first[Symbol.dispose]();
    await label("1");
    expect(heard).toEqual(["second"]);
    second[Symbol.dispose]();
    const third = rig.sources.onPodChange(uid, () => void heard.push("third"));
    first[Symbol.dispose]();
    second[Symbol.dispose]();
    await label("2");
    expect(heard).toEqual(["second", "third"]);
    third[Symbol.dispose]();
    await label("3");
    expect(heard).toEqual(["second", "third"]);
  });

  test("hears of no other pod's change", async () => {
    await using rig = await new Rig().start();
    await rig.createPod("web");
    const other = await rig.createPod("other");
    let heard = 0;
    using _listening = rig.sources.onPodChange(other, () => heard++);
    await rig.editPod("web", (pod) => void (pod.metadata = { ...pod.metadata, labels: { a: "1" } }));

    expect(heard).toBe(0);
  });
});

test("a close ends every watch, of trust bundles as well", async () => {
  const rig = await new Rig().start();
  const uid = await rig.createPod("web");
  rig.client.onRaw(() => ({ resources: [{ name: "clustertrustbundles" }] }));
  await rig.put("secrets", "1");
  await rig.put("configMaps", "1");
  await rig.sources.getSecret("shop", "keys", signal, uid);
  await rig.sources.getConfigMap("shop", "keys", signal, uid);
  await rig.sources.getTrustAnchors({ name: "one", optional: true }, signal);
  await rig.settle();

  await rig[Symbol.asyncDispose]();

  expect(rig.clock.pending).toBe(0);
});
