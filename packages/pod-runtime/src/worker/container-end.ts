import { withDeadline } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { ContainerLogs, Logger, PodRef } from "@virtual-kubelet/core";
import type { Termination } from "../pod/container-life.ts";
import type { DesiredContainer } from "../pod/desired-pod.ts";
import { toTermination } from "../pod/termination.ts";
import type { ContainerRuntime, RuntimeExit } from "../runtime/container-runtime.ts";
import type { PodStorage } from "./pod-storage.ts";

/** Maximum lines of a log that become a termination message. Source: kubernetes v1.36.3 pkg/kubelet/container/runtime.go. */
const maxLogLines = 80;
const maxLogBytes = 2048;

/** Maximum time for reading a termination message, in milliseconds. */
const maxReadMs = 10_000;

export interface EndedContainer {
  readonly ref: PodRef;
  /** `undefined` if the spec does not contain the container any more. */
  readonly desired: DesiredContainer | undefined;
  readonly container: string;
  readonly attempt: number;
  readonly id: string;
}

export interface EndReader {
  readonly runtime: Pick<ContainerRuntime, "logs">;
  readonly storage?: Pick<PodStorage, "terminationMessage"> | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** End of a container, with its termination message. */
export async function readEnd(ended: EndedContainer, exit: RuntimeExit, reader: EndReader, signal: AbortSignal): Promise<Termination> {
  return toTermination(exit, ended.id, await writtenMessage(ended, exit, reader, signal));
}

/**
 * The container's own message about its end: its termination message, or the end of its log if it failed and asks for that. Empty if it
 * cannot be read, because an end is never held back for a message.
 *
 * @throws `signal.reason` when aborted
 */
export async function writtenMessage(ended: EndedContainer, exit: RuntimeExit, reader: EndReader, signal: AbortSignal): Promise<string> {
  // A container that never ran has written nothing.
  if (exit.startedAtMs === undefined) return "";
  const { ref, container, attempt, id, desired } = ended;
  const { runtime, storage, clock } = reader;
  const takesLog = desired?.container.terminationMessagePolicy === "FallbackToLogsOnError" && exit.exitCode !== 0;
  if (!storage && !takesLog) return "";
  try {
    return await withDeadline(
      { what: `read the termination message of container ${container}`, timeoutMs: maxReadMs, clock },
      signal,
      async (inner) => {
        const message = (await storage?.terminationMessage(ref, container, attempt, inner)) ?? "";
        return message === "" && takesLog ? endOfLog(id, runtime, inner) : message;
      },
    );
  } catch (error) {
    signal.throwIfAborted();
    reader.logger.warn({ pod: `${ref.namespace}/${ref.name}`, container, err: error }, "a termination message could not be read");
    return "";
  }
}

async function endOfLog(id: string, runtime: EndReader["runtime"], signal: AbortSignal): Promise<string> {
  const options = { follow: false, previous: false, timestamps: false, tailLines: maxLogLines };
  const logs = await runtime.logs(id, options, signal);
  const lines = (await tail(logs)).split("\n").slice(-maxLogLines - 1);
  const text = (logs.timestamps ? lines.map((line) => line.replace(/^\d{4}-\d\d-\d\dT\S+ /, "")) : lines).join("\n");
  return Buffer.from(text).subarray(-maxLogBytes).toString("utf8");
}

/** Keeps more of a log with time stamps, which are cut off later. */
async function tail({ data, timestamps }: ContainerLogs): Promise<string> {
  const keepBytes = maxLogBytes + (timestamps ? (maxLogLines + 1) * 40 : 0);
  let kept = Buffer.alloc(0);
  for await (const chunk of data) kept = Buffer.concat([kept, Buffer.from(chunk)]).subarray(-keepBytes);
  return kept.toString("utf8");
}
