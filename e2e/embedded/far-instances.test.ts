import { podRef, VirtualNode } from "@virtual-kubelet/core";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { provider as mock } from "@virtual-kubelet/provider-mock";
import { eventually } from "@virtual-kubelet/testing";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { exitCodes } from "virtual-kubelet";
import { Program } from "../support/program.ts";
import { soon } from "./support/program-rig.ts";

const { signal } = new AbortController();
const namespace = "default";
const nodeName = "far-1";
const uidLabel = "virtual-kubelet.io/pod-uid";
const leaseSeconds = 8;

/** Two API servers, a far node that runs pods in memory, and a record of all far pods there ever were. */
class TwoClusters implements AsyncDisposable {
  readonly home: KubeClient;
  readonly far: KubeClient;
  readonly #folder: string;
  readonly #ends: AsyncDisposableStack;
  /** UIDs of the far pods by name, which depends on the home pod's UID. */
  readonly #created = new Map<string, Set<string>>();
  /** UIDs of home pods whose far pods are gone. */
  readonly #ended = new Set<string>();

  private constructor(home: ApiServer, far: ApiServer, folder: string, ends: AsyncDisposableStack) {
    this.home = createKubeClient(home.transport());
    this.far = createKubeClient(far.transport());
    this.#folder = folder;
    this.#ends = ends;
  }

