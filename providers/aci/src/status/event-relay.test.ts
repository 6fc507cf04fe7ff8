import { expect, test } from "vitest";
import { groupSchema, type GroupEvent } from "../azure/group-schema.ts";
import { EventRelay } from "./event-relay.ts";

const ref = { namespace: "shop", name: "web", uid: "1" };
const startMs = Date.parse("2026-11-21T10:00:00Z");
const pulled: GroupEvent = {
  name: "Pulled",
  message: "Successfully pulled image",
  type: "Normal",
  count: 1,
  firstTimestamp: "2026-11-21T10:00:01Z",
  lastTimestamp: "2026-11-21T10:00:01Z",
};

function relayed(rounds: readonly (readonly GroupEvent[])[], container = true): unknown[] {
  const recorded: unknown[] = [];
  const relay = new EventRelay((_ref, event) => recorded.push(event), startMs);
  for (const events of rounds) {
    const view = { instanceView: { events } };
    const properties = { containers: [{ name: "main", properties: container ? view : {} }], ...(!container && view) };
    relay.relay(ref, groupSchema.parse({ id: "/x", name: "x", properties }));
  }
  return recorded;
}

test("an event is recorded once, on its container", () => {
  expect(relayed([[pulled], [pulled]])).toEqual([
    { type: "Normal", reason: "Pulled", message: "Successfully pulled image", container: "main" },
  ]);
});

test("an event of the group is the pod's", () => {
  expect(relayed([[pulled]], false)).toEqual([{ type: "Normal", reason: "Pulled", message: "Successfully pulled image" }]);
});

test("an event that happened again is recorded again", () => {
  expect(relayed([[pulled], [{ ...pulled, count: 3, lastTimestamp: "2026-11-21T10:05:00Z" }]])).toHaveLength(2);
});

test("events from before the program's start, and those without a reason, are left out", () => {
  const old = { ...pulled, firstTimestamp: "2026-11-21T09:00:00Z", lastTimestamp: "2026-11-21T09:00:00Z" };

  expect(relayed([[old, { ...pulled, name: "not a reason" }, { ...pulled, lastTimestamp: undefined, firstTimestamp: undefined }]])).toEqual(
    [],
  );
});

test("what is kept of a pod that is gone is removed", () => {
  const recorded: unknown[] = [];
  const relay = new EventRelay((_ref, event) => recorded.push(event), startMs);
  const group = groupSchema.parse({
    id: "/x",
    name: "x",
    properties: { containers: [{ name: "main", properties: {} }], instanceView: { events: [pulled] } },
  });
  relay.relay(ref, group);
  relay.forget(ref.uid);
  relay.relay(ref, group);

  expect(recorded).toHaveLength(2);
});
