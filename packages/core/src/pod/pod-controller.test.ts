import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { InvalidInputError, TerminalError, UnavailableError, UnsupportedError } from "@virtual-kubelet/errdefs";
import {
  ConcurrencyLimit,
  noMetrics,
  Reflector,
  resources,
  silentLogger,
  type CallOptions,
  type KubernetesObject,
  type Metrics,
  type ObjectName,
  type Patch,
  type Pod,
  type Resource,
  type EventRecorder,
} from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import type { Capabilities } from "../provider/capabilities.ts";
import type { PodOptions } from "../virtual-node/options.ts";
import { MassLossBrake } from "./orphans/mass-loss-brake.ts";
import { PodController } from "./pod-controller.ts";
import { podRef, type PodRef } from "../provider/pod-ref.ts";
import type { Owner } from "../provider/pod-lifecycle.ts";
import { FakeKubeClient } from "../test-support/fake-kube-client.ts";
import { ended, running, ScriptedProvider } from "../test-support/scripted-provider.ts";

const owner: Owner = { clusterId: "cluster-1", nodeName: "node-1" };
const everything: Capabilities = { env: true, multipleContainers: true, initContainers: true, restarts: true };
const idle = new AbortController().signal;

/** A pod controller on a Kubernetes API in memory and a scripted provider, on a clock that stands still. */
class Rig implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly client: FakeKubeClient;
  readonly provider = new ScriptedProvider(owner);
  readonly events: string[] = [];
  /** What was counted: name and labels. */
  readonly counted: string[] = [];
  readonly controller: PodController;
  readonly #reflector: Reflector<Pod>;
  readonly #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #following: Disposable | undefined;

  constructor(options: PodOptions = {}, capabilities: Capabilities = everything, Client: typeof FakeKubeClient = FakeKubeClient) {
    this.client = new Client(this.clock);
    const count: Metrics["count"] = (name, labels = {}) => void this.counted.push([name, ...Object.values(labels)].join(" "));
    const metrics = { ...noMetrics, count };
    const common = { client: this.client, clock: this.clock, random: new SeededRandom(1), logger: silentLogger, metrics };
    this.#reflector = new Reflector<Pod>({ ...common, resource: resources.pods, query: { fieldSelector: "spec.nodeName=node-1" } });
    const node = { metadata: { name: "node-1" }, status: { allocatable: { cpu: "10", memory: "10Gi", pods: "3" } } };
    const recorder: Pick<EventRecorder, "event"> = {
      event: (_ref, _type, reason, message) => void this.events.push(`${reason}: ${message}`),
    };
    this.controller = new PodController({
      ...common,
      store: this.#reflector.store,
      isCurrent: () => this.#reflector.isCurrent,
      provider: this.provider,
      providerName: "scripted",
      limits: { capabilities },
      owner,
      resolve: () => ({
        environment: async () => [],
        commandLine: async () => ({ command: [], args: [] }),
        volume: async () => ({ files: [] }),
        async *watchVolume() {},
        configMap: async () => ({}),
        secret: async () => ({}),
        serviceVariables: async () => [],
      }),
      node: () => node,
      hostIPs: () => ["192.0.2.1"],
      recorder,
      brake: new MassLossBrake({ ...common, nodeName: "node-1", limit: 10, recorder }),
      podOptions: options,
      statusWrites: new ConcurrencyLimit(64),
    });
  }

  /** Starts all that runs; the inventory is taken unless the test wants to. */
  async start(options: { readonly inventory?: boolean } = {}): Promise<this> {
    const reflecting = this.#reflector.run(this.#stop.signal);
    await this.settle();
    this.#following = await this.controller.follow(this.#stop.signal);
    if (options.inventory !== false) await this.takeInventory();
    this.#running = Promise.all([reflecting, this.controller.run(this.#stop.signal, this.#stop.signal)]);
    return this.settle();
  }

  async takeInventory(): Promise<void> {
    const startedMs = this.clock.monotonic();
    await this.controller.loadInventory(await this.provider.getPods(idle), startedMs, idle);
    await this.settle();
  }

  async settle(): Promise<this> {
    for (let turn = 0; turn < 5; turn++) await this.clock.advance(0);
    return this;
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await this.settle();
  }

  async createPod(name: string, change: (pod: Pod) => void = () => {}): Promise<PodRef> {
    const pod: Pod = {
      metadata: { namespace: "default", name },
      spec: { nodeName: "node-1", restartPolicy: "Always", containers: [{ name: "main", image: "busybox" }] },
      status: { phase: "Pending" },
    };
    change(pod);
    const stored = this.client.put(resources.pods, pod);
    await this.settle();
    return podRef(stored);
  }

  async deletePod(name: string, gracePeriodSeconds: number): Promise<void> {
    await this.client.delete(resources.pods, { namespace: "default", name }, { gracePeriodSeconds }, { signal: idle });
    await this.settle();
  }

  pod(name: string): Pod | undefined {
    return this.client.peek(resources.pods, name, "default");
  }

  get patches(): number {
    return this.client.callsOf("patch", "pods", "status").length;
  }

  get deletes(): number {
    return this.client.callsOf("delete", "pods").filter((call) => (call.body as { preconditions?: unknown }).preconditions).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#following?.[Symbol.dispose]();
    this.#stop.abort();
    await this.pass(10_000);
    await this.#running;
  }
}

