import { systemClock } from "@virtual-kubelet/clock";

/** Kinds that come and go without anybody's doing. */
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
 * Notes what keeps the process alive now; when disposed, fails if there is more of it: sockets, timers, servers,
 * child processes.
 *
 * @param closingMs - milliseconds that what is closing is given; default 10,000, for machines are busy
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
