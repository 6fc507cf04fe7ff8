import type { Clock } from "@virtual-kubelet/clock";
import type { Logger } from "@virtual-kubelet/kube-client";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { KubeletRequest } from "../routes/route.ts";

/** How much a line of the log holds of a path, of a command, or of what a header claims. */
const maxChars = 1024;

/** What the lines of the log say of who reached into a pod. */
export interface AuditOptions {
  /**
   * `program`: a command's program and how many arguments it had, for passwords stand in arguments. `full`: all of it. Default:
   * `program`.
   */
  readonly commands?: "program" | "full" | undefined;
  /**
   * Header in which whoever stands before the node names the real user, shown as `claimedUser`. Whoever may call can send it, unless
   * that proxy takes it off its clients' requests; kube-apiserver of 1.36 neither sends nor removes any. Default: none.
   */
  readonly userHeader?: string | undefined;
}

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
  { clock, logger, audit = {} }: { readonly clock: Clock; readonly logger: Logger; readonly audit?: AuditOptions | undefined },
): AuditRecord {
  const { user, params, headers } = request;
  const startedMs = clock.monotonic();
  const claimed = audit.userHeader === undefined ? undefined : headers[audit.userHeader.toLowerCase()];
  // What the API server's own audit log has, where a client or a proxy hands it on.
  const auditId = headers["audit-id"];
  return {
    end: (result) =>
      logger.info(
        {
          user: user.name,
          ...(user.groups.length > 0 && { groups: user.groups }),
          ...(claimed !== undefined && { claimedUser: shortened(String(claimed)) }),
          ...(auditId !== undefined && { claimedAuditId: shortened(String(auditId)) }),
          verb: action.verb,
          pod: `${params["namespace"]}/${params["pod"]}`,
          ...(params["container"] !== undefined && { container: params["container"] }),
          ...commandFields(action.command, audit),
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

function commandFields(command: readonly string[] | undefined, { commands = "program" }: AuditOptions): Record<string, unknown> {
  if (command === undefined) return {};
  if (commands === "full") return { command: shortened(command.join(" ")) };
  const [program = "", ...args] = command;
  return { program: shortened(program), arguments: args.length };
}

/** What a caller sent, as long as a line of the log may have it. */
export function shortened(text: string): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)}… (${text.length} characters)`;
}
