import { describe, expect, test } from "vitest";
import { eventKind } from "../../kinds/event/event.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";
import { createEventRecorder } from "../shared/event-recorder.ts";

function createEvent(world: World, name: string): void {
  world.cluster.create(eventKind, {
    metadata: { name, namespace: "default" },
    involvedObject: { kind: "Pod", name: "a", namespace: "default" },
    reason: "Test",
    type: "Normal",
  });
}

function names(world: World): string[] {
  return world.cluster.list(eventKind).map(({ metadata }) => metadata.name);
}

describe("events", () => {
  test("are deleted an hour after their last write", async () => {
    await using world = await startWorld();
    createEvent(world, "a");
    await world.clock.advance(10 * 60_000);
    createEvent(world, "b");
    await world.clock.advance(40 * 60_000);
    world.cluster.update(eventKind, "default", "a", (event) => ({ ...event, count: 2 }));

    await world.clock.advance(20 * 60_000 - 1);
    const before = names(world);
    await world.clock.advance(1);
    const after = names(world);
    await world.clock.advance(40 * 60_000);

    expect(before).toEqual(["a", "b"]);
    expect(after).toEqual(["a"]);
    expect(names(world)).toEqual([]);
  });

  test("that repeat increment a count", async () => {
    await using world = await startWorld();
    const recorder = createEventRecorder(world);
    const about = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "a", namespace: "default", uid: "1", resourceVersion: "1", creationTimestamp: "" },
    };

    for (let index = 0; index < 3; index++) recorder.record("tester", about, { type: "Warning", reason: "Bad", message: "no" });
    recorder.record("tester", about, { type: "Warning", reason: "Bad", message: "other" });

    const events = world.cluster.list(eventKind);
    expect(events.map((event) => [event["message"], event["count"]])).toEqual([
      ["no", 3],
      ["other", 1],
    ]);
    expect(events[0]).toMatchObject({ source: { component: "tester" }, involvedObject: { kind: "Pod", name: "a" } });
  });
});
