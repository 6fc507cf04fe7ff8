import { setTimeout as delay } from "node:timers/promises";
import { Api, followPods, type WatchedPod } from "./api.ts";
import type { EmbeddedProcess } from "./embedded-process.ts";

/** Creates `count` pods at once; resolves when all run, with a function that removes them. `round` is part of their names. */
export type Runner = (count: number, round: string) => Promise<() => Promise<void>>;

/** Creates pods at the API server and waits until a watch shows them as Running. */
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

/** Watches the pods of a round. */
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

  /** @throws Error if the pod can never run */
  async untilRunning(name: string): Promise<void> {
    for (;;) {
      const phase = this.#pods.get(name)?.status?.phase ?? "Pending";
      if (phase === "Running") return;
      if (phase !== "Pending") throw new Error(`pod ${name} is ${phase}; expected Running`);
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
 * Duration in milliseconds in which a runner starts `count` pods, without the time to remove them.
 *
 * @param settleMs - pause before the start, until the pods that were removed last are gone
 */
export async function timed(run: Runner, count: number, round: string, settleMs: number): Promise<number> {
  await delay(settleMs);
  const began = performance.now();
  const remove = await run(count, round);
  const ms = performance.now() - began;
  await remove();
  return ms;
}