  static async open(): Promise<TwoClusters> {
    await using ends = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), "vk-far-instances-"));
    ends.defer(() => rm(folder, { recursive: true }));
    const [home, far] = [ends.use(await startApiServer()), ends.use(await startApiServer())];
    await home.writeKubeconfig(join(folder, "home"));
    await far.writeKubeconfig(join(folder, "far"));
    const stop = new AbortController();
    const worker = new VirtualNode({
      client: createKubeClient(far.transport()),
      provider: mock,
      providerConfig: { cpu: "100", memory: "100Gi", pods: "500" },
      node: { name: "worker", labels: { type: "machine" }, taints: [], instance: { identity: "worker" } },
    });
    const running = worker.run(stop.signal);
    await worker.ready;
    const clusters = new TwoClusters(home, far, folder, ends.move());
    const recording = clusters.#record(stop.signal);
    clusters.#ends.defer(async () => {
      stop.abort();
      await Promise.allSettled([running, recording]);
    });
    return clusters;
  }

  /** Starts the program on a machine, as an instance of the same node as every other. */
  async start(machine: string, { identity = machine, standby = false } = {}): Promise<Program> {
    const config = {
      apiVersion: "virtual-kubelet.io/v1alpha1",
      kind: "VirtualKubelet",
      cluster: { kubeconfig: join(this.#folder, "home") },
      health: { address: "off" },
      instance: { identity, standby },
      nodes: [
        {
          name: nodeName,
          provider: "kubernetes",
          leaseDuration: `${leaseSeconds}s`,
          pingInterval: "1s",
          orphans: { grace: "2s", interval: "1s" },
          providerConfig: { cluster: { kubeconfig: join(this.#folder, "far") }, usage: "none" },
        },
      ],
    };
    const cwd = join(this.#folder, machine);
    await mkdir(cwd, { recursive: true });
    const file = join(cwd, `${identity}.json`);
    await writeFile(file, JSON.stringify(config));
    return this.#ends.use(new Program(["--config", file], { cwd }));
  }

  async create(prefix: string, count: number): Promise<readonly Pod[]> {
    const tolerations = [{ key: "virtual-kubelet.io/provider", operator: "Exists" }];
    const spec = { nodeName, tolerations, terminationGracePeriodSeconds: 1, containers: [{ name: "main", image: "busybox" }] };
    const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
    return await Promise.all(names.map((name) => this.home.create(resources.pods, { metadata: { namespace, name }, spec }, { signal })));
  }

  async delete(pods: readonly Pod[]): Promise<void> {
    const names = pods.map(({ metadata }) => ({ namespace, name: metadata?.name ?? "" }));
    await Promise.all(names.map((name) => this.home.delete(resources.pods, name, {}, { signal })));
  }

  /** Waits until exactly these home pods are there and run, each with exactly one far pod. */
  async run(pods: readonly Pod[]): Promise<void> {
    const uids = uidsOf(pods);
    await eventually(async () => {
      const { items } = await this.home.list(resources.pods, { namespace }, { signal });
      expect(uidsOf(items)).toEqual(uids);
      expect(items.filter(({ status }) => status?.phase !== "Running").map((pod) => pod.status)).toEqual([]);
      const far = await this.far.list(resources.pods, { namespace }, { signal });
      expect(far.items.map(({ metadata }) => metadata?.labels?.[uidLabel] ?? "").toSorted()).toEqual(uids);
    }, soon);
  }

  /** No far pod was ever created twice, and none has ended but those of the given pods. The watch may tell of an end after a list. */
  async expectOnceEach(deleted: readonly Pod[]): Promise<void> {
    await eventually(() => expect([...this.#ended].toSorted()).toEqual(uidsOf(deleted)), soon);
    expect([...this.#created].filter(([, uids]) => uids.size > 1)).toEqual([]);
  }

  async isReady(): Promise<void> {
    await eventually(async () => {
      const { status } = await this.home.get(resources.nodes, { name: nodeName }, { signal });
      expect(status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
    }, soon);
  }

  /** Waits until the instance has the node's lease. */
  async holds(identity: string): Promise<void> {
    await eventually(async () => {
      const lease = await this.home.get(resources.leases, { namespace: "kube-node-lease", name: nodeName }, { signal });
      expect(Object.values(lease.metadata?.annotations ?? {})).toContain(identity);
    }, soon);
  }

  async #record(until: AbortSignal): Promise<void> {
    const { resourceVersion } = await this.far.list(resources.pods, { namespace }, { signal: until });
    for await (const change of await this.far.watch(resources.pods, { namespace, resourceVersion }, { signal: until })) {
      if (change.type === "ERROR") throw new Error(`the record of far pods has a gap: ${change.object.message}`);
      const { name = "", uid = "", labels = {} } = change.object.metadata ?? {};
      if (change.type === "ADDED") this.#created.set(name, (this.#created.get(name) ?? new Set()).add(uid));
      if (change.type === "DELETED") this.#ended.add(labels[uidLabel] ?? "");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ends[Symbol.asyncDispose]();
  }
}

const uidsOf = (pods: readonly Pod[]): string[] => pods.map((pod) => podRef(pod).uid).toSorted();

test.each([
  { where: "on another machine", machine: "two", identity: "two" },
  { where: "on the same machine, by the same command", machine: "one", identity: "one" },
])("a second program for the node $where ends and says why; the first and its far pods do not notice it", async ({ machine, identity }) => {
  await using clusters = await TwoClusters.open();
  await clusters.start("one");
  await clusters.isReady();
  const pods = await clusters.create("before", 20);
  await clusters.run(pods);

  const second = await clusters.start(machine, { identity });

  expect(await second.exit).toBe(exitCodes.config.code);
  expect(second.stderr).toContain(nodeName);
  const more = await clusters.create("after", 5);
  await clusters.run([...pods, ...more]);
  await clusters.expectOnceEach([]);
});

test("of two programs on two machines with the same identity the older one ends, also while pods come and go: none is lost, ended or created twice", async () => {
  await using clusters = await TwoClusters.open();
  const first = await clusters.start("one", { identity: "same" });
  await clusters.isReady();
  const pods = await clusters.create("before", 20);
  await clusters.run(pods);
  const [during, second] = await Promise.all([
    clusters.create("during", 40),
    clusters.start("two", { identity: "same" }),
    clusters.delete(pods.slice(0, 10)),
  ]);

  expect(await first.exit).toBe(exitCodes.config.code);

  const after = await clusters.create("after", 5);
  await clusters.run([...pods.slice(10), ...during, ...after]);
  await clusters.expectOnceEach(pods.slice(0, 10));
  expect(await second.end("SIGTERM")).toBe(exitCodes.ok.code);
});

test("a replica that stands by takes over from one that is killed while pods come and go", async () => {
  await using clusters = await TwoClusters.open();
  const first = await clusters.start("one");
  await clusters.isReady();
  await clusters.start("two", { standby: true });
  const pods = await clusters.create("before", 20);
  await clusters.run(pods);
  const creation = clusters.create("during", 40);
  await clusters.delete(pods.slice(0, 10));
  await first.end("SIGKILL");
  const during = await creation;

  await clusters.holds("two");

  await clusters.run([...pods.slice(10), ...during]);
  // The first comes back, and stands by.
  await clusters.start("one", { standby: true });
  const after = await clusters.create("after", 5);
  await clusters.run([...pods.slice(10), ...during, ...after]);
  await clusters.expectOnceEach(pods.slice(0, 10));
});

test("a replica that was stopped for longer than its lease, and goes on, ends; the one that took over keeps the pods", async () => {
  await using clusters = await TwoClusters.open();
  const first = await clusters.start("one", { standby: true });
  await clusters.isReady();
  await clusters.start("two", { standby: true });
  const pods = await clusters.create("before", 20);
  await clusters.run(pods);
  const creation = clusters.create("during", 40);
  first.kill("SIGSTOP");
  const during = await creation;
  await clusters.holds("two");
  await clusters.delete(pods.slice(0, 10));
  await clusters.run([...pods.slice(10), ...during]);
  const after = await clusters.create("after", 20);

  first.kill("SIGCONT");

  expect(await first.exit).toBe(exitCodes.config.code);
  await clusters.run([...pods.slice(10), ...during, ...after]);
  await sleep(2 * leaseSeconds * 1000);
  await clusters.run([...pods.slice(10), ...during, ...after]);
  await clusters.expectOnceEach(pods.slice(0, 10));
});
