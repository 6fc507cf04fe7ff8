import type { Clock, Logger } from "@virtual-kubelet/kube-client";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { KubeletRequest } from "../routes/route.ts";

/** How much of a command a line holds. */
const maxCommandChars = 1024;

/** What was asked for, beyond who and which pod. */
export interface AuditedAction {
  readonly verb: "exec" | "attach" | "run" | "port-forward";
  readonly command?: readonly string[] | undefined;
}

/** A line of the log that says who did what in a pod, and how it went; never what went through. */
export interface AuditRecord {
  /** Tells how it ended; the line is written now. */
  end(result: string): void;
}

/** Times something that somebody does in a pod. */
export function beginAudit(
  request: KubeletRequest,
  action: AuditedAction,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): AuditRecord {
  const { user, params } = request;
  const startedMs = clock.monotonic();
  const command = action.command?.join(" ");
  return {
    end: (result) =>
      logger.info(
        {
          user: user.name,
          ...(user.groups.length > 0 && { groups: user.groups }),
          verb: action.verb,
          pod: `${params["namespace"]}/${params["pod"]}`,
          ...(params["container"] !== undefined && { container: params["container"] }),
          ...(command !== undefined && { command: shortened(command) }),
          result,
          durationMs: Math.round(clock.monotonic() - startedMs),
        },
        "a pod was reached into",
      ),
  };
}

/** Runs an action with its line in the log; what it resolves with or throws is the result. */
export async function audited<T>(record: AuditRecord, run: () => Promise<{ readonly result: string; readonly value: T }>): Promise<T> {
  try {
    const { result, value } = await run();
    record.end(result);
    return value;
  } catch (error) {
    record.end(`refused: ${messageOf(error)}`);
    throw error;
  }
}

function shortened(command: string): string {
  return command.length <= maxCommandChars ? command : `${command.slice(0, maxCommandChars)}… (${command.length} characters)`;
}