/** An API server from before `status.hostIPs`: it takes the field and forgets it. */
class ForgetfulClient extends FakeKubeClient {
  override async patch<T extends KubernetesObject>(
    resource: Resource<T>,
    name: ObjectName,
    patch: Patch,
    options: CallOptions,
  ): Promise<T> {
    const body = structuredClone(patch.body) as { status?: Record<string, unknown> };
    delete body.status?.["hostIPs"];
    return super.patch(resource, name, { ...patch, body }, options);
  }
}

describe("a pod's life", () => {
  test("costs two status patches and one delete", async () => {
    await using rig = await new Rig().start();

    await rig.createPod("web");
    expect(rig.pod("web")?.status?.phase).toBe("Running");
    expect(rig.patches).toBe(1);
    await rig.deletePod("web", 30);

    expect(rig.pod("web")).toBeUndefined();
    expect(rig.provider.calls).toEqual(["getPods", "createPod web", "deletePod web 30"]);
    expect(rig.patches).toBe(2);
    expect(rig.deletes).toBe(1);
    expect(rig.controller.known).toBe(0);
  });

  test("leaves nothing behind where the watch is quicker than the answer to the delete", async () => {
    class LateAnswers extends FakeKubeClient {
      override async delete(...args: Parameters<FakeKubeClient["delete"]>): Promise<void> {
        await super.delete(...args);
        await rig.clock.sleep(100);
      }
    }
    await using rig = await new Rig({}, everything, LateAnswers).start();
    const ref = await rig.createPod("web");

    void rig.client.delete(resources.pods, ref, { gracePeriodSeconds: 30 }, { signal: idle });
    await rig.pass(1_000);

    expect(rig.pod("web")).toBeUndefined();
    expect(rig.controller.known).toBe(0);
  });

  test("is reported with the conditions, addresses and container statuses a kubelet writes", async () => {
    await using rig = await new Rig().start();

    await rig.createPod("web");

    const status = rig.pod("web")?.status;
    expect(status).toMatchObject({ podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }], hostIP: "192.0.2.1" });
    expect(status?.containerStatuses).toEqual([expect.objectContaining({ name: "main", ready: true })]);
    expect(Object.fromEntries((status?.conditions ?? []).map(({ type, status: value }) => [type, value]))).toEqual({
      PodReadyToStartContainers: "True",
      Initialized: "True",
      Ready: "True",
      ContainersReady: "True",
      PodScheduled: "True",
    });
  });

  test("follows what the provider reports", async () => {
    await using rig = await new Rig().start();
    const ref = await rig.createPod("web");

    rig.provider.report(ref, running(["main"], "10.0.0.2"));
    await rig.settle();
    expect(rig.pod("web")?.status?.podIPs).toEqual([{ ip: "10.0.0.2" }]);

    rig.provider.report(ref, ended(running(["main"])));
    await rig.settle();
    expect(rig.pod("web")?.status?.phase).toBe("Succeeded");
  });

  test("of a flood of reports shows the latest, in few patches", async () => {
    await using rig = await new Rig().start();
    const ref = await rig.createPod("web");

    for (let index = 0; index < 1_000; index++) rig.provider.report(ref, running(["main"], `10.0.1.${index % 250}`));
    await rig.pass(2_000);

    expect(rig.pod("web")?.status?.podIP).toBe("10.0.1.249");
    expect(rig.patches).toBeLessThan(15);
  });
});

