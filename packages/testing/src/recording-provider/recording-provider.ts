import { systemClock } from "@virtual-kubelet/clock";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import type {
  Capabilities,
  Clock,
  ConfigSchema,
  NodeDescription,
  Owner,
  PodRef,
  PodUpdate,
  Provider,
  ProviderDefinition,
  ProviderHost,
} from "@virtual-kubelet/core";
import { toInstanceRequest, type Instance } from "../pretend-backend/instance.ts";
import { toProviderPod, toProviderPodStatus } from "../pretend-backend/instance-status.ts";
import { PretendBackend, toPodUpdate, type BackendTimings, type InstanceChange } from "../pretend-backend/pretend-backend.ts";
import { CallLog, type ProviderMethod, type RecordedCall } from "./call-log.ts";
import { CallScripts, type CallScript } from "./call-scripts.ts";

/** How a {@link RecordingProvider} behaves where no script says otherwise. */
export interface RecordingProviderOptions extends BackendTimings {
  /** Default: the machine's. */
  readonly clock?: Clock | undefined;
  /** Whether it reports changes by itself (default) or waits to be polled. */
  readonly mode?: "notify" | "poll" | undefined;
  /** What it says of the node; default 64 CPUs, 256 GiB and 1000 pods on Linux. */
  readonly node?: NodeDescription | undefined;
  /** Default: all that pods of the tests need. */
  readonly capabilities?: Capabilities | undefined;
}

const defaultCapabilities: Capabilities = {
  initContainers: true,
  multipleContainers: true,
  env: true,
  restarts: true,
  volumes: ["configMap", "downwardAPI", "emptyDir", "projected", "secret"],
  operatingSystems: ["linux"],
};

/**
 * A provider in memory that records every call and does as it is told. Its back end stays when a node is stopped and
 * another is started with the same {@link RecordingProvider.definition}, as a real one does.
 */
export class RecordingProvider {
  /** Hands this provider to a node. */
  readonly definition: ProviderDefinition<Record<never, never>>;
  /** What the provider's back end runs. Change it to see what the node makes of it. */
  readonly backend: PretendBackend;
  readonly #clock: Clock;
  readonly #log: CallLog;
  readonly #scripts: CallScripts;
  readonly #listeners = new Set<(update: PodUpdate) => void>();
  readonly #changes: { readonly change: InstanceChange; readonly instance: Instance }[] = [];
  #options: RecordingProviderOptions;
  #nodeListener: (() => void) | undefined;
  #instances = 0;

  constructor(options: RecordingProviderOptions = {}) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = new CallLog(this.#clock);
    this.#scripts = new CallScripts(this.#clock);
    this.backend = new PretendBackend({
      clock: this.#clock,
      nextInstanceId: () => `instance-${String(++this.#instances)}`,
      nextPodIP: () =>
        `10.${String(64 + ((this.#instances >> 16) & 0x3f))}.${String((this.#instances >> 8) & 0xff)}.${String(this.#instances & 0xff)}`,
      timings: () => this.#options,
      onChange: (instance, change) => this.#onChange(instance, change),
    });
    this.definition = {
      name: "recording",
      capabilities: options.capabilities ?? defaultCapabilities,
      configSchema: anyConfig,
      create: (host) => this.#provider(host),
    };
  }

  /** Every call, oldest first. */
  get calls(): readonly RecordedCall[] {
    return this.#log.calls;
  }

  /** Calls of one method, oldest first; of one pod if named. */
  callsOf(method: ProviderMethod, uid?: string): RecordedCall[] {
    return this.#log.calls.filter((call) => call.method === method && (uid === undefined || call.ref?.uid === uid));
  }

  /**
   * What a node must never do: two of `createPod`, `updatePod` and `deletePod` at once for one pod, or a second live
   * instance of one. Empty if all is well.
   */
  get violations(): readonly string[] {
    return this.#log.violations;
  }

  /** All that happened at the back end, oldest first. */
  get changes(): readonly { readonly change: InstanceChange; readonly instance: Instance }[] {
    return this.#changes;
  }

  /** How many instances were made for the pod. */
  creates(uid: string): number {
    return this.#count("created", uid);
  }

  /** How many of the pod's instances are gone again. */
  deletes(uid: string): number {
    return this.#count("removed", uid);
  }

