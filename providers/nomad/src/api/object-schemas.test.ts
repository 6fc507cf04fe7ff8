import { problemOf } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import type { z } from "zod";
import { readFixture } from "../test-support/fixtures.ts";
import { allocationSchema, eventSchema, jobSchema, nodeSchema, statsSchema } from "./object-schemas.ts";

/** The first thing that is wrong with an object; `undefined` if it can be read. */
function problem(schema: z.ZodType, value: unknown): string | undefined {
  const { error } = schema.safeParse(value);
  return error && problemOf(error);
}

test("all that was recorded of a real agent can be read", async () => {
  const { body: listed } = await readFixture<object[]>("03-allocations-list");
  const { body: nodes } = await readFixture<object[]>("15-nodes-resources");
  const { frames } = (await readFixture("16-event-stream")) as unknown as {
    readonly frames: readonly {
      readonly Events?: readonly { readonly Payload: { readonly Allocation?: object; readonly Job?: object } }[];
    }[];
  };
  const events = frames.flatMap(({ Events }) => Events ?? []);
  const recorded: [z.ZodType, readonly unknown[]][] = [
    [allocationSchema, [...listed, (await readFixture("04-alloc-detail")).body, (await readFixture("18-alloc-bridge")).body]],
    [allocationSchema, events.flatMap(({ Payload }) => Payload.Allocation ?? [])],
    [jobSchema, events.flatMap(({ Payload }) => Payload.Job ?? [])],
    [eventSchema, events],
    [nodeSchema, nodes],
    [statsSchema, [(await readFixture("05-alloc-stats")).body]],
  ];

  for (const [schema, objects] of recorded) {
    expect(objects.length).toBeGreaterThan(0);
    expect(objects.flatMap((each) => problem(schema, each) ?? [])).toEqual([]);
  }
});

const task = { State: "dead", Failed: false, Restarts: 0, Events: [] };
const allocation = {
  ID: "a-1",
  JobID: "vk-1",
  Namespace: "default",
  NodeID: "n",
  CreateIndex: 1,
  ModifyIndex: 2,
  CreateTime: 1e18,
  ClientStatus: "running",
  DesiredStatus: "run",
  TaskStates: { main: task },
};

test.each<[string, object, RegExp | undefined]>([
  ["unknown fields are left out", { Later: { any: "thing" } }, undefined],
  ["no state of tasks yet is none", { TaskStates: null }, undefined],
  ["a status that Nomad does not have", { ClientStatus: "paused" }, /^ClientStatus: Invalid option/],
  ["an index that is a text", { ModifyIndex: "2" }, /^ModifyIndex: Invalid input: expected number/],
  ["a state of a task that Nomad does not have", { TaskStates: { main: { ...task, State: "new" } } }, /^TaskStates\.main\.State: /],
  ["a time that is none", { TaskStates: { main: { ...task, StartedAt: "yesterday" } } }, /^TaskStates\.main\.StartedAt: expected a time/],
  [
    "a time of an event that no date holds",
    { TaskStates: { main: { ...task, Events: [{ Type: "Started", Time: 1e30 }] } } },
    /^TaskStates\.main\.Events\.0\.Time: Too big/,
  ],
])("of an allocation, %s", (_name, fields, expected) => {
  const found = problem(allocationSchema, { ...allocation, ...fields });

  if (expected) expect(found).toMatch(expected);
  else expect(found).toBeUndefined();
});
