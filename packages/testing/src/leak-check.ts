import { systemClock } from "@virtual-kubelet/clock";

/** Kinds of resources that Node.js itself opens and closes. */
const transient: ReadonlySet<string> = new Set([
  "TickObject",
  "Immediate",
  "FSReqCallback",
  "FSReqPromise",
  "CloseReq",
  "RandomBytesRequest",
  "SignRequest",
]);

/**
 * Records the resources that keep the process alive; when disposed, fails if there are more: sockets, timers, servers,
 * child processes.
 *
 * @param closingMs - time for closing resources, in milliseconds; default 10,000, because machines can be busy
 *
 * @example
 * ```ts
 * await using _ = leakCheck();
 * ```
 */
export function leakCheck({ closingMs = 10_000 }: { readonly closingMs?: number } = {}): AsyncDisposable {
  const before = countResources();
  return {
    async [Symbol.asyncDispose]() {
      const deadlineMs = systemClock.monotonic() + closingMs;
      let leaks = leakedSince(before);
      while (leaks.length > 0 && systemClock.monotonic() < deadlineMs) {
        await systemClock.sleep(20);
        leaks = leakedSince(before);
      }
      if (leaks.length > 0) throw new Error(`still open at the end: ${leaks.join(", ")}`);
    },
  };
}

function leakedSince(before: ReadonlyMap<string, number>): string[] {
  return [...countResources()].flatMap(([kind, count]) => {
    const more = count - (before.get(kind) ?? 0);
    return more > 0 ? [`${String(more)} ${kind}`] : [];
  });
}

function countResources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    if (!transient.has(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}
