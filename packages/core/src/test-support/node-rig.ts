import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import {
  resources,
  type LogFields,
  type Logger,
  type MetricLabels,
  type Metrics,
  type Pod,
  type PodSpec,
} from "@virtual-kubelet/kube-client";
import { kubernetesVersion } from "../node/node-object.ts";
import type { NodeOptions, VirtualNodeOptions } from "../virtual-node/options.ts";
import type { Capabilities } from "../provider/capabilities.ts";
import { podRef, type PodRef } from "../provider/pod-ref.ts";
import type { ProviderHost } from "../provider/provider-host.ts";
import type { Owner } from "../provider/pod-lifecycle.ts";
import type { Provider } from "../provider/provider.ts";
import type { ProviderDefinition } from "../provider/provider-definition.ts";
import { SharedCluster } from "../shared-cluster/shared-cluster.ts";
import type { RunOptions } from "../virtual-node/run-options.ts";
import { VirtualNode } from "../virtual-node/virtual-node.ts";
import { FakeKubeClient } from "./fake-kube-client.ts";
import { ScriptedProvider } from "./scripted-provider.ts";

/** Options of a {@link NodeRig}; those of the node override the rig's defaults. */
export interface NodeRigOptions extends Partial<Omit<VirtualNodeOptions, "node" | "provider" | "client">> {
  /** Creates the API server; default: {@link FakeKubeClient}. */
  readonly client?: (clock: VirtualClock) => FakeKubeClient;
  readonly node?: Partial<NodeOptions>;
  readonly capabilities?: Capabilities;
  /** Overrides fields of the provider's definition. */
  readonly definition?: Partial<ProviderDefinition>;
  /** Overrides methods of the provider; `undefined` removes a method. */
  readonly provider?: ProviderChanges;
  /** Whether the node has a {@link SharedCluster}. Default: `false`. */
  readonly shares?: boolean;
  /** An earlier node, whose API server, clock and back end this one uses. */
  readonly after?: NodeRig;
}

/** Methods that replace the provider's own; `undefined` for a method that the provider lacks. */
export type ProviderChanges = { readonly [K in keyof Provider]?: Provider[K] | undefined };

const everything: Capabilities = { env: true, multipleContainers: true, initContainers: true, restarts: true };