describe("deletion", () => {
  test("waits for the provider's word before the pod leaves the API server", async () => {
    await using rig = await new Rig().start();
    const ref = await rig.createPod("web");
    rig.provider.reports = false;

    await rig.deletePod("web", 30);
    await rig.pass(20_000);
    expect(rig.pod("web")).toBeDefined();
    rig.provider.report(ref, ended(running(["main"])));
    await rig.settle();

    expect(rig.pod("web")).toBeUndefined();
  });

  test("a second deletion with less grace is passed on", async () => {
    await using rig = await new Rig().start();
    await rig.createPod("web");
    rig.provider.reports = false;

    await rig.deletePod("web", 30);
    await rig.deletePod("web", 5);

    expect(rig.provider.calls.filter((call) => call.startsWith("deletePod"))).toEqual(["deletePod web 30", "deletePod web 5"]);
  });

  test("a pod that outlives its grace is ended at once, and the user is told", async () => {
    await using rig = await new Rig().start();
    await rig.createPod("web");
    rig.provider.reports = false;

    await rig.deletePod("web", 30);
    await rig.pass(45_000);

    expect(rig.provider.calls).toContain("deletePod web 0");
    expect(rig.events).toContainEqual(expect.stringContaining("still runs"));
  });

  test("a force-deleted pod is deleted at the provider all the same", async () => {
    await using rig = await new Rig().start();
    await rig.createPod("web");

    await rig.deletePod("web", 0);

    expect(rig.provider.calls).toContain("deletePod web 0");
    expect(rig.provider.held.size).toBe(0);
  });

  test("a pod with a finalizer ends, stays, and is deleted from the API server once", async () => {
    await using rig = await new Rig().start();
    await rig.createPod("web", (pod) => void ((pod.metadata ??= {}).finalizers = ["example.com/hold"]));

    await rig.deletePod("web", 30);
    await rig.pass(600_000);
    expect(rig.pod("web")?.status?.phase).toBe("Succeeded");
    expect(rig.deletes).toBe(1);

    rig.client.remove(resources.pods, "web", "default");
    await rig.settle();
    expect(rig.controller.pending).toBe(0);
  });

  test("a creation under way is broken off, and what it made is deleted", async () => {
    await using rig = await new Rig().start();
    let aborted = false;
    rig.provider.script(
      "createPod",
      (_ref, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => ((aborted = true), reject(signal.reason)))),
    );

    await rig.createPod("web");
    await rig.deletePod("web", 30);

    expect(aborted).toBe(true);
    expect(rig.provider.calls).toContain("deletePod web 30");
    expect(rig.pod("web")).toBeUndefined();
  });

  test("a pod that never started is finished without a word to the provider", async () => {
    await using rig = await new Rig({}, {}).start();
    await rig.createPod("web", (pod) => pod.spec?.containers.push({ name: "second", image: "busybox" }));
    expect(rig.pod("web")?.status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe("ProviderUnsupported");

    await rig.deletePod("web", 30);

    expect(rig.pod("web")).toBeUndefined();
    expect(rig.provider.calls).toEqual(["getPods"]);
  });

  test("a name used again is another pod", async () => {
    await using rig = await new Rig().start();

    for (let round = 0; round < 20; round++) {
      await rig.createPod("web");
      await rig.deletePod("web", round % 2 === 0 ? 30 : 0);
    }

    expect(rig.provider.calls.filter((call) => call === "createPod web")).toHaveLength(20);
    expect(rig.provider.calls.filter((call) => call.startsWith("deletePod web"))).toHaveLength(20);
    expect(rig.provider.held.size).toBe(0);
  });
});

