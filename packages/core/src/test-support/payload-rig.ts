import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { resources, type DeepReadonly, type LogFields, type Logger, type Pod, type PodSpec } from "@virtual-kubelet/kube-client";
import { inspect } from "node:util";
import type { VirtualNodeOptions } from "../virtual-node/options.ts";
import type { PodPolicy } from "../policy/pod-policy.ts";
import type { Capabilities } from "../provider/capabilities.ts";
import type { ProviderHost } from "../provider/provider-host.ts";
import type { ProviderPod } from "../provider/pod-lifecycle.ts";
import type { Provider } from "../provider/provider.ts";
import type { ProviderDefinition } from "../provider/provider-definition.ts";
import type { ResolvedPod } from "../provider/resolved-pod.ts";
import { VirtualNode } from "../virtual-node/virtual-node.ts";
import { FakeKubeClient } from "./fake-kube-client.ts";
import { ended, running } from "./scripted-provider.ts";

/** What a provider does with a pod and what its references come to. */
export type PodAction = (pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal) => void | Promise<void>;

/** What a rig's node is, besides what it has of itself. */
export interface PayloadRigOptions extends Partial<VirtualNodeOptions> {
  readonly capabilities?: Capabilities;
  /** What pods may ask of the node; default: all that the capabilities offer. */
  readonly policy?: PodPolicy;
}

const capabilities: Capabilities = { env: true, restarts: true, volumes: ["secret", "configMap", "projected", "downwardAPI"] };

/** A whole node on a Kubernetes API in memory and a clock that stands still, with a provider that does what the test says. */
export class PayloadRig implements AsyncDisposable {
  readonly clock: VirtualClock = new VirtualClock();
  readonly client: FakeKubeClient = new FakeKubeClient(this.clock);
  /** All that was logged, as text. */
  readonly logged: string[] = [];
  /** The pods the provider was given to create. */
  readonly given: DeepReadonly<Pod>[] = [];
  /** What it does with them, and on updates; by default nothing. */
  onCreate: PodAction = () => {};
  onUpdate: PodAction = () => {};
  host: ProviderHost | undefined;
  readonly #options: PayloadRigOptions;
  readonly #stop = new AbortController();
  readonly #held = new Map<string, ProviderPod>();
  #running: Promise<void> = Promise.resolve();

  constructor(options: PayloadRigOptions = {}) {
    this.#options = options;
  }

  /** Starts the node; resolves when it is ready. */
  async start(): Promise<this> {
    this.client.put(resources.namespaces, { metadata: { name: "kube-system", uid: "cluster-1" } });
    const node = new VirtualNode({
      client: this.client,
      provider: this.#definition(),
      providerConfig: {},
      node: { name: "node-1", capacity: { cpu: "10", memory: "10Gi", pods: "10" }, address: "192.0.2.1", instance: { identity: "test" } },
      clock: this.clock,
      random: new SeededRandom(1),
      logger: this.#logger({}),
      ...this.#options,
    });
    this.#running = node.run(this.#stop.signal);
    this.#running.catch(() => {});
    await this.settle(5_000);
    await node.ready;
    return this;
  }

  /** Lets time pass, and all that it sets off settle. */
  async settle(ms = 0): Promise<void> {
    for (let turn = 0; turn < 8; turn++) await this.clock.advance(turn === 0 ? ms : 0);
  }

  async createPod(name: string, spec: Partial<PodSpec> = {}): Promise<Pod> {
    const stored = this.client.put(resources.pods, {
      metadata: { namespace: "shop", name },
      spec: { nodeName: "node-1", restartPolicy: "Always", containers: [{ name: "app", image: "busybox" }], ...spec },
      status: { phase: "Pending" },
    });
    await this.settle();
    return stored;
  }

  putSecret(name: string, value: string): void {
    this.client.put(resources.secrets, { metadata: { namespace: "shop", name }, data: { key: Buffer.from(value).toString("base64") } });
  }

  pod(name: string): Pod | undefined {
    return this.client.peek(resources.pods, name, "shop");
  }

  /** The state of the pod's container, short. */
  state(name: string): string {
    const [status] = this.pod(name)?.status?.containerStatuses ?? [];
    const { waiting, running: isRunning } = status?.state ?? {};
    return isRunning ? "running" : waiting ? `${waiting.reason} ${waiting.message ?? ""}`.trim() : "none";
  }

  /** Events on pods, as `reason: message`. */
  async events(): Promise<string[]> {
    const { items } = await this.client.list(resources.events, { namespace: "shop" }, { signal: new AbortController().signal });
    return items.map(({ reason, message }) => `${reason}: ${message}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.settle(60_000);
    await this.#running;
  }

  #definition(): ProviderDefinition {
    return {
      name: "payload",
      capabilities: this.#options.capabilities ?? capabilities,
      policy: () => this.#options.policy,
      configSchema: { safeParse: (data) => ({ success: true, data }) },
      create: (host) => {
        this.host = host;
        return this.#provider(host);
      },
    };
  }

  #provider(host: ProviderHost): Provider {
    const owner = { clusterId: host.clusterId, nodeName: host.nodeName };
    let report: Parameters<NonNullable<Provider["notifyPods"]>>[0] = () => {};
    const find = (uid: string): ProviderPod => {
      const held = this.#held.get(uid);
      if (!held) throw new NotFoundError(`no pod with UID ${uid}`);
      return held;
    };
    return {
      notifyPods: (listener) => {
        report = listener;
      },
      createPod: async (pod, resolved, signal) => {
        this.given.push(pod);
        await this.onCreate(pod, resolved, signal);
        const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
        const status = running((pod.spec?.containers ?? []).map((container) => container.name));
        this.#held.set(uid, { ref: { namespace, name, uid }, owner, status });
        report({ ref: { namespace, name, uid }, status });
      },
      updatePod: async (pod, resolved, signal) => this.onUpdate(pod, resolved, signal),
      deletePod: async (ref) => {
        const { status } = find(ref.uid);
        this.#held.delete(ref.uid);
        report({ ref, status: ended(status) });
      },
      getPod: async ({ uid }) => find(uid),
      getPodStatus: async ({ uid }) => find(uid).status,
      getPods: async () => ({ pods: [...this.#held.values()], complete: true }),
    };
  }

  #logger(bound: LogFields): Logger {
    const log = (fields: LogFields, message: string): void =>
      void this.logged.push(`${message} ${inspect({ ...bound, ...fields }, { depth: 20, maxStringLength: null, maxArrayLength: null })}`);
    return { debug: log, info: log, warn: log, error: log, child: (fields) => this.#logger({ ...bound, ...fields }) };
  }
}
