import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import {
  createHttpTransport,
  createKubeClient,
  loadCredentials,
  noMetrics,
  Reflector,
  resources,
  silentLogger,
  type DeepReadonly,
  type Pod,
} from "@virtual-kubelet/kube-client";
import type { ControlPlaneAccess } from "@virtual-kubelet/testing";
import type { StartQuantiles } from "./conformance-record.ts";
import { refusalOf } from "./pod-refusals.ts";

/** Observations of the tests' pods. */
export interface ObservedPods {
  /** Times from the first observation of a pod until it was observed running; `undefined` if there were no such pods. */
  readonly starts: StartQuantiles | undefined;
  /** Refusals of the node's policy, by namespace. */
  readonly refusals: ReadonlyMap<string, string>;
}

/** Watches pods while tests make them. */
export class PodObserver implements AsyncDisposable {
  readonly #cleanup = new AsyncDisposableStack();
  readonly #seenAtMs = new Map<string, number>();
  readonly #tookMs: number[] = [];
  #refusals = new Map<string, string>();

  /** Watches all pods from now on. */
  static async follow({ kubeconfig }: ControlPlaneAccess): Promise<PodObserver> {
    const observer = new PodObserver();
    const credentials = await loadCredentials({ kubeconfig: kubeconfig.path, env: {}, clock: systemClock });
    const transport = observer.#cleanup.use(createHttpTransport({ credentials }));
    const reflector = new Reflector<Pod>({
      client: createKubeClient(transport),
      resource: resources.pods,
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      metrics: noMetrics,
    });
    observer.#cleanup.use(reflector.store.subscribe(({ uid, object }) => observer.#take(uid, object)));
    const stop = new AbortController();
    const running = reflector.run(stop.signal).catch(() => {});
    observer.#cleanup.defer(async () => {
      stop.abort();
      await running;
    });
    await reflector.synced;
    return observer;
  }

  /** Observations since the last call. */
  drain(): ObservedPods {
    const sorted = this.#tookMs.splice(0).toSorted((a, b) => a - b);
    const at = (share: number): number => (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN) / 1000;
    const starts = sorted.length === 0 ? undefined : { pods: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99) };
    const refusals = this.#refusals;
    this.#refusals = new Map();
    return { starts, refusals };
  }

  #take(uid: string, { metadata, status }: DeepReadonly<Pod>): void {
    const refusal = refusalOf(status);
    if (refusal !== undefined) this.#refusals.set(metadata?.namespace ?? "", refusal);
    const nowMs = systemClock.monotonic();
    const seenAtMs = this.#seenAtMs.get(uid);
    if (seenAtMs === undefined) this.#seenAtMs.set(uid, nowMs);
    else if (status?.phase === "Running" && !Number.isNaN(seenAtMs)) {
      this.#tookMs.push(nowMs - seenAtMs);
      this.#seenAtMs.set(uid, Number.NaN);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#cleanup.disposeAsync();
  }
}