describe("a provider's error", () => {
  test("leaves the pod Pending with the message, and is tried again for ever with growing waits", async () => {
    await using rig = await new Rig().start();
    rig.provider.script("createPod", () => {
      throw new UnavailableError("back end is on fire");
    });

    await rig.createPod("web");
    const waiting = rig.pod("web")?.status?.containerStatuses?.[0]?.state?.waiting;
    expect(waiting).toEqual({ reason: "ProviderFailed", message: "back end is on fire" });
    await rig.pass(60_000);
    const tries = rig.provider.calls.filter((call) => call === "createPod web").length;
    expect(tries).toBeGreaterThanOrEqual(5);
    expect(tries).toBeLessThanOrEqual(8);
    await rig.pass(24 * 3_600_000);
    rig.provider.unscript("createPod");
    await rig.pass(301_000);

    expect(rig.pod("web")?.status?.phase).toBe("Running");
  });

  test("is forgotten when the back end recovers", async () => {
    await using rig = await new Rig().start();
    rig.provider.script("createPod", () => {
      throw new UnavailableError("back end is on fire");
    });
    await rig.createPod("web");
    await rig.pass(3_600_000);
    rig.provider.unscript("createPod");

    rig.controller.retryNow();
    await rig.settle();

    expect(rig.pod("web")?.status?.phase).toBe("Running");
  });

  test("that is terminal makes the pod Failed", async () => {
    await using rig = await new Rig().start();
    rig.provider.script("createPod", () => {
      throw new TerminalError("this can never run");
    });

    await rig.createPod("web");
    await rig.pass(600_000);

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "ProviderFailed", message: "this can never run" });
    expect(rig.provider.calls.filter((call) => call === "createPod web")).toHaveLength(1);
  });

  test("that is terminal may give the pod's reason", async () => {
    await using rig = await new Rig().start();
    rig.provider.script("createPod", () => {
      throw new TerminalError("Pod was rejected: the port is taken", { reason: "NodePorts" });
    });

    await rig.createPod("web");
    await rig.settle();

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "NodePorts", message: "Pod was rejected: the port is taken" });
  });

  test("that says unsupported leaves the pod waiting, with one event, until its spec changes", async () => {
    await using rig = await new Rig().start();
    rig.provider.script("createPod", () => {
      throw new UnsupportedError("spec.hostNetwork: no host network here", { fieldPath: "spec.hostNetwork" });
    });
    await rig.createPod("web");
    await rig.pass(600_000);
    expect(rig.provider.calls.filter((call) => call === "createPod web")).toHaveLength(1);
    expect(rig.events.filter((event) => event.startsWith("ProviderUnsupported"))).toHaveLength(1);
    rig.provider.unscript("createPod");

    rig.client.edit(resources.pods, "web", (pod) => void ((pod.metadata ??= {}).labels = { changed: "yes" }), "default");
    await rig.settle();

    expect(rig.pod("web")?.status?.phase).toBe("Running");
  });

  test("of an update leaves the phase alone", async () => {
    await using rig = await new Rig().start();
    await rig.createPod("web");
    rig.provider.script("updatePod", () => {
      throw new UnavailableError("no updates today");
    });

    rig.client.edit(resources.pods, "web", (pod) => void ((pod.metadata ??= {}).labels = { changed: "yes" }), "default");
    await rig.settle();

    expect(rig.events).toContainEqual("ProviderUpdateFailed: no updates today");
    expect(rig.pod("web")?.status?.phase).toBe("Running");
  });

  test("of a deletion is tried again, and the pod stays until it succeeds", async () => {
    await using rig = await new Rig().start();
    await rig.createPod("web");
    rig.provider.script("deletePod", () => {
      throw new UnavailableError("not now");
    });
    await rig.deletePod("web", 30);
    await rig.pass(10_000);
    expect(rig.pod("web")?.status?.phase).toBe("Running");

    rig.provider.unscript("deletePod");
    await rig.pass(30_000);

    expect(rig.pod("web")).toBeUndefined();
  });

  test("a call without an answer leaves the pod Pending, ProviderTimeout, and late success is adopted", async () => {
    await using rig = await new Rig({ providerTimeoutMs: 10_000 }).start();
    const gate = Promise.withResolvers<void>();
    rig.provider.script("createPod", () => gate.promise);

    await rig.createPod("web");
    await rig.pass(15_001);
    expect(rig.pod("web")?.status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe("ProviderTimeout");
    rig.provider.unscript("createPod");
    gate.resolve();
    await rig.pass(5_000);

    expect(rig.pod("web")?.status?.phase).toBe("Running");
    expect(rig.provider.calls.filter((call) => call === "createPod web")).toHaveLength(1);
  });

  test("a pod edited while it is unclear what a creation did is updated once it is found", async () => {
    await using rig = await new Rig().start();
    rig.provider.script("createPod", async (ref) => {
      const made = ref && { ref, owner, status: running(["main"]) };
      if (made) rig.provider.held.set(ref.uid, made);
      throw new UnavailableError("the connection broke");
    });

    await rig.createPod("web", (pod) => void (pod.metadata = { ...pod.metadata, generation: 1 }));
    rig.client.edit(
      resources.pods,
      "web",
      (pod) => {
        pod.metadata = { ...pod.metadata, generation: 2 };
        pod.spec = { ...pod.spec, containers: [{ name: "main", image: "busybox:2" }] };
      },
      "default",
    );
    await rig.pass(1_000);

    expect(rig.provider.calls).toContain("updatePod web");
    expect(rig.pod("web")?.status?.observedGeneration).toBe(2);
  });

  test("of an update keeps nobody from hearing that the change was taken back", async () => {
    await using rig = await new Rig().start();
    await rig.createPod("web");
    rig.provider.script("updatePod", () => {
      throw new UnavailableError("the connection broke");
    });
    const label = (labels: Record<string, string>): Promise<Rig> => {
      rig.client.edit(resources.pods, "web", (pod) => void (pod.metadata = { ...pod.metadata, labels }), "default");
      return rig.settle();
    };

    await label({ changed: "yes" });
    rig.provider.unscript("updatePod");
    await label({});
    await rig.pass(60_000);

    expect(rig.provider.calls.filter((call) => call === "updatePod web")).toHaveLength(2);
    expect(rig.events).toContainEqual(expect.stringContaining("ProviderUpdateSuccess"));
  });

  test("a malformed report is refused and changes nothing", async () => {
    await using rig = await new Rig().start();
    const ref = await rig.createPod("web");

    rig.provider.report(ref, { phase: "running" });
    await rig.settle();

    expect(rig.pod("web")?.status?.phase).toBe("Running");
  });

  test("invalid input leaves the pod Pending", async () => {
    await using rig = await new Rig().start();
    rig.provider.script("createPod", () => {
      throw new InvalidInputError("annotation x: expected a number");
    });

    await rig.createPod("web");

    expect(rig.pod("web")?.status?.phase).toBe("Pending");
  });
});

