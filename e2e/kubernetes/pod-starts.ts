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
import type { StartQuantiles } from "./conformance-page.ts";

/** How long pods take from when they are first seen until they are seen running, while tests make them. */
export class PodStarts implements AsyncDisposable {
  readonly #cleanup = new AsyncDisposableStack();
  readonly #seenAtMs = new Map<string, number>();
  readonly #tookMs: number[] = [];

  /** Watches all pods from now on. */
  static async follow({ kubeconfig }: ControlPlaneAccess): Promise<PodStarts> {
    const starts = new PodStarts();
    const credentials = await loadCredentials({ kubeconfig: kubeconfig.path, env: {}, clock: systemClock });
    const transport = starts.#cleanup.use(createHttpTransport({ credentials }));
    const reflector = new Reflector<Pod>({
      client: createKubeClient(transport),
      resource: resources.pods,
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      metrics: noMetrics,
    });
    starts.#cleanup.use(reflector.store.subscribe(({ uid, object }) => starts.#take(uid, object)));
    const stop = new AbortController();
    const running = reflector.run(stop.signal).catch(() => {});
    starts.#cleanup.defer(async () => {
      stop.abort();
      await running;
    });
    await reflector.synced;
    return starts;
  }

  /** What was seen since it was last called. */
  drain(): StartQuantiles {
    const sorted = this.#tookMs.splice(0).toSorted((a, b) => a - b);
    const at = (share: number): number => (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN) / 1000;
    return { pods: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99) };
  }

  #take(uid: string, { status }: DeepReadonly<Pod>): void {
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
