import { problemOf } from "@virtual-kubelet/core";
import fc from "fast-check";
import { isIP } from "node:net";
import { expect, test } from "vitest";
import type { z } from "zod";
import { addressesOf, observeCapsule, observeContainer } from "../status/zun-object.ts";
import { observeObject, type ZunMemory } from "../status/observe-object.ts";
import type { PodLabels } from "../pod/pod-labels.ts";
import { chooseMinor } from "./microversion.ts";
import { capsuleSchema, containerSchema, execSchema, quotaSchema, statsSchema } from "./zun-schemas.ts";

const labels: PodLabels = {
  ref: { namespace: "default", name: "web", uid: "u1" },
  owner: { clusterId: "c", nodeName: "n" },
  containers: ["main"],
  initContainers: [],
  restartPolicy: "Never",
  ownsPorts: false,
  securityGroups: [],
  attempt: 0,
};

const nowMs = Date.parse("2026-11-21T10:10:00Z");
const address = { addr: "10.0.0.5", version: 4, port: "5a1f8a3e-0000-4000-8000-000000000000", subnet_id: "s", preserve_on_delete: false };
const container = {
  uuid: "1d2a6f7e-0000-4000-8000-000000000000",
  links: [],
  name: "default-web-u1",
  image: "nginx",
  status: "Stopped",
  status_reason: null,
  status_detail: "Exited(3) 5 mins ago ",
  task_state: null,
  labels: {},
  addresses: { "6c2dee1c-8d4c-4b39-a4b1-5d6b8f0d7d2e": [address] },
  interactive: false,
  tty: false,
  created_at: "2026-11-21 10:00:00.123456",
  updated_at: "2026-11-21T10:05:00+00:00",
};
const capsule = { ...container, status: "Running", containers: [container], init_containers: null };

/** The first thing that is wrong; `undefined` if it can be read. */
function problem(schema: z.ZodType, value: unknown): string | undefined {
  const { error } = schema.safeParse(value);
  return error && problemOf(error);
}

test("what Zun answers can be read, also where it tells nothing yet", () => {
  const nulls = Object.fromEntries(Object.keys(container).map((key) => [key, key === "uuid" ? container.uuid : null]));
  expect([container, nulls].map((each) => problem(containerSchema, each))).toEqual([undefined, undefined]);
  expect([capsule, nulls].map((each) => problem(capsuleSchema, each))).toEqual([undefined, undefined]);
});

test.each<[string, object, RegExp]>([
  ["a uuid that leads elsewhere", { uuid: "../capsules/1" }, /^uuid: expected a UUID/],
  ["no uuid", { uuid: undefined }, /^uuid: /],
  ["a status that Zun does not have", { status: "Sleeping" }, /^status: Invalid option/],
  ["a status that is a number", { status: 3 }, /^status: /],
  [
    "an exit code that no process has",
    { status_detail: "Exited(999) 1 mins ago " },
    /^status_detail: its exit code is none: expected 0 to 255/,
  ],
  ["an exit code below Docker's -1", { status_detail: "Exited(-2) 1 mins ago " }, /^status_detail: its exit code/],
  ["an end before there were machines", { status_detail: `Exited(0) ${"9".repeat(30)} days ago ` }, /^status_detail: its interval is none/],
  ["a status detail that is an object", { status_detail: {} }, /^status_detail: /],
  ["a reason that is a list", { status_reason: [] }, /^status_reason: /],
  ["a state of tasks that is a number", { task_state: 1 }, /^task_state: /],
  ["addresses in a list", { addresses: [address] }, /^addresses: /],
  [
    "an address that is none",
    { addresses: { net: [{ ...address, addr: "10.0.0.500" }] } },
    /^addresses\.net\.0\.addr: expected an IP address/,
  ],
  [
    "an address with a zone",
    { addresses: { net: [{ addr: "fe80::1%eth0", version: 6 }] } },
    /^addresses\.net\.0\.addr: expected an IP address/,
  ],
  [
    "an address of another version",
    { addresses: { net: [{ ...address, version: 6 }] } },
    /^addresses\.net\.0: expected an address of its version/,
  ],
  ["a version that is none", { addresses: { net: [{ ...address, version: 5 }] } }, /^addresses\.net\.0\.version: /],
  ["a date that is none", { created_at: "2026-02-31 10:00:00" }, /^created_at: expected a time/],
  ["a date in words", { created_at: "yesterday" }, /^created_at: expected a time/],
  ["a date that is a number", { updated_at: 1 }, /^updated_at: /],
  ["an image that is an object", { image: {} }, /^image: /],
  ["a terminal in words", { tty: "yes" }, /^tty: /],
])("a container with %s cannot be read, alone or in a capsule", (_what, change, expected) => {
  expect(problem(containerSchema, { ...container, ...change })).toMatch(expected);
  const inside = problem(capsuleSchema, { ...capsule, containers: [{ ...container, ...change }] });
  expect(inside?.replace(/^containers\.0\./, "")).toMatch(expected);
});

