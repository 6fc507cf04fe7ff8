import type { NodeInspection, PodInspection, PodQuery } from "@virtual-kubelet/core";

/** A pod that runs, with changes. */
export function podInspection(change: Partial<PodInspection> = {}): PodInspection {
  return {
    namespace: "default",
    name: "web",
    uid: `uid-${change.name ?? "web"}`,
    ageMs: 60_000,
    phase: "Running",
    wantedPhase: "Running",
    isStatusWritten: true,
    apiServer: "bound",
    backEnd: "present",
    next: "nothing",
    activity: { kind: "idle" },
    failures: 0,
    verdict: undefined,
    ending: undefined,
    lastError: undefined,
    problem: undefined,
    ...change,
  };
}

/** A node that runs, with changes. */
export function nodeInspection(change: Partial<NodeInspection> = {}): NodeInspection {
  const pods = change.pods ?? [];
  return {
    name: "vk-1",
    provider: "mock",
    stage: "running",
    isReady: true,
    lease: { isOurs: true, holder: "host-1", identity: "host-1", renewedAgeMs: 4_000, durationSeconds: 40, failure: undefined },
    ping: { kind: "up", forMs: 60_000, answeredAgeMs: 3_000, failure: undefined },
    inventory: { pods: pods.length, isComplete: true, ageMs: 2_000, failure: undefined },
    watch: { phase: "watching", heardAgeMs: 1_000, objects: pods.length, lists: 1, endedWatches: 2, failure: undefined },
    queues: [{ name: "pods", queued: 1, working: 2, delayed: 3, failing: 4, longestRunMs: 5 }],
    permits: [{ kind: "start", held: 2, waiting: 6 }],
    orphans: { suspected: 0, heldBack: undefined },
    events: { waiting: 0, dropped: 0, failed: 0 },
    problems: [],
    counts: { total: pods.length, problems: 0, byPhase: { Running: pods.length }, byBackEnd: { present: pods.length } },
    pods,
    matching: pods.length,
    continue: undefined,
    ...change,
  };
}

/** Pages of a node's pods, as core makes them. */
export function selectPage(node: NodeInspection, pods: readonly PodInspection[]): (query: PodQuery) => NodeInspection {
  return ({ limit, name, continue: from }) => {
    const matching = pods.filter((pod) => name === undefined || pod.name === name);
    const start = Number(from ?? 0);
    const end = start + limit;
    return {
      ...node,
      counts: { ...node.counts, total: pods.length },
      pods: matching.slice(start, end),
      matching: matching.length,
      continue: end < matching.length ? String(end) : undefined,
    };
  };
}