describe("at the start", () => {
  test("nothing is done to any pod before the first inventory", async () => {
    const rig = new Rig();
    await rig.createPod("web");
    await using _started = await rig.start({ inventory: false });

    await rig.pass(60_000);

    expect(rig.provider.calls).toEqual([]);
  });

  test("a pod the provider holds is adopted, not made again", async () => {
    const rig = new Rig();
    const ref = await rig.createPod("web");
    rig.provider.held.set(ref.uid, { ref, owner, status: running(["main"]) });

    await using _started = await rig.start();

    expect(rig.provider.calls).toEqual(["getPods"]);
    expect(rig.pod("web")?.status?.phase).toBe("Running");
  });

  test("a pod that ran is looked for once more before anybody believes it is gone", async () => {
    const rig = new Rig();
    await rig.createPod(
      "web",
      (pod) =>
        void (pod.status = {
          phase: "Running",
          containerStatuses: [...(running(["main"]).containerStatuses ?? [])].map((status) => ({
            ...status,
            state: { running: {} },
            lastState: {},
          })) as never,
        }),
    );

    await using _started = await rig.start();

    expect(rig.provider.calls).toEqual(["getPods", "getPod web", "createPod web"]);
    expect(rig.events).toContainEqual(expect.stringContaining("ProviderLost"));
  });

  test("a partial inventory makes what it lacks unknown, not gone", async () => {
    const rig = new Rig();
    rig.provider.complete = false;
    await rig.createPod("web");

    await using _started = await rig.start();

    expect(rig.provider.calls).toEqual(["getPods", "getPod web", "createPod web"]);
  });

  test("a pod already being deleted gets the grace that is left", async () => {
    const rig = new Rig();
    const ref = await rig.createPod("web");
    rig.provider.held.set(ref.uid, { ref, owner, status: running(["main"]) });
    await rig.deletePod("web", 30);
    await rig.pass(10_000);

    await using _started = await rig.start();

    expect(rig.provider.calls).toContain("deletePod web 20");
    expect(rig.pod("web")).toBeUndefined();
  });
});