/** A complete node with an in-memory Kubernetes API, a virtual clock, and a provider that the test controls. */
export class NodeRig implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly client: FakeKubeClient;
  readonly owner: Owner = { clusterId: "cluster-1", nodeName: "node-1" };
  readonly provider: ScriptedProvider;
  /** Messages that were logged as warnings or errors. */
  readonly warnings: string[] = [];
  /** Counters that were incremented, as `name label…`, once for each increment. */
  readonly counted: string[] = [];
  /** Last value of each gauge and histogram, by `name label…`. */
  readonly measured: Map<string, number> = new Map();
  /** Error thrown by `ping`; `undefined` when the ping succeeds. */
  pingFailure: Error | undefined;
  host: ProviderHost | undefined;
  readonly node: VirtualNode;
  readonly #shared: SharedCluster | undefined;
  readonly abort: AbortController = new AbortController();
  /** Resolves with `ended` or with the error of {@link VirtualNode.run}; pending while the node runs. */
  outcome: Promise<unknown> = Promise.resolve("not started");

  constructor(options: NodeRigOptions = {}) {
    const { after, client, capabilities = everything, definition, node, provider: providerChanges, shares = false, ...rest } = options;
    this.clock = after?.clock ?? new VirtualClock();
    this.client = after?.client ?? client?.(this.clock) ?? new FakeKubeClient(this.clock);
    this.provider = after?.provider ?? new ScriptedProvider(this.owner);
    if (!after) this.client.put(resources.namespaces, { metadata: { name: "kube-system", uid: this.owner.clusterId } });
    const random = new SeededRandom(1);
    const common = { client: this.client, clock: this.clock, random, logger: this.#logger(), metrics: this.#metrics() };
    this.#shared = shares ? new SharedCluster(common) : undefined;
    this.node = new VirtualNode({
      ...common,
      shared: this.#shared,
      provider: {
        name: "scripted",
        capabilities,
        configSchema: { safeParse: (data) => ({ success: true, data }) },
        create: (host) => {
          this.host = host;
          return this.#provider(providerChanges);
        },
        ...definition,
      },
      providerConfig: {},
      node: {
        name: this.owner.nodeName,
        capacity: { cpu: "10", memory: "10Gi", pods: "10" },
        address: "192.0.2.1",
        instance: { identity: "test" },
        kubeletVersion: node?.kubeletVersionOf ? undefined : kubernetesVersion,
        ...node,
      },
      ...rest,
    });
  }

  /** Starts the node and waits until it is ready. */
  async start(options: RunOptions = {}): Promise<this> {
    this.run(options);
    await this.settle(5_000);
    await this.node.ready;
    return this;
  }

  /** Starts the node without waiting until it is ready. */
  run(options: RunOptions = {}): void {
    this.outcome = this.node.run(this.abort.signal, options).then(
      () => "ended",
      (error: unknown) => error,
    );
  }

  /** Advances the clock and waits for everything that it triggers. */
  async settle(ms = 0): Promise<void> {
    for (let turn = 0; turn < 8; turn++) await this.clock.advance(turn === 0 ? ms : 0);
  }

  /** The value of {@link outcome}, or `pending`. */
  async stateOfRun(): Promise<unknown> {
    return Promise.race([this.outcome, Promise.resolve("pending")]);
  }

  /** Binds a pod to the node. By default it has one container `main`, which is always restarted. */
  async createPod(name: string, change: Partial<PodSpec> | ((pod: Pod) => void) = {}): Promise<PodRef> {
    const pod: Pod = {
      metadata: { namespace: "default", name },
      spec: {
        nodeName: this.owner.nodeName,
        restartPolicy: "Always",
        containers: [{ name: "main", image: "busybox" }],
        ...(typeof change === "object" && change),
      },
      status: { phase: "Pending" },
    };
    if (typeof change === "function") change(pod);
    const stored = this.client.put(resources.pods, pod);
    await this.settle();
    return podRef(stored);
  }

  /** Deletes a pod as a user does. */
  async deletePod(name: string, gracePeriodSeconds: number): Promise<void> {
    const { signal } = new AbortController();
    await this.client.delete(resources.pods, { namespace: "default", name }, { gracePeriodSeconds }, { signal });
    await this.settle();
  }

  /** Changes a pod as a user does. */
  async editPod(name: string, change: (pod: Pod) => void): Promise<void> {
    this.client.edit(resources.pods, name, change, "default");
    await this.settle();
  }

  pod(name: string): Pod | undefined {
    return this.client.peek(resources.pods, name, "default");
  }

  putSecret(name: string, value: string): void {
    this.client.put(resources.secrets, { metadata: { namespace: "default", name }, data: { key: Buffer.from(value).toString("base64") } });
  }

  /** State of the pod's first container: `running`, `none`, or the reason and message of its waiting. */
  containerState(name: string): string {
    const { waiting, running } = this.pod(name)?.status?.containerStatuses?.[0]?.state ?? {};
    return running ? "running" : waiting ? `${waiting.reason} ${waiting.message ?? ""}`.trim() : "none";
  }

  /** The reason why the pod's first container waits. */
  waitingReason(name: string): string | undefined {
    return this.pod(name)?.status?.containerStatuses?.[0]?.state?.waiting?.reason;
  }

  /** How often the provider received a call such as `createPod web`. */
  callsOf(call: string): number {
    return this.provider.calls.filter((made) => made === call).length;
  }

  /** Events on the pod or node of this name, as `type reason: message`. */
  eventsOn(name: string): string[] {
    return this.client
      .callsOf("create", "events")
      .map(({ body }) => body as { involvedObject: { name?: string }; type: string; reason: string; message: string })
      .filter(({ involvedObject }) => involvedObject.name === name)
      .map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.abort.abort();
    this.#shared?.[Symbol.dispose]();
    await this.settle(60_000);
    await this.outcome;
  }

  #provider(changes: ProviderChanges = {}): Provider {
    const { provider } = this;
    const whole: Provider = {
      ping: async () => {
        if (this.pingFailure) throw this.pingFailure;
      },
      notifyPods: (listener) => provider.notifyPods(listener),
      createPod: (pod, resolved, signal) => provider.createPod(pod, resolved, signal),
      updatePod: (pod, resolved, signal, given) => provider.updatePod(pod, resolved, signal, given),
      deletePod: (ref, options, signal) => provider.deletePod(ref, options, signal),
      getPod: (ref, signal) => provider.getPod(ref, signal),
      getPodStatus: (ref, signal) => provider.getPodStatus(ref, signal),
      getPods: (signal) => provider.getPods(signal),
    };
    return Object.assign(whole, changes);
  }

  #logger(): Logger {
    const ignore = (): void => {};
    const warn = (_fields: LogFields, message: string): void => void this.warnings.push(message);
    return { debug: ignore, info: ignore, warn, error: warn, child: () => this.#logger() };
  }

  #metrics(): Metrics {
    const named = (name: string, labels: MetricLabels = {}): string => [name, ...Object.values(labels)].join(" ");
    const measure = (name: string, value: number, labels?: MetricLabels): void => void this.measured.set(named(name, labels), value);
    return {
      count: (name, labels) => void this.counted.push(named(name, labels)),
      gauge: measure,
      observe: measure,
    };
  }
}
