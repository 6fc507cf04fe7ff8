import { GetLogEventsCommand, type CloudWatchLogsClient } from "@aws-sdk/client-cloudwatch-logs";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { CredentialRenewal } from "./credential-renewal.ts";
import { logPageSchema } from "./ecs-schemas.ts";
import { send, type Budget } from "./send.ts";

/** Maximum of events in a page. Source: CloudWatch Logs API reference, GetLogEvents. */
export const maxLogEvents = 10_000;

/** A line of a container's output. */
export interface LogEvent {
  /** Milliseconds since the epoch. */
  readonly timeMs: number;
  readonly message: string;
}

/** A page of a log stream. */
export interface LogPage {
  readonly events: readonly LogEvent[];
  readonly nextForwardToken: string | undefined;
}

/** Position in a log stream. */
export interface LogPosition {
  readonly group: string;
  readonly stream: string;
  /** From the oldest event on. Default: the newest events of the stream. */
  readonly fromHead: boolean;
  readonly startTimeMs?: number | undefined;
  readonly limit?: number | undefined;
  readonly nextToken?: string | undefined;
}

export interface LogsApiOptions {
  readonly client: Pick<CloudWatchLogsClient, "send">;
  readonly budget: Budget;
  /** Absent: requests with expired credentials are not sent again. */
  readonly renewal?: CredentialRenewal | undefined;
}

/** The call of CloudWatch Logs that the provider makes. */
export class LogsApi {
  readonly #options: LogsApiOptions;

  constructor(options: LogsApiOptions) {
    this.#options = options;
  }

  /** Reads a page of a stream. @throws NotFoundError if there is no such group or stream yet */
  async read(
    { group, stream, fromHead, startTimeMs, limit = maxLogEvents, nextToken }: LogPosition,
    signal: AbortSignal,
  ): Promise<LogPage> {
    const attempted = `read log stream ${stream} of group ${group}`;
    const answer = await send(
      this.#options,
      { class: "logs", operation: "GetLogEvents", attempted, isIdempotent: true },
      (abortSignal) =>
        this.#options.client.send(
          new GetLogEventsCommand({
            logGroupName: group,
            logStreamName: stream,
            startFromHead: fromHead,
            limit,
            ...(startTimeMs !== undefined && { startTime: startTimeMs }),
            ...(nextToken !== undefined && { nextToken }),
          }),
          { abortSignal },
        ),
      signal,
    );
    const parsed = logPageSchema.safeParse(answer);
    if (!parsed.success) throw new UnavailableError(`${attempted}: CloudWatch Logs answered in an unknown form`);
    return {
      events: parsed.data.events.map(({ timestamp = 0, message }) => ({ timeMs: timestamp, message })),
      nextForwardToken: parsed.data.nextForwardToken,
    };
  }
}
