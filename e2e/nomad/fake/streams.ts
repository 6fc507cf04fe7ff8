import { systemClock } from "@virtual-kubelet/clock";
import type { ServerResponse } from "node:http";
import type { FakeCluster } from "./cluster.ts";
import type { FakeRequest } from "./fake-request.ts";
import { defaultNamespace } from "./state.ts";

const eventHeartbeatMs = 30_000;
const logHeartbeatMs = 1000;

/** Serves the event stream: two empty frames, then one line per write. Source: fixture 16. */
export function serveEvents(response: ServerResponse, query: URLSearchParams, { state }: FakeCluster): void {
  response.writeHead(200, { "content-type": "application/json", connection: "close" });
  response.write("{}\n{}\n");
  const namespace = query.get("namespace") || defaultNamespace;
  const topics = query.getAll("topic").map((topic) => topic.split(":")[0]);
  const stop = state.listen(Number(query.get("index") ?? 0), ({ Index, Events }) => {
    const wanted = Events.filter(
      ({ Topic, Namespace }) =>
        (topics.length === 0 || topics.includes("*") || topics.includes(Topic)) && (namespace === "*" || Namespace === namespace),
    );
    if (wanted.length > 0) response.write(`${JSON.stringify({ Index, Events: wanted })}\n`);
  });
  let timer = systemClock.setTimer(eventHeartbeatMs, beat);
  response.once("close", () => {
    stop();
    timer[Symbol.dispose]();
  });
  function beat(): void {
    response.write("{}\n");
    timer = systemClock.setTimer(eventHeartbeatMs, beat);
  }
}

/** Serves a task's log as plain text, or as frames without separators; a followed log never ends. Source: fixtures 06 and 17. */
export function serveLogs(response: ServerResponse, { path, query }: FakeRequest, { runners, state }: FakeCluster): void {
  const id = path.split("/").at(-1) ?? "";
  const refuse = (status: number, text: string): void => void response.writeHead(status, { "content-type": "text/plain" }).end(text);
  const runner = state.allocs.has(id) ? runners.get(id) : undefined;
  if (!runner) return refuse(404, `Unknown allocation "${id}"`);
  const name = query.get("task") ?? "";
  const task = runner.task(name);
  if (!task) return refuse(400, `unknown task name "${name}"`);
  const type = query.get("type");
  if (type !== "stdout" && type !== "stderr") return refuse(400, "must provide log type (stdout/stderr)");
  if (task.state["StartedAt"] === null) return refuse(404, `task "${name}" not started yet. No logs available`);
  const log = task.logs[type];
  const given = Number(query.get("offset") ?? 0);
  let offset = query.get("origin") === "end" ? Math.max(0, log.size - given) : given;
  response.writeHead(200, { "content-type": "application/json" });
  if (query.get("plain") === "true" && query.get("follow") !== "true") return void response.end(log.from(offset));
  const write = (): void => {
    const bytes = log.from(offset);
    offset += bytes.byteLength;
    if (bytes.byteLength === 0) return;
    const frame = { Data: bytes.toString("base64"), File: `alloc/logs/${name}.${type}.0`, Offset: offset };
    response.write(JSON.stringify(frame));
  };
  write();
  if (query.get("follow") !== "true") return void response.end();
  let isOpen = true;
  let timer = systemClock.setTimer(logHeartbeatMs, beat);
  response.once("close", () => {
    isOpen = false;
    timer[Symbol.dispose]();
  });
  void (async () => {
    while (isOpen) {
      await log.change;
      if (isOpen) write();
      if (log.ended) return;
    }
  })();
  function beat(): void {
    response.write("{}");
    timer = systemClock.setTimer(logHeartbeatMs, beat);
  }
}
