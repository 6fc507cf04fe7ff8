import type { ContainerRun, LogLine } from "../../../support/container-host/container-host.ts";
import type { FakeLogs, LogEvent } from "../logs/fake-logs.ts";
import type { FakeContainer } from "./fake-container.ts";

/** Bytes after which Docker splits a line, also within a character. Source: moby, `daemon/logger/copier.go`. */
const maxLineBytes = 16_384;

/** Sends the output of a container's run to CloudWatch, as the log driver `awslogs` does. The stream is `prefix/container/task`. */
export function attachLogs(logs: FakeLogs, container: FakeContainer, run: ContainerRun, taskId: string): void {
  const { logDriver, options = {} } = container.definition.logConfiguration ?? {};
  if (logDriver !== "awslogs") return;
  const stream = `${options["awslogs-stream-prefix"]}/${container.name}/${taskId}`;
  let saved: readonly LogLine[] | undefined;
  void run.ended.then(async () => (saved = await run.log().catch(() => [])));
  const source = async (): Promise<readonly LogEvent[]> => (saved ?? (await run.log())).flatMap((line) => eventsOf(line, logs.ingestionMs));
  logs.attach(options["awslogs-group"] ?? "", stream, source, { createGroup: options["awslogs-create-group"] === "true" });
}

function eventsOf({ time, text }: LogLine, ingestionMs: number): LogEvent[] {
  const timestamp = Date.parse(time);
  const bytes = Buffer.from(text.replace(/\n$/, ""));
  const events: LogEvent[] = [];
  for (let at = 0; at === 0 || at < bytes.length; at += maxLineBytes) {
    const message = bytes.subarray(at, at + maxLineBytes).toString("utf8");
    // An empty line is lost. Source: moby, `daemon/logger/awslogs/cloudwatchlogs.go` (processEvent).
    if (message !== "") events.push({ timestamp, message, ingestionTime: timestamp + ingestionMs });
  }
  return events;
}
