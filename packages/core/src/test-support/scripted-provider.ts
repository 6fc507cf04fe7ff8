import { NotFoundError } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { podRef, type PodRef } from "../provider/pod-ref.ts";
import type {
  DeletePodOptions,
  Owner,
  PodChanges,
  PodLifecycleHandler,
  PodNotifier,
  PodUpdate,
  ProviderPod,
  ProviderPodList,
  ProviderPodStatus,
} from "../provider/pod-lifecycle.ts";
import type { ResolvedPod } from "../provider/resolved-pod.ts";

/** A method whose calls can be made to wait or fail. */
export type ScriptedMethod = "createPod" | "updatePod" | "deletePod" | "getPod" | "getPods";

/** Test code that stands for the work of a provider on a pod. */
export type PodAction = (pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal) => void | Promise<void>;

/**
 * An in-memory provider that tests control. By default a pod runs as soon as it is created, and ends as soon as it is deleted. It
 * throws if it is called for a pod while another call for the pod is running.
 */
export class ScriptedProvider implements PodLifecycleHandler, PodNotifier {
  /** Every call, as `method name`; a deletion as `deletePod name gracePeriodSeconds`. */
  readonly calls: string[] = [];
  /** Pods passed to `createPod`, oldest first. */
  readonly given: DeepReadonly<Pod>[] = [];
  readonly held: Map<string, ProviderPod> = new Map();
  readonly owner: Owner;
  complete = true;
  /** Whether a created pod is reported as Running at once, and a deleted pod as ended. */
  reports = true;
  /** Runs before a pod is created; default: nothing. */
  onCreate: PodAction = () => {};
  /** Runs before a pod is updated; default: nothing. */
  onUpdate: (...call: Parameters<PodLifecycleHandler["updatePod"]>) => void | Promise<void> = () => {};
  #listener: ((update: PodUpdate) => void) | undefined;
  readonly #scripts = new Map<ScriptedMethod, (ref: PodRef | undefined, signal: AbortSignal) => void | Promise<void>>();
  readonly #busy = new Set<string>();

  constructor(owner: Owner) {
    this.owner = owner;
  }

  /** Runs before each call of the method: a function that throws makes the call fail, one that waits makes it hang. */
  script(method: ScriptedMethod, run: (ref: PodRef | undefined, signal: AbortSignal) => void | Promise<void>): void {
    this.#scripts.set(method, run);
  }

  /** Removes a script. */
  unscript(method: ScriptedMethod): void {
    this.#scripts.delete(method);
  }

  /** Changes the pod's status at the back end and reports it. */
  report(ref: PodRef, status: ProviderPodStatus): void {
    const held = this.held.get(ref.uid);
    if (held) this.held.set(ref.uid, { ...held, status });
    this.#listener?.({ ref, status });
  }

  /** Removes the pod from the back end, and reports it as gone unless `silently` is set. */
  lose(ref: PodRef, options: { readonly silently?: boolean } = {}): void {
    this.held.delete(ref.uid);
    if (!options.silently) this.#listener?.({ ref, gone: true });
  }

  notifyPods(listener: (update: PodUpdate) => void): void {
    this.#listener = listener;
  }

  async createPod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    const ref = podRef(pod);
    this.given.push(pod);
    await this.#exclusive("createPod", ref, signal, { act: () => this.onCreate(pod, resolved, signal) });
    const containers = pod.spec?.containers ?? [];
    const status = running(containers.map(({ name }) => name));
    this.held.set(ref.uid, { ref, owner: this.owner, status: this.reports ? status : { phase: "Pending" } });
    if (this.reports) this.#listener?.({ ref, status });
  }

  async updatePod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal, changes: PodChanges): Promise<void> {
    await this.#exclusive("updatePod", podRef(pod), signal, { act: () => this.onUpdate(pod, resolved, signal, changes) });
  }

  async deletePod(ref: PodRef, { gracePeriodSeconds }: DeletePodOptions, signal: AbortSignal): Promise<void> {
    await this.#exclusive("deletePod", ref, signal, { detail: ` ${gracePeriodSeconds}` });
    const held = this.held.get(ref.uid);
    if (!held) throw new NotFoundError(`no pod with UID ${ref.uid}`);
    if (!this.reports) return;
    this.held.delete(ref.uid);
    this.#listener?.({ ref, status: ended(held.status) });
  }

  async getPod(ref: PodRef, signal: AbortSignal): Promise<ProviderPod> {
    await this.#exclusive("getPod", ref, signal);
    const held = this.held.get(ref.uid);
    if (!held) throw new NotFoundError(`no pod with UID ${ref.uid}`);
    return held;
  }

  async getPodStatus(ref: PodRef, signal: AbortSignal): Promise<ProviderPodStatus> {
    return (await this.getPod(ref, signal)).status;
  }

  async getPods(signal: AbortSignal): Promise<ProviderPodList> {
    this.calls.push("getPods");
    await this.#scripts.get("getPods")?.(undefined, signal);
    return { pods: [...this.held.values()], complete: this.complete };
  }

  async #exclusive(
    method: ScriptedMethod,
    ref: PodRef,
    signal: AbortSignal,
    { detail = "", act }: { readonly detail?: string; readonly act?: () => void | Promise<void> } = {},
  ): Promise<void> {
    this.calls.push(`${method} ${ref.name}${detail}`);
    if (this.#busy.has(ref.uid)) throw new Error(`${method} of ${ref.name} during another call for it`);
    this.#busy.add(ref.uid);
    try {
      await this.#scripts.get(method)?.(ref, signal);
      await act?.();
    } finally {
      this.#busy.delete(ref.uid);
    }
  }
}

/** Status of a pod whose containers all run. */
export function running(containers: readonly string[], podIP = "10.0.0.1"): ProviderPodStatus {
  return {
    phase: "Running",
    podIP,
    containerStatuses: containers.map((name) => ({
      name,
      image: "busybox",
      imageID: "",
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
    })),
  };
}

/** The status after all containers have exited with code 0. */
export function ended(status: ProviderPodStatus): ProviderPodStatus {
  return {
    ...status,
    phase: "Succeeded",
    containerStatuses: (status.containerStatuses ?? []).map((container) => ({
      ...container,
      ready: false,
      state: { terminated: { exitCode: 0, reason: "Completed", finishedAt: "2026-01-01T00:01:00Z" } },
    })),
  };
}
