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

/** Options of a {@link RecordingProvider}. */
export interface RecordingProviderOptions extends BackendTimings {
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** Whether the provider reports changes (default) or is polled. */
  readonly mode?: "notify" | "poll" | undefined;
  /** Description of the node. Default: 64 CPUs, 256 GiB and 1000 pods on Linux. */
  readonly node?: NodeDescription | undefined;
  /** Default: everything that the tests' pods need. */
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
 * An in-memory provider that records every call and follows scripts. Like a real back end, its back end survives when a node
 * stops and another node starts with the same {@link RecordingProvider.definition}.
 */
export class RecordingProvider {
  /** Definition that passes this provider to a node. */
  readonly definition: ProviderDefinition<Record<never, never>>;
  /** The provider's back end. Tests change it and observe the node. */
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
   * Violations that a node must never cause: two concurrent calls of `createPod`, `updatePod` and `deletePod` for one pod, or a second
   * live instance of a pod. Empty if there are none.
   */
  get violations(): readonly string[] {
    return this.#log.violations;
  }

  /** All changes at the back end, oldest first. */
  get changes(): readonly { readonly change: InstanceChange; readonly instance: Instance }[] {
    return this.#changes;
  }

  /** Number of instances created for the pod. */
  creates(uid: string): number {
    return this.#count("created", uid);
  }

  /** Number of the pod's instances that have been removed. */
  deletes(uid: string): number {
    return this.#count("removed", uid);
  }

  /** Changes the back end's delays from now on. */
  setTimings(timings: BackendTimings): void {
    this.#options = { ...this.#options, ...timings };
  }

  /** Adds a script for calls of a method, until it is disposed or used up. */
  script(method: ProviderMethod, script: CallScript): Disposable {
    return this.#scripts.add(method, script);
  }

  /** Reports this update as the provider, regardless of the back end. */
  report(update: PodUpdate): void {
    for (const listener of this.#listeners) listener(update);
  }

  /** Changes the node's description and notifies the node. */
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