describe("a pod the back end lost", () => {
  test("is made again where its restart policy allows", async () => {
    await using rig = await new Rig().start();
    const ref = await rig.createPod("web");

    rig.provider.lose(ref);
    await rig.settle();

    expect(rig.provider.calls.filter((call) => call === "createPod web")).toHaveLength(2);
  });

  test("is Failed where it does not", async () => {
    await using rig = await new Rig().start();
    const ref = await rig.createPod("web", (pod) => void ((pod.spec ??= { containers: [] }).restartPolicy = "Never"));

    rig.provider.lose(ref);
    await rig.settle();

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "ProviderLost" });
    expect(rig.provider.calls.filter((call) => call === "createPod web")).toHaveLength(1);
  });

  test("silently is found by a complete inventory and confirmed", async () => {
    await using rig = await new Rig().start();
    const ref = await rig.createPod("web");
    rig.provider.lose(ref, { silently: true });

    await rig.pass(1_000);
    await rig.takeInventory();

    expect(rig.provider.calls.slice(-3)).toEqual(["getPods", "getPod web", "createPod web"]);
  });

  test("during an update is made again", async () => {
    await using rig = await new Rig().start();
    const ref = await rig.createPod("web");
    rig.provider.script("updatePod", () => rig.provider.lose(ref));

    rig.client.edit(resources.pods, "web", (pod) => void ((pod.metadata ??= {}).labels = { changed: "yes" }), "default");
    await rig.settle();

    expect(rig.provider.calls.filter((call) => call === "createPod web")).toHaveLength(2);
  });

  test("of sight is updated when it is found, and does not claim a newer spec before", async () => {
    await using rig = await new Rig().start();
    const ref = await rig.createPod("web", (pod) => void (pod.metadata = { ...pod.metadata, generation: 1 }));
    const held = rig.provider.held.get(ref.uid);
    rig.provider.lose(ref, { silently: true });
    await rig.pass(1_000);
    const gate = Promise.withResolvers<void>();
    rig.provider.script("getPod", () => gate.promise);

    await rig.takeInventory();
    if (held) rig.provider.held.set(ref.uid, held);
    rig.client.edit(
      resources.pods,
      "web",
      (pod) => {
        pod.metadata = { ...pod.metadata, generation: 2, labels: { changed: "yes" } };
        pod.spec = { ...pod.spec, containers: [{ name: "main", image: "busybox:2" }] };
      },
      "default",
    );
    await rig.pass(2_000);
    const before = rig.pod("web")?.status?.observedGeneration;
    gate.resolve();
    await rig.settle();

    expect(rig.provider.calls.slice(-2)).toEqual(["getPod web", "updatePod web"]);
    expect([before, rig.pod("web")?.status?.observedGeneration]).toEqual([1, 2]);
  });

  test("is not concluded from an inventory that was begun before the pod was made", async () => {
    await using rig = await new Rig().start();
    const gate = Promise.withResolvers<void>();
    const list = rig.provider.getPods(idle);
    const startedMs = rig.clock.monotonic();
    await rig.pass(10);

    await rig.createPod("web");
    gate.resolve();
    await rig.controller.loadInventory(await list, startedMs, idle);
    await rig.settle();

    expect(rig.provider.calls.filter((call) => call.startsWith("getPod "))).toEqual([]);
  });
});

describe("admission", () => {
  test("refuses a pod the node has no room for, and asks a pod once only", async () => {
    await using rig = await new Rig().start();

    for (const name of ["a", "b", "c", "d"]) await rig.createPod(name);

    expect(rig.pod("c")?.status?.phase).toBe("Running");
    expect(rig.pod("d")?.status).toMatchObject({ phase: "Failed", reason: "OutOfpods" });
    await rig.deletePod("a", 0);
    await rig.createPod("e");
    expect(rig.pod("e")?.status?.phase).toBe("Running");
  });

  test("counts the pods that it refuses, and the containers that begin and end, once each", async () => {
    await using rig = await new Rig().start();

    const first = await rig.createPod("a");
    for (const name of ["b", "c", "d"]) await rig.createPod(name);
    await rig.pass(5_000);
    rig.provider.report(first, ended(running(["main"])));
    await rig.pass(5_000);

    const of = (metric: string): string[] => rig.counted.filter((line) => line.startsWith(`${metric}_`));
    expect(of("kubelet_admission")).toEqual(["kubelet_admission_rejections_total OutOfpods"]);
    expect(of("kubelet_started_containers")).toEqual(Array(3).fill("kubelet_started_containers_total container"));
    expect(of("kubelet_terminated_containers")).toEqual(["kubelet_terminated_containers_total container 0 Completed"]);
  });

  test.each([
    ["ignore", "Pending"],
    ["reject", "Failed"],
    ["run", "Running"],
  ] as const)("of DaemonSet pods follows the policy %s", async (daemonSets, phase) => {
    await using rig = await new Rig({ daemonSets }).start();

    await rig.createPod(
      "web",
      (pod) =>
        void ((pod.metadata ??= {}).ownerReferences = [
          { apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "d", controller: true },
        ]),
    );

    expect(rig.pod("web")?.status?.phase).toBe(phase);
  });
});