test("what Zun says of something else than containers is read by its fields, too", () => {
  expect(problem(capsuleSchema, { ...capsule, containers: {} })).toMatch(/^containers: /);
  expect([256, -1, 0.5, "0"].map((exit_code) => problem(execSchema, { exit_code }) !== undefined)).toEqual([true, true, true, true]);
  expect(problem(execSchema, { exec_id: "../x" })).toMatch(/^exec_id: /);
  expect(problem(statsSchema, { "MEM USAGE(MiB)": -1 })).toMatch(/^MEM USAGE\(MiB\): /);
  expect(problem(statsSchema, { "CPU %": "1" })).toMatch(/^CPU %: /);
  expect(problem(quotaSchema, { cpu: "many" })).toMatch(/^cpu: /);
  expect(problem(quotaSchema, { memory: -2 })).toMatch(/^memory: /);
  for (const document of [undefined, null, "<html>", { versions: {} }, { versions: [{ id: "v1", max_version: 1.4 }] }])
    expect(() => chooseMinor(document)).toThrow(/is this the container service/);
});

/** An object with some of its fields, and of those of what it holds, replaced. */
function damaged(object: Readonly<Record<string, unknown>>): fc.Arbitrary<unknown> {
  const strange = fc.oneof(
    fc.jsonValue(),
    fc.string().map((text) => `Exited(${text}) ${text} days ago`),
    fc.integer().map((number) => `Exited(${number}) ${number} hours ago`),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    fc.constant({ net: [{ addr: "::1", version: 6 }, { addr: null }] }),
  );
  return fc.dictionary(fc.constantFrom(...Object.keys(object)), strange).map((change) => ({ ...object, ...change }));
}

/** Every text under one of these keys. */
function textsOf(value: unknown, keys: ReadonlySet<string>): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => (keys.has(key) && typeof each === "string" ? [each] : textsOf(each, keys)));
}

test("whatever a container's fields are, it cannot be read, or its status is one that Kubernetes takes", () => {
  fc.assert(
    fc.property(damaged(container), damaged(container), (first, second) => {
      let memory: ZunMemory | undefined;
      let status: unknown;
      for (const value of [first, second]) {
        const { data } = containerSchema.safeParse(value);
        if (!data) continue;
        const observed = observeObject(observeContainer(data, labels), { memory, nowMs, isEnding: false });
        memory = observed.memory;
        status = observed.status;
        const { exitCode = 0 } = observed.status.containerStatuses?.[0]?.state?.terminated ?? {};
        expect(exitCode >= 0 && exitCode <= 255).toBe(true);
      }
      for (const time of textsOf(status, new Set(["startedAt", "finishedAt"])))
        expect(new Date(time).toISOString()).toBe(time.replace("Z", ".000Z"));
      for (const ip of textsOf(status, new Set(["podIP", "ip"]))) expect(isIP(ip)).not.toBe(0);
    }),
    { numRuns: 500 },
  );
});

test("whatever a capsule's fields are, it cannot be read, or its status is one that Kubernetes takes", () => {
  const members = damaged(container);
  fc.assert(
    fc.property(damaged(capsule), fc.array(members, { maxLength: 3 }), (value, containers) => {
      const { data } = capsuleSchema.safeParse({ ...(value as object), containers });
      if (!data) return;
      const object = observeCapsule(data, { ...labels, containers: ["a", "b"] });
      for (const ip of addressesOf(object)) expect(isIP(ip)).not.toBe(0);
      const { status } = observeObject(object, { memory: undefined, nowMs, isEnding: false });
      expect(["Pending", "Running", "Succeeded", "Failed", "Unknown"]).toContain(status.phase);
    }),
  );
});
