import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { identity, owner, ref } from "../test-support/pods.ts";
import { groupOf, identityOf, startedByOf, tagsOf } from "./pod-identity.ts";

const tags = Object.fromEntries(tagsOf(identity).map(({ key = "", value = "" }) => [key, value]));
const others = { clusterId: "c2", nodeName: owner.nodeName };

const own = { startedBy: startedByOf(owner), group: groupOf(identity) };

describe("a task", () => {
  test("is the pod's that its group names, if this node started it", () => {
    expect(identityOf({ tags, ...own }, owner)).toEqual({ kind: "pod", identity });
    expect(identityOf({ tags, ...own }, others)).toEqual({ kind: "foreign" });
  });

  test.each([
    ["no tags, because ECS removes them when it is stopped", {}],
    ["another UID", { ...tags, "vk.uid": "11111111-2222-4333-8444-555555555555" }],
    ["another node", { ...tags, "vk.node": "other" }],
    ["tags that cannot be read", { ...tags, "vk.attempt": "many" }],
    ["tags of another program", { team: "web" }],
  ])("stays the pod's with %s", (_what, changed) => {
    expect(identityOf({ tags: changed, ...own }, owner)).toEqual({ kind: "pod", identity });
  });

  test("that others have started is theirs, also with copied tags", () => {
    expect(identityOf({ tags, startedBy: startedByOf(others), group: own.group }, owner)).toEqual({ kind: "foreign" });
    expect(identityOf({ tags, startedBy: "ecs-svc/123", group: "service:web" }, owner)).toEqual({ kind: "foreign" });
    expect(identityOf({ tags }, owner)).toEqual({ kind: "foreign" });
  });

  test("whose names are too long for a group is identified by its tags", () => {
    const long = { ...identity, ref: { ...ref, name: "x".repeat(250) } };
    const longTags = Object.fromEntries(tagsOf(long).map(({ key = "", value = "" }) => [key, value]));

    expect(identityOf({ tags: longTags, startedBy: own.startedBy, group: groupOf(long) }, owner)).toEqual({ kind: "pod", identity: long });
    expect(identityOf({ tags: {}, startedBy: own.startedBy, group: groupOf(long) }, owner)).toMatchObject({ kind: "unreadable" });
  });

  test("without tags and with a group of others is unreadable", () => {
    expect(identityOf({ tags: {}, startedBy: own.startedBy, group: "family:web" }, owner)).toMatchObject({ kind: "unreadable" });
  });
});

test("names are within the limits of ECS, and tell nodes apart", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 253 }), fc.string({ maxLength: 253 }), (one, two) => {
      const [first, second] = [one, two].map((nodeName) => startedByOf({ clusterId: "c", nodeName }));
      expect(first).toMatch(/^[A-Za-z0-9/_-]{1,128}$/);
      expect(first === second).toBe(one === two);
    }),
  );
});

test("a group that would be too long names only the pod's UID", () => {
  const long = { ...identity, ref: { ...ref, name: "x".repeat(250) } };

  expect(groupOf(long)).toBe(`pod:${ref.uid}`);
});
