import { NotFoundError } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { PodRef } from "../provider/pod-ref.ts";
import type {
  DeletePodOptions,
  Owner,
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

/**
 * A provider in memory that does what the test says: by default a pod runs once it is created, and has ended once it
 * is deleted. It throws where it is called twice at once for one pod.
 */
export class ScriptedProvider implements PodLifecycleHandler, PodNotifier {
  /** Every call, as `method name`, with the grace of a deletion behind it. */
  readonly calls: string[] = [];
  readonly held: Map<string, ProviderPod> = new Map();
  readonly owner: Owner;
  complete = true;
  /** Whether a created pod is reported Running, and a deleted one ended, at once. */
  reports = true;
  #listener: ((update: PodUpdate) => void) | undefined;
  readonly #scripts = new Map<ScriptedMethod, (ref: PodRef | undefined, signal: AbortSignal) => void | Promise<void>>();
  readonly #busy = new Set<string>();

  constructor(owner: Owner) {
    this.owner = owner;
  }

  /** Runs before each call of the method: throw to make it fail, wait to make it hang. */
  script(method: ScriptedMethod, run: (ref: PodRef | undefined, signal: AbortSignal) => void | Promise<void>): void {
    this.#scripts.set(method, run);
  }

  /** Takes a script away. */
  unscript(method: ScriptedMethod): void {
    this.#scripts.delete(method);
  }

  /** Reports a status, as the back end sees it. */
  report(ref: PodRef, status: ProviderPodStatus): void {
    const held = this.held.get(ref.uid);
    if (held) this.held.set(ref.uid, { ...held, status });
    this.#listener?.({ ref, status });
  }

  /** Loses the pod, and says so unless told not to. */
  lose(ref: PodRef, options: { readonly silently?: boolean } = {}): void {
    this.held.delete(ref.uid);
    if (!options.silently) this.#listener?.({ ref, gone: true });
  }

  notifyPods(listener: (update: PodUpdate) => void): void {
    this.#listener = listener;
  }

  async createPod(pod: DeepReadonly<Pod>, _resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    const ref = { namespace: pod.metadata?.namespace ?? "", name: pod.metadata?.name ?? "", uid: pod.metadata?.uid ?? "" };
    await this.#exclusive("createPod", ref, signal);
    const containers = pod.spec?.containers ?? [];
    const status = running(containers.map(({ name }) => name));
    this.held.set(ref.uid, { ref, owner: this.owner, status: this.reports ? status : { phase: "Pending" } });
    if (this.reports) this.#listener?.({ ref, status });
  }

  async updatePod(pod: DeepReadonly<Pod>, _resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    await this.#exclusive("updatePod", { namespace: "", name: pod.metadata?.name ?? "", uid: pod.metadata?.uid ?? "" }, signal);
  }

  async deletePod(ref: PodRef, { gracePeriodSeconds }: DeletePodOptions, signal: AbortSignal): Promise<void> {
    await this.#exclusive("deletePod", ref, signal, ` ${gracePeriodSeconds}`);
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

  async #exclusive(method: ScriptedMethod, ref: PodRef, signal: AbortSignal, detail = ""): Promise<void> {
    this.calls.push(`${method} ${ref.name}${detail}`);
    if (this.#busy.has(ref.uid)) throw new Error(`${method} of ${ref.name} during another call for it`);
    this.#busy.add(ref.uid);
    try {
      await this.#scripts.get(method)?.(ref, signal);
    } finally {
      this.#busy.delete(ref.uid);
    }
  }
}

/** A status in which all these containers run. */
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

/** The status after all of its containers have ended well. */
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
