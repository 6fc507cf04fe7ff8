import { VirtualClock } from "@virtual-kubelet/clock";
import { silentLogger } from "@virtual-kubelet/kube-client";
import type { RuntimeEvent } from "@virtual-kubelet/pod-runtime";
import { Readable } from "node:stream";
import { expect, test, vi } from "vitest";
import type { DockerEngine, EngineRequest } from "../engine/docker-engine.ts";
import { containerSpec, sandboxSpec } from "../test-support/specs.ts";
import { engineEvents } from "./engine-events.ts";

const container = containerSpec().labels;
const sandbox = sandboxSpec().labels;

function event(Action: string, ID: string, Attributes: object): string {
  return `${JSON.stringify({ Type: "container", Action, Actor: { ID, Attributes } })}\n`;
}

/** Listens to an engine whose connections are these, one after another; an error is one that fails. */
function listen(connections: readonly (readonly string[] | Error)[]) {
  const clock = new VirtualClock();
  const left = [...connections];
  const requests: EngineRequest[] = [];
  const stream: DockerEngine["stream"] = (request, signal) => {
    requests.push(request);
    const next = left.shift();
    if (next instanceof Error) return Promise.reject(next);
    // The last connection stays open.
    if (next === undefined) return Promise.resolve(Readable.from(until(signal)));
    return Promise.resolve(Readable.from(next));
  };
  const engine = { stream, clock, logger: silentLogger } as unknown as DockerEngine;
  const abort = new AbortController();
  const seen: RuntimeEvent[] = [];
  const changed: string[] = [];
  const done = (async () => {
    const options = {
      engine,
      labels: { node: "n" },
      onChange: (id: string) => void changed.push(id),
      onLost: () => void changed.push("all"),
    };
    for await (const each of engineEvents(options, abort.signal)) seen.push(each);
  })().catch((error: unknown) => error);
  return { clock, seen, changed, requests, done, abort };
}

async function* until(signal: AbortSignal): AsyncGenerator<never> {
  await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
  yield* [];
}

test("ends and removals of containers and sandboxes are told, after what is remembered is forgotten", async () => {
  const lines = [
    event("start", "c1", container),
    event("die", "c1", container) + event("destroy", "c1", container),
    event("die", "s1", sandbox),
    event("destroy", "s1", sandbox),
    event("died", "c2", container),
    event("remove", "c2", container),
  ];
  const { seen, changed, clock, requests, abort, done } = listen([lines]);
  await clock.advance(0);

  expect(seen).toEqual([
    { kind: "lost" },
    { kind: "containerExited", id: "c1" },
    { kind: "containerRemoved", id: "c1" },
    { kind: "sandboxStopped", id: "s1" },
    { kind: "sandboxStopped", id: "s1" },
    { kind: "containerExited", id: "c2" },
    { kind: "containerRemoved", id: "c2" },
    { kind: "away" },
  ]);
  expect(changed).toEqual(["all", "c1", "c1", "c1", "s1", "s1", "c2", "c2"]);
  expect(JSON.parse(String(requests[0]?.query?.["filters"]))).toMatchObject({ type: ["container"], label: ["node=n"] });
  abort.abort(new Error("enough"));
  expect(await done).toEqual(new Error("enough"));
});

test("each connection begins with lost, its end is told once, and the pauses between grow until one stands", async () => {
  const away = new Error("away");
  const { seen, requests, clock, abort, done } = listen([away, away, away, [event("die", "c1", container)], away]);
  const countAfter = async (ms: number): Promise<number> => {
    await clock.advance(ms);
    return requests.length;
  };

  expect(await countAfter(0)).toBe(1);
  expect(await countAfter(200)).toBe(2);
  expect(await countAfter(200)).toBe(2);
  expect(await countAfter(200)).toBe(3);
  expect(await countAfter(800)).toBe(4);
  expect(seen).toEqual([{ kind: "away" }, { kind: "lost" }, { kind: "containerExited", id: "c1" }, { kind: "away" }]);
  expect(await countAfter(200)).toBe(5);
  expect(await countAfter(400)).toBe(6);
  expect(seen.at(-1)).toEqual({ kind: "lost" });
  abort.abort(new Error("enough"));
  expect(await done).toEqual(new Error("enough"));
});

test("an event that is too long, by the labels of an image, say, has all looked at, and the others are heard", async () => {
  const lines = [event("die", "c1", { ...container, huge: "x".repeat(5_000_000) }), event("die", "c2", container)];
  const { seen, changed, clock, requests, abort, done } = listen([lines.join("").match(/[^]{1,1000000}/g) ?? []]);
  await vi.waitFor(() => expect(seen).toHaveLength(4), { timeout: 20_000 });
  await clock.advance(0);

  expect(seen).toEqual([{ kind: "lost" }, { kind: "lost" }, { kind: "containerExited", id: "c2" }, { kind: "away" }]);
  expect([changed, requests.length]).toEqual([["all", "all", "c2"], 1]);
  abort.abort(new Error("enough"));
  await done;
});

test("a line that is none ends the connection, not the listening", async () => {
  const { seen, clock, abort, done } = listen([["{nonsense\n"]]);
  await clock.advance(0);
  await clock.advance(200);

  expect(seen).toEqual([{ kind: "lost" }, { kind: "away" }, { kind: "lost" }]);
  abort.abort(new Error("enough"));
  await done;
});
