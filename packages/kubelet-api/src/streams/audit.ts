import type { Clock } from "@virtual-kubelet/clock";
import type { Logger } from "@virtual-kubelet/kube-client";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { KubeletRequest } from "../routes/route.ts";

/** Maximum length of a path, a command or a header's value in the log. */
const maxChars = 1024;

/** Contents of the log lines about accesses to pods. */
export interface AuditOptions {
  /**
   * `program` logs a command's program and the number of its arguments, because arguments may contain passwords. `full` logs the whole
   * command. Default: `program`.
   */
  readonly commands?: "program" | "full" | undefined;
  /**
   * Header in which a proxy in front of the node names the real user, logged as `claimedUser`. Any caller can send it unless the proxy
   * removes it from its clients' requests; kube-apiserver 1.36 neither sends nor removes such a header. Default: none.
   */
  readonly userHeader?: string | undefined;
}

/** What was requested, apart from user and pod. */
export interface AuditedAction {
  readonly verb: "exec" | "attach" | "run" | "port-forward";
  readonly command?: readonly string[] | undefined;
}

/** Log line about who did what in a pod, with its result, but never the data that was transferred. */
export interface AuditRecord {
  /** Writes the line. @param result - how the action ended */
  end(result: string): void;
}

/** Starts measuring an action in a pod. */
export function beginAudit(
  request: KubeletRequest,
  action: AuditedAction,
  { clock, logger, audit = {} }: { readonly clock: Clock; readonly logger: Logger; readonly audit?: AuditOptions | undefined },
): AuditRecord {
  const { user, params, headers } = request;
  const startedMs = clock.monotonic();
  const claimed = audit.userHeader === undefined ? undefined : headers[audit.userHeader.toLowerCase()];
  // ID of the API server's own audit event, if a client or proxy forwards it.
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
        "a pod was accessed",
      ),
  };
}

/** Runs an action and writes its log line. @returns the action's value @throws what the action throws */
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

/** Text from a caller, shortened for the log. */
export function shortened(text: string): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)}… (${text.length} characters)`;
}
