import type { Clock } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import { request } from "node:http";
import type { ContainerRun } from "../../support/container-host/container-host.ts";
import type { ProbeBody } from "./container-group-body.ts";
import type { FakeContainer } from "./fake-container.ts";

/** A probe of a run. */
export interface RunningProbe {
  readonly kind: "Liveness" | "Readiness";
  readonly probe: ProbeBody;
  readonly run: ContainerRun;
  readonly container: FakeContainer;
  /** IP address of the container. */
  readonly address: string;
  readonly clock: Clock;
}

/** Grace in milliseconds of a container that its liveness probe ends. */
const graceMs = 2000;

/**
 * Probes a run until it ends. Each failure is an event `Unhealthy`; the API shows readiness nowhere else. After `failureThreshold` failures of
 * liveness the container is killed. Defaults are a kubelet's.
 */
export async function runProbe({ kind, probe, run, container, address, clock }: RunningProbe, signal: AbortSignal): Promise<void> {
  const { initialDelaySeconds = 0, periodSeconds = 10, failureThreshold = 3, timeoutSeconds = 1 } = probe;
  let failures = 0;
  try {
    await run.started;
    await clock.sleep(initialDelaySeconds * 1000, signal);
    for (;;) {
      signal.throwIfAborted();
      const attempt = new AbortController();
      const problem = await Promise.race([
        problemOf(probe, { run, address }, attempt.signal),
        clock
          .sleep(timeoutSeconds * 1000, AbortSignal.any([signal, attempt.signal]))
          .then(() => `the probe timed out after ${timeoutSeconds} s`),
      ]).finally(() => attempt.abort());
      signal.throwIfAborted();
      failures = problem === undefined ? 0 : failures + 1;
      if (problem !== undefined) container.note("Unhealthy", `${kind} probe failed: ${problem}`, "Warning");
      if (kind === "Liveness" && failures >= failureThreshold) {
        container.note("Killing", `Container ${container.name} failed liveness probe, will be restarted`);
        await run.stop(graceMs);
        return;
      }
      await clock.sleep(periodSeconds * 1000, signal);
    }
  } catch (error) {
    if (!signal.aborted) container.note("ProbeError", messageOf(error), "Warning");
  }
}

/** Why the container is not healthy; `undefined` if it is. */
async function problemOf(
  { exec, httpGet }: ProbeBody,
  { run, address }: Pick<RunningProbe, "run" | "address">,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (exec) {
    const session = await run.exec(exec.command ?? [], {});
    signal.addEventListener("abort", () => session.close(), { once: true });
    session.stream.resume();
    const exitCode = await session.exitCode;
    session.close();
    return exitCode === 0 ? undefined : `the command ended with ${exitCode}`;
  }
  if (!httpGet) return undefined;
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const sent = request({ host: address, port: httpGet.port, path: httpGet.path ?? "/", agent: false, signal });
  sent.on("response", (response) => {
    response.resume();
    const { statusCode = 0 } = response;
    resolve(statusCode >= 200 && statusCode < 400 ? undefined : `HTTP probe failed with statuscode: ${statusCode}`);
  });
  sent.on("error", (error) => resolve(error.message));
  sent.end();
  return promise;
}
