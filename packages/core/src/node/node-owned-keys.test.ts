import { describe, expect, test } from "vitest";
import { formatOwnedKeys, joinKeys, ownedKeys, parseOwnedKeys, taintKey } from "./node-owned-keys.ts";
import { wantedNode } from "./node-object.ts";

const none = parseOwnedKeys(undefined);
const running = { health: { kind: "up" }, answered: true, inventoryLoaded: true } as const;

describe("the keys of a node", () => {
  test("are listed sorted, those of which there are any", () => {
    expect(formatOwnedKeys({ ...none, labels: ["b", "a"], taints: ["t:NoSchedule"] })).toBe(
      '{"labels":["a","b"],"taints":["t:NoSchedule"]}',
    );
    expect(formatOwnedKeys(none)).toBeUndefined();
  });

  test("are read as they were written", () => {
    const keys = { labels: ["a"], annotations: ["b"], taints: ["c:NoSchedule"], resources: ["d"], conditions: ["e"] };

    expect(parseOwnedKeys(formatOwnedKeys(keys))).toEqual(keys);
    expect(none).toEqual({ labels: [], annotations: [], taints: [], resources: [], conditions: [] });
  });

  test.each(["", "{", "null", "5", "[]", '"labels"', '{"labels":5}'])("are none where what is there cannot be read: %s", (annotation) => {
    expect(parseOwnedKeys(annotation)).toEqual(none);
  });

  test("are read where they can be, beside what cannot", () => {
    expect(parseOwnedKeys('{"labels":["a",5,null],"taints":{},"conditions":["C"]}')).toEqual({ ...none, labels: ["a"], conditions: ["C"] });
  });

  test("of two lists are each once", () => {
    expect(joinKeys({ ...none, labels: ["a", "b"] }, { ...none, labels: ["b", "c"], taints: ["t:NoExecute"] })).toEqual({
      ...none,
      labels: ["a", "b", "c"],
      taints: ["t:NoExecute"],
    });
  });

  test("are those beyond what every node has from us", () => {
    const options = {
      name: "vk",
      instance: { identity: "a" },
      labels: { team: "x", type: "mine" },
      taints: [{ key: "t", effect: "NoSchedule" }],
    };
    const description = {
      annotations: { note: "y" },
      capacity: { cpu: "1", "a.b/gpu": "1" },
      allocatable: { "c.d/e": "1" },
      conditions: [{ type: "Backlog", status: "True", reason: "", message: "" } as const],
    };

    expect(ownedKeys(wantedNode(options, description, running))).toEqual({
      labels: ["team"],
      annotations: ["note"],
      taints: ["t:NoSchedule"],
      resources: ["a.b/gpu", "c.d/e"],
      conditions: ["Backlog"],
    });
    expect(ownedKeys(wantedNode({ name: "vk", instance: { identity: "a" } }, {}, running))).toEqual(none);
  });
});

test("taints are told apart by key and effect, as the API server does", () => {
  expect(taintKey({ key: "a", value: "x", effect: "NoSchedule" })).toBe("a:NoSchedule");
});
