import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { resources, type LogFields, type Logger, type MetricLabels, type Metrics, type Pod } from "@virtual-kubelet/kube-client";
import type { NodeOptions, VirtualNodeOptions } from "../virtual-node/options.ts";
import type { Capabilities } from "../provider/capabilities.ts";
import { podRef, type PodRef } from "../provider/pod-ref.ts";
import type { ProviderHost } from "../provider/provider-host.ts";
import type { Owner } from "../provider/pod-lifecycle.ts";
import type { Provider } from "../provider/provider.ts";
import type { ProviderDefinition } from "../provider/provider-definition.ts";
import { VirtualNode, type RunOptions } from "../virtual-node/virtual-node.ts";
import { FakeKubeClient } from "./fake-kube-client.ts";
import { ScriptedProvider } from "./scripted-provider.ts";

/** What a rig's node is, besides what it has of itself. */
export interface NodeRigOptions extends Partial<Omit<VirtualNodeOptions, "node" | "provider" | "client">> {
  /** Makes the API server; default: the plain one. */
  readonly client?: (clock: VirtualClock) => FakeKubeClient;
  readonly node?: Partial<NodeOptions>;
  readonly capabilities?: Capabilities;
  /** Changes what the provider's definition says. */
  readonly definition?: Partial<ProviderDefinition>;
  /** Changes the provider: `undefined` takes a method away. */
  readonly provider?: ProviderChanges;
  /** Reuses what an earlier node left: its API server, its clock and its back end. */
  readonly after?: NodeRig;
}

/** Methods in place of the provider's own, and `undefined` for those it does not have. */
export type ProviderChanges = { readonly [K in keyof Provider]?: Provider[K] | undefined };

const everything: Capabilities = { env: true, multipleContainers: true, initContainers: true, restarts: true };

/** A whole node on a Kubernetes API in memory and a clock that stands still, with a provider that does what the test says. */
export class NodeRig implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly client: FakeKubeClient;
  readonly owner: Owner = { clusterId: "cluster-1", nodeName: "node-1" };
  readonly provider: ScriptedProvider;
  /** What was logged at the levels of warnings and errors, as `message`. */
  readonly warnings: string[] = [];
  /** What was counted, as `name label…`. */
  readonly counted: string[] = [];
  /** What was measured last, by `name label…`. */
  readonly measured: Map<string, number> = new Map();
  /** What the back end answers a ping with. */
  pingFailure: Error | undefined;
  host: ProviderHost | undefined;
  readonly node: VirtualNode;
  readonly abort: AbortController = new AbortController();
  /** `ended`, or what {@link VirtualNode.run} threw; pending while it runs. */
  outcome: Promise<unknown> = Promise.resolve("not started");

  constructor(options: NodeRigOptions = {}) {
    const { after, client, capabilities = everything, definition, node, provider: providerChanges, ...rest } = options;
    this.clock = after?.clock ?? new VirtualClock();
    this.client = after?.client ?? client?.(this.clock) ?? new FakeKubeClient(this.clock);
    this.provider = after?.provider ?? new ScriptedProvider(this.owner);
    if (!after) this.client.put(resources.namespaces, { metadata: { name: "kube-system", uid: this.owner.clusterId } });
    this.node = new VirtualNode({
      client: this.client,
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
        ...node,
      },
      clock: this.clock,
      random: new SeededRandom(1),
      logger: this.#logger(),
      metrics: this.#metrics(),
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

  /** Starts the node and waits for nothing. */
  run(options: RunOptions = {}): void {
    this.outcome = this.node.run(this.abort.signal, options).then(
      () => "ended",
      (error: unknown) => error,
    );
  }

  /** Lets time pass, and all that it sets off settle. */
  async settle(ms = 0): Promise<void> {
    for (let turn = 0; turn < 8; turn++) await this.clock.advance(turn === 0 ? ms : 0);
  }

  /** What {@link outcome} has come to, or `pending`. */
  async stateOfRun(): Promise<unknown> {
    return Promise.race([this.outcome, Promise.resolve("pending")]);
  }

  /** Binds a pod to the node. */
  async createPod(name: string, change: (pod: Pod) => void = () => {}): Promise<PodRef> {
    const pod: Pod = {
      metadata: { namespace: "default", name },
      spec: { nodeName: this.owner.nodeName, restartPolicy: "Always", containers: [{ name: "main", image: "busybox" }] },
      status: { phase: "Pending" },
    };
    change(pod);
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

  /** The reason for which the pod's first container waits. */
  waitingReason(name: string): string | undefined {
    return this.pod(name)?.status?.containerStatuses?.[0]?.state?.waiting?.reason;
  }

  /** How often the provider was called so: `createPod web`. */
  callsOf(call: string): number {
    return this.provider.calls.filter((made) => made === call).length;
  }

  /** Events on the pod, or on the node by its name, as `type reason: message`. */
  eventsOn(name: string): string[] {
    return this.client
      .callsOf("create", "events")
      .map(({ body }) => body as { involvedObject: { name?: string }; type: string; reason: string; message: string })
      .filter(({ involvedObject }) => involvedObject.name === name)
      .map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.abort.abort();
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
      updatePod: (pod, resolved, signal) => provider.updatePod(pod, resolved, signal),
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
