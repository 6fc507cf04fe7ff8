import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { identity, owner, ref } from "../test-support/pods.ts";
import { groupOf, identityOf, startedByOf, tagsOf } from "./pod-identity.ts";

const tags = Object.fromEntries(tagsOf(identity).map(({ key = "", value = "" }) => [key, value]));
const others = { clusterId: "c2", nodeName: owner.nodeName };

test("a task's tags say whose it is", () => {
  expect(identityOf({ tags }, owner)).toEqual({ kind: "pod", identity });
  expect(identityOf({ tags }, others)).toEqual({ kind: "foreign" });
});

describe("a task whose tags ECS has removed because it was stopped", () => {
  test("is known by the text that started it, and by its group", () => {
    expect(identityOf({ tags: {}, startedBy: startedByOf(owner), group: groupOf(identity) }, owner)).toEqual({ kind: "pod", identity });
  });

  test("belongs to others if others started it", () => {
    expect(identityOf({ tags: {}, startedBy: startedByOf(others), group: groupOf(identity) }, owner)).toEqual({ kind: "foreign" });
    expect(identityOf({ tags: {}, startedBy: "ecs-svc/123", group: "service:web" }, owner)).toEqual({ kind: "foreign" });
  });

  test("is not taken for a pod if the group is not one of ours", () => {
    expect(identityOf({ tags: {}, startedBy: startedByOf(owner), group: "family:web" }, owner)).toMatchObject({ kind: "unreadable" });
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
