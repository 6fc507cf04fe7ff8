import type { DeepReadonly, Pod, ProviderPodStatus } from "@virtual-kubelet/core";
import { statusProblems, transitionProblems } from "./status-rules.ts";

/** Checks every status of every pod, and the transitions between them. */
export class StatusWatch {
  readonly #last = new Map<string, ProviderPodStatus>();
  readonly #problems = new Set<string>();

  /**
   * Records a status. Transitions are checked per source, because a requested status may arrive later than a newer reported one.
   *
   * @param pod - the status's pod; a status without a known pod is ignored
   */
  note(pod: DeepReadonly<Pod> | undefined, status: ProviderPodStatus, source: "asked" | "told"): void {
    if (!pod) return;
    const key = `${source} ${pod.metadata?.uid ?? ""}`;
    const before = this.#last.get(key);
    const found = [...statusProblems(pod, status), ...(before ? transitionProblems(before, status) : [])];
    for (const problem of found) this.#problems.add(`status of a pod: ${problem}`);
    this.#last.set(key, structuredClone(status));
  }

  /** Forgets a pod that is gone; a new pod with the same UID starts without history. */
  forget(uid: string): void {
    for (const source of ["asked", "told"]) this.#last.delete(`${source} ${uid}`);
  }

  /** Problems found so far, one line each. */
  problems(): readonly string[] {
    return [...this.#problems];
  }
}
