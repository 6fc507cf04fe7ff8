import type { RuntimeEvent } from "@virtual-kubelet/pod-runtime";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { jsonLines } from "../engine/json-lines.ts";
import { isContainer } from "./container-reading.ts";

export interface EngineEventsOptions {
  readonly engine: DockerEngine;
  /** Labels that a container must have. */
  readonly labels: Readonly<Record<string, string>>;
  /** Called with the id of each changed container, before its event. */
  readonly onChange: (id: string) => void;
  /** Called before each `lost`, when any container may have changed. */
  readonly onLost: () => void;
}

const firstPauseMs = 200;
const longestPauseMs = 5_000;

/**
 * Events of our containers. The engine keeps only its last 256 events, so past events are not requested: each connection starts with
 * `lost`, and its end is `away`.
 */
export async function* engineEvents(options: EngineEventsOptions, signal: AbortSignal): AsyncGenerator<RuntimeEvent> {
  const { engine } = options;
  let pauseMs = firstPauseMs;
  let isAway = false;
  while (true) {
    try {
      for await (const event of connection(options, signal)) {
        if (event.kind === "lost") [pauseMs, isAway] = [firstPauseMs, false];
        yield event;
      }
      engine.logger.warn({}, "the Docker engine ended its events; connecting again");
    } catch (error) {
      signal.throwIfAborted();
      engine.logger.warn({ err: error, delayMs: pauseMs }, "the Docker engine's events were lost; connecting again");
    }
    if (!isAway) yield { kind: "away" };
    isAway = true;
    await engine.clock.sleep(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}

async function* connection({ engine, labels, onChange, onLost }: EngineEventsOptions, signal: AbortSignal): AsyncGenerator<RuntimeEvent> {
  const filters = {
    type: ["container"],
    label: Object.entries(labels).map(([name, value]) => `${name}=${value}`),
    // Leaves out exec events, of which each probe would cause three. `died` and `remove` are podman's.
    event: ["start", "die", "died", "destroy", "remove"],
  };
  const query = { filters: JSON.stringify(filters) };
  const body = await engine.stream({ method: "GET", path: "/events", query, what: "listen to the Docker engine" }, signal);
  onLost();
  yield { kind: "lost" };
  for await (const line of jsonLines(body, tooLong)) {
    if (line === tooLong) {
      onLost();
      yield { kind: "lost" };
      continue;
    }
    const { Action = "", Actor } = line as EngineEvent;
    const id = Actor?.ID;
    if (id === undefined) continue;
    onChange(id);
    const event = toRuntimeEvent(Action, id, Actor?.Attributes ?? {});
    if (event) yield event;
  }
}

/** An event contains all labels of its container, including those of its image. A huge one must not end the stream. */
const tooLong = Symbol("an event that is too long");

interface EngineEvent {
  readonly Action?: string;
  readonly Actor?: { readonly ID?: string; readonly Attributes?: Readonly<Record<string, string>> };
}

function toRuntimeEvent(action: string, id: string, labels: Readonly<Record<string, string>>): RuntimeEvent | undefined {
  switch (action) {
    case "die":
    case "died":
      return { kind: isContainer(labels) ? "containerExited" : "sandboxStopped", id };
    case "destroy":
    case "remove":
      return { kind: isContainer(labels) ? "containerRemoved" : "sandboxStopped", id };
    default:
      return undefined;
  }
}
