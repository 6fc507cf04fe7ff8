import type { HealthCheck } from "@aws-sdk/client-ecs";
import type { Clock } from "@virtual-kubelet/clock";
import type { ContainerRun } from "../../../support/container-host/container-host.ts";
import type { HealthStatus } from "./fake-container.ts";

/**
 * Runs a health check until the signal aborts or the run ends, as Docker does: the first check comes one interval after the start;
 * `retries` failures in a row make the container unhealthy, except in its start period.
 */
export async function checkHealth(
  run: ContainerRun,
  { command = [], interval = 30, timeout = 5, retries = 3, startPeriod = 0 }: HealthCheck,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  tell: (health: HealthStatus) => void,
): Promise<void> {
  const [kind, ...words] = command;
  const argv = kind === "CMD-SHELL" ? ["/bin/sh", "-c", words.join(" ")] : words;
  const startedAtMs = clock.monotonic();
  let failures = 0;
  let last: HealthStatus = "UNKNOWN";
  for (;;) {
    await clock.sleep(interval * 1000, signal).catch(() => {});
    if (signal.aborted || run.state.kind !== "running") return;
    const exitCode = await exitCodeOf(run, argv, timeout * 1000, { clock, signal });
    if (signal.aborted) return;
    const isStarting = clock.monotonic() - startedAtMs < startPeriod * 1000;
    failures = exitCode === 0 ? 0 : failures + (isStarting ? 0 : 1);
    const next: HealthStatus = exitCode === 0 ? "HEALTHY" : failures >= retries ? "UNHEALTHY" : last;
    if (next !== last) tell(next);
    last = next;
  }
}

/** Exit code of a command in the container; 1 if it could not be run or took too long. */
async function exitCodeOf(
  run: ContainerRun,
  argv: readonly string[],
  timeoutMs: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<number> {
  const session = await run.exec(argv, {}).catch(() => undefined);
  if (session === undefined) return 1;
  session.stream.on("error", () => {});
  session.stream.resume();
  session.stream.end();
  const late = new AbortController();
  const timedOut = clock.sleep(timeoutMs, AbortSignal.any([signal, late.signal])).then(
    () => 1,
    () => 1,
  );
  try {
    return await Promise.race([session.exitCode, timedOut]);
  } finally {
    late.abort();
    session.close();
  }
}