describe("the status writer", () => {
  test("puts right what somebody else overwrote", async () => {
    await using rig = await new Rig().start();
    await rig.createPod("web");

    rig.client.edit(
      resources.pods,
      "web",
      (pod) => {
        for (const condition of pod.status?.conditions ?? []) if (condition.type === "Ready") condition.status = "False";
      },
      "default",
    );
    await rig.settle();

    expect(rig.pod("web")?.status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
  });

  test("does not replace a final phase of somebody else that the watch has not told of yet", async () => {
    await using rig = await new Rig().start();
    const ref = await rig.createPod("web");
    const { resourceVersion } = rig.pod("web")?.metadata ?? {};
    let isLate = true;
    using _fault = rig.client.intercept((call) => {
      if (call.verb !== "patch" || !isLate) return;
      isLate = false;
      rig.client.edit(resources.pods, "web", (pod) => void (pod.status = { ...pod.status, phase: "Failed", reason: "Evicted" }), "default");
    });

    rig.provider.report(ref, ended(running(["main"])));
    await rig.pass(5_000);

    expect(isLate).toBe(false);
    expect(rig.pod("web")?.metadata?.resourceVersion).not.toBe(resourceVersion);
    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "Evicted" });
    expect(rig.pod("web")?.status?.containerStatuses?.[0]?.state?.terminated).toBeDefined();
  });

  test("nor after a write of its own that met that one", async () => {
    await using rig = await new Rig().start();
    const ref = await rig.createPod("web");
    const { client } = rig;
    client.withholdEvents(resources.pods);
    client.edit(resources.pods, "web", (pod) => void (pod.status = { ...pod.status, phase: "Failed", reason: "Evicted" }), "default");

    rig.provider.report(ref, { ...ended(running(["main"])), phase: "Running", endsWhenGone: true });
    await rig.pass(5_000);
    rig.provider.report(ref, { ...ended(running(["main"])), phase: "Succeeded", endsWhenGone: true });
    await rig.pass(5_000);

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "Evicted" });
    expect(rig.pod("web")?.status?.containerStatuses?.[0]?.state?.terminated).toBeDefined();
  });

  test("does not repeat a patch the server takes without effect", async () => {
    await using rig = await new Rig({}, everything, ForgetfulClient).start();

    await rig.createPod("web");
    await rig.pass(600_000);

    expect(rig.pod("web")?.status?.phase).toBe("Running");
    expect(rig.pod("web")?.status?.hostIPs).toBeUndefined();
    expect(rig.patches).toBeLessThanOrEqual(2);
  });

  test("touches no label, annotation or spec", async () => {
    await using rig = await new Rig().start();
    await rig.createPod("web");

    for (const call of rig.client.callsOf("patch", "pods", "status")) {
      const { body } = call.body as { body: Record<string, unknown> };
      expect(Object.keys(body).toSorted()).toEqual(["metadata", "status"]);
      expect(["uid", "resourceVersion"]).toEqual(expect.arrayContaining(Object.keys(body["metadata"] as object)));
    }
  });

  test("tries again after the API server failed", async () => {
    await using rig = await new Rig().start();
    let failures = 3;
    using _fault = rig.client.intercept((call) => {
      if (call.verb === "patch" && failures-- > 0) throw new UnavailableError("overloaded");
    });

    await rig.createPod("web");
    await rig.pass(30_000);

    expect(rig.pod("web")?.status?.phase).toBe("Running");
  });
});
