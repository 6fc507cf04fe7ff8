import { isConflict, isDeadlineExceeded, isUnavailable, messageOf } from "@virtual-kubelet/errdefs";
import type { ContainerRuntime, RuntimeContainer } from "../runtime/container-runtime.ts";

/** Outcome of a start. */
export type StartOutcome =
  /** It runs, or has run. */
  | { readonly kind: "begun"; readonly container: RuntimeContainer | undefined }
  /** It can never run. */
  | { readonly kind: "refused"; readonly message: string; readonly exitCode?: number | undefined }
  /** It may have started, or may start later: the same attempt is retried. */
  | { readonly kind: "unclear"; readonly message: string };

/**
 * Starts a container. The container's state at the runtime counts for more than the outcome of the call, because a container must neither
 * be started twice nor be given up while it runs.
 *
 * @param mayHaveBegun - whether an earlier start may have reached the runtime
 * @throws `signal.reason` when aborted
 */
export async function startContainer(
  id: string,
  { runtime, mayHaveBegun }: { readonly runtime: ContainerRuntime; readonly mayHaveBegun: boolean },
  signal: AbortSignal,
): Promise<StartOutcome> {
  try {
    if (mayHaveBegun) {
      const held = await runtime.inspectContainer(id, signal);
      if (hasBegun(held)) return { kind: "begun", container: held };
    }
    await runtime.startContainer(id, signal);
  } catch (error) {
    signal.throwIfAborted();
    return judge(error, await tryInspect(id, runtime, signal));
  }
  return { kind: "begun", container: await tryInspect(id, runtime, signal) };
}

function judge(error: unknown, held: RuntimeContainer | undefined): StartOutcome {
  const message = messageOf(error);
  if (held === undefined) return { kind: "unclear", message };
  if (hasBegun(held)) return { kind: "begun", container: held };
  if (held.state.kind === "exited") return { kind: "refused", message, exitCode: held.state.exitCode };
  const mayGoWell = isConflict(error) || isUnavailable(error) || isDeadlineExceeded(error);
  return mayGoWell ? { kind: "unclear", message } : { kind: "refused", message };
}

function hasBegun({ state }: RuntimeContainer): boolean {
  return state.kind === "running" || (state.kind === "exited" && state.startedAtMs !== undefined);
}

async function tryInspect(id: string, runtime: ContainerRuntime, signal: AbortSignal): Promise<RuntimeContainer | undefined> {
  try {
    return await runtime.inspectContainer(id, signal);
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