  /** Changes how long the back end takes from now on. */
  setTimings(timings: BackendTimings): void {
    this.#options = { ...this.#options, ...timings };
  }

  /** Says how calls of a method go from now on, until it is disposed or used up. */
  script(method: ProviderMethod, script: CallScript): Disposable {
    return this.#scripts.add(method, script);
  }

  /** Reports this as the provider, whatever the back end holds. */
  report(update: PodUpdate): void {
    for (const listener of this.#listeners) listener(update);
  }

  /** Describes the node anew, and asks the node to look. */
  describeNode(node: NodeDescription): void {
    this.#options = { ...this.#options, node };
    this.#nodeListener?.();
  }

  #count(change: InstanceChange, uid: string): number {
    return this.#changes.filter((entry) => entry.change === change && entry.instance.ref.uid === uid).length;
  }

  #onChange(instance: Instance, change: InstanceChange): void {
    const { uid } = instance.ref;
    this.#changes.push({ change, instance });
    if (change === "created") {
      const alive = this.backend.of(uid).filter(({ state }) => state.kind !== "ended");
      if (alive.length > 1) this.#log.violations.push(`pod ${uid} has ${String(alive.length)} live instances`);
    }
    this.report(toPodUpdate(instance, change));
  }

  #provider(host: ProviderHost): Provider {
    const owner: Owner = { clusterId: host.clusterId, nodeName: host.nodeName };
    const log = this.#log;
    const scripts = this.#scripts;
    const { backend } = this;
    const listeners = this.#listeners;
    let ownListener: ((update: PodUpdate) => void) | undefined;

    const isOurs = (instance: Instance): boolean =>
      instance.owner.clusterId === owner.clusterId && instance.owner.nodeName === owner.nodeName;
    const instanceOf = (ref: PodRef): Instance => {
      const instance = backend.of(ref.uid).at(-1);
      if (instance === undefined) throw new NotFoundError(`there is no instance for pod ${ref.namespace}/${ref.name} (${ref.uid})`);
      return instance;
    };
    const call = <T>(
      subject: { readonly method: ProviderMethod; readonly ref?: PodRef; readonly gracePeriodSeconds?: number },
      signal: AbortSignal,
      act: () => T,
    ): Promise<T> => log.record(subject, () => scripts.play(subject, signal, act));

    const polled: Provider = {
      createPod(pod, _resolved, signal) {
        const request = toInstanceRequest(pod, owner);
        return call({ method: "createPod", ref: request.ref }, signal, () => {
          if (backend.of(request.ref.uid).length === 0) backend.create(request);
        });
      },
      updatePod: (pod, _resolved, signal) => call({ method: "updatePod", ref: toInstanceRequest(pod, owner).ref }, signal, () => undefined),
      deletePod: (ref, { gracePeriodSeconds }, signal) =>
        call({ method: "deletePod", ref, gracePeriodSeconds }, signal, () => {
          instanceOf(ref);
          backend.stop(ref.uid, gracePeriodSeconds);
        }),
      getPod: (ref, signal) => call({ method: "getPod", ref }, signal, () => toProviderPod(instanceOf(ref))),
      getPodStatus: (ref, signal) => call({ method: "getPodStatus", ref }, signal, () => toProviderPodStatus(instanceOf(ref))),
      getPods: (signal) =>
        call({ method: "getPods" }, signal, () => ({ pods: backend.list().filter(isOurs).map(toProviderPod), complete: true })),
      ping: (signal) => call({ method: "ping" }, signal, () => undefined),
      configureNode: (signal) => call({ method: "configureNode" }, signal, () => this.#options.node ?? defaultNode),
      notifyNodeStatus: (listener) => {
        this.#nodeListener = listener;
      },
      [Symbol.asyncDispose]: () => {
        if (ownListener !== undefined) listeners.delete(ownListener);
        return Promise.resolve();
      },
    };
    if (this.#options.mode === "poll") return polled;
    return {
      ...polled,
      notifyPods(listener) {
        ownListener = listener;
        listeners.add(listener);
      },
    };
  }
}

const defaultNode: NodeDescription = { capacity: { cpu: "64", memory: "256Gi", pods: "1000" }, operatingSystem: "linux" };

const anyConfig: ConfigSchema<Record<never, never>> = { safeParse: () => ({ success: true, data: {} }) };
