import type { DeepReadonly, Pod, ProviderPodStatus } from "@virtual-kubelet/core";
import { statusProblems, transitionProblems } from "./status-rules.ts";

/** Looks at every status of every pod, and at its way from one to the next. */
export class StatusWatch {
  readonly #last = new Map<string, ProviderPodStatus>();
  readonly #problems = new Set<string>();

  /**
   * A status was seen. Each source goes its own way: what was asked for may come later than what was told meanwhile.
   *
   * @param pod - whose it is; of one that is not known nothing can be said
   */
  note(pod: DeepReadonly<Pod> | undefined, status: ProviderPodStatus, source: "asked" | "told"): void {
    if (!pod) return;
    const key = `${source} ${pod.metadata?.uid ?? ""}`;
    const before = this.#last.get(key);
    const found = [...statusProblems(pod, status), ...(before ? transitionProblems(before, status) : [])];
    for (const problem of found) this.#problems.add(`status of a pod: ${problem}`);
    this.#last.set(key, structuredClone(status));
  }

  /** The pod is gone: one that is made again begins anew. */
  forget(uid: string): void {
    for (const source of ["asked", "told"]) this.#last.delete(`${source} ${uid}`);
  }

  /** What was wrong, each a line. */
  problems(): readonly string[] {
    return [...this.#problems];
  }
}
