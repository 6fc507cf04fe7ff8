import type { PodParts } from "./pod-parts.ts";
import { findPodProblem } from "./pod-problem.ts";

/** Which pods an inspection shows. */
export interface PodQuery {
  /** Maximum number of pods, 0 or more. */
  readonly limit: number;
  /** Position at which an earlier answer ended; see `PodPage.continue`. Default: the beginning. */
  readonly continue?: string | undefined;
  /** Default: every namespace. */
  readonly namespace?: string | undefined;
  /** Default: every name. */
  readonly name?: string | undefined;
  /** Default: `false`. */
  readonly problemsOnly?: boolean | undefined;
}

/** Numbers of all pods of a node, whichever are shown. */
export interface PodCounts {
  readonly total: number;
  readonly problems: number;
  /** By the phase at the API server; `Gone` for pods that it no longer has. */
  readonly byPhase: Readonly<Record<string, number>>;
  /** By what is known of them at the back end. */
  readonly byBackEnd: Readonly<Record<string, number>>;
}

/** Selected pods: those with a problem first, then by namespace and name. */
export interface PodPage {
  readonly counts: PodCounts;
  readonly pods: readonly PodParts[];
  /** Number of pods that match the query, on this page and on others. */
  readonly matching: number;
  /** For the next page; `undefined` on the last. A pod whose problem begins or ends between two pages may be on both, or on none. */
  readonly continue: string | undefined;
}

/** Counts all pods, and returns one page of those that match. */
export function selectPods(all: Iterable<PodParts>, query: PodQuery, nowMs: number): PodPage {
  const byPhase: Record<string, number> = {};
  const byBackEnd: Record<string, number> = {};
  const found: { readonly key: string; readonly parts: PodParts }[] = [];
  let total = 0;
  let problems = 0;
  for (const parts of all) {
    const { state, pod } = parts;
    const hasProblem = findPodProblem(parts, nowMs) !== undefined;
    total++;
    if (hasProblem) problems++;
    count(byPhase, pod ? (pod.status?.phase ?? "Unknown") : "Gone");
    count(byBackEnd, state.backend.kind);
    if (matches(parts, query) && (hasProblem || query.problemsOnly !== true)) found.push({ key: keyOf(parts, hasProblem), parts });
  }
  const sorted = found.sort((a, b) => (a.key < b.key ? -1 : 1));
  const from = query.continue === undefined ? "" : Buffer.from(query.continue, "base64url").toString();
  const rest = from === "" ? sorted : sorted.filter(({ key }) => key > from);
  const page = rest.slice(0, query.limit);
  const last = page.at(-1)?.key ?? from;
  return {
    counts: { total, problems, byPhase, byBackEnd },
    pods: page.map(({ parts }) => parts),
    matching: found.length,
    continue: page.length < rest.length ? Buffer.from(last).toString("base64url") : undefined,
  };
}

function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

function matches({ state: { ref } }: PodParts, { namespace, name }: PodQuery): boolean {
  return (namespace === undefined || ref.namespace === namespace) && (name === undefined || ref.name === name);
}

function keyOf({ state: { ref } }: PodParts, hasProblem: boolean): string {
  return [hasProblem ? "0" : "1", ref.namespace, ref.name, ref.uid].join("\0");
}
