import { setTimeout as delay } from "node:timers/promises";
import { Api, followPods, type WatchedPod } from "./api.ts";
import type { EmbeddedProcess } from "./embedded-process.ts";

/** Makes so many pods at once; resolves when all run, with what removes them. `round` names them. */
export type Runner = (count: number, round: string) => Promise<() => Promise<void>>;

/** Pods at the API server: from their creation until a watch shows them Running. */
export function podRunner(
  { access }: EmbeddedProcess,
  { node, image, command }: { readonly node: string; readonly image: string; readonly command?: readonly string[] },
): Runner {
  return async (count, round) => {
    const api = new Api(access, { connections: count + 1 });
    const names = Array.from({ length: count }, (_, index) => `${round}-${index}`);
    const watch = new PodWatch(access, round);
    const containers = [{ name: "main", image, ...(command && { command }), imagePullPolicy: "IfNotPresent" }];
    await Promise.all(
      names.map(async (name) => {
        await api.send("POST", "/api/v1/namespaces/default/pods", {
          metadata: { name, labels: { round } },
          spec: { nodeName: node, containers, automountServiceAccountToken: false, terminationGracePeriodSeconds: 1 },
        });
        await watch.untilRunning(name);
      }),
    );
    return async () => {
      await Promise.all(
        names.map(async (name) => {
          await api.send("DELETE", `/api/v1/namespaces/default/pods/${name}`);
          await watch.untilGone(name);
        }),
      );
      await watch[Symbol.asyncDispose]();
      await api.close();
    };
  };
}

/** The pods of a round, as a watch shows them. */
class PodWatch implements AsyncDisposable {
  readonly #api: Api;
  readonly #stop = new AbortController();
  readonly #pods = new Map<string, WatchedPod>();
  readonly #gone = new Set<string>();
  #changed = Promise.withResolvers<void>();
  readonly #following: Promise<void>;

  constructor(access: EmbeddedProcess["access"], round: string) {
    this.#api = new Api(access, { connections: 1 });
    this.#following = followPods(
      this.#api,
      `labelSelector=round%3D${round}`,
      (type, pod) => this.#take(type, pod),
      this.#stop.signal,
    ).catch(() => {});
  }

  /** @throws Error for a pod that never will */
  async untilRunning(name: string): Promise<void> {
    for (;;) {
      const phase = this.#pods.get(name)?.status?.phase ?? "Pending";
      if (phase === "Running") return;
      if (phase !== "Pending") throw new Error(`pod ${name} is ${phase} and not Running`);
      await this.#changed.promise;
    }
  }

  async untilGone(name: string): Promise<void> {
    while (!this.#gone.has(name)) await this.#changed.promise;
  }

  #take(type: string, pod: WatchedPod): void {
    if (type === "DELETED") this.#gone.add(pod.metadata.name);
    else this.#pods.set(pod.metadata.name, pod);
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#api.close();
    await this.#following;
  }
}

/**
 * How long a runner takes for so many pods, in milliseconds, removing them not counted.
 *
 * @param settleMs - before it begins: what was removed last has to be gone
 */
export async function timed(run: Runner, count: number, round: string, settleMs: number): Promise<number> {
  await delay(settleMs);
  const began = performance.now();
  const remove = await run(count, round);
  const ms = performance.now() - began;
  await remove();
  return ms;
}
