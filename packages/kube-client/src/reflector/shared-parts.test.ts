import { text } from "node:stream/consumers";
import { getHeapSnapshot } from "node:v8";
import { expect, test } from "vitest";
import type { KubernetesObject, OwnerReference } from "../rest/objects.ts";
import { SharedParts } from "./shared-parts.ts";

interface Thing extends KubernetesObject {
  spec?: unknown;
  status?: unknown;
}

const owner = (uid: string): OwnerReference => ({ apiVersion: "apps/v1", kind: "ReplicaSet", name: uid, uid, controller: true });

/** Returns an object as the parser makes it: no two have a part in common. */
function thing(uid: string, fields: Omit<Thing, "metadata">, controller?: string): Thing {
  const ownerReferences = controller === undefined ? undefined : [owner(controller)];
  return JSON.parse(JSON.stringify({ ...fields, metadata: { uid, ownerReferences } })) as Thing;
}

const spec = { containers: [{ name: "web", args: ["-v", "3"] }], tolerations: [{ key: "a" }, { key: "b" }] };

test("a new version of an object has the equal parts of the previous one, and is otherwise as it came", () => {
  const parts = new SharedParts();
  const previous = thing("u1", { spec, status: { phase: "Pending", ips: [{ ip: "10.0.0.1" }] } });
  const next = thing("u1", { spec, status: { phase: "Running", ips: [{ ip: "10.0.0.1" }] } });
  parts.share(previous, undefined);

  parts.share(next, previous);

  expect(next).toEqual(thing("u1", { spec, status: { phase: "Running", ips: [{ ip: "10.0.0.1" }] } }));
  expect(next.spec).toBe(previous.spec);
  expect(next.status).not.toBe(previous.status);
  expect((next.status as { ips: object }).ips).toBe((previous.status as { ips: object }).ips);
  expect(previous).toEqual(thing("u1", { spec, status: { phase: "Pending", ips: [{ ip: "10.0.0.1" }] } }));
});

test("an object has the equal parts of the last one of the same controller", () => {
  const parts = new SharedParts();
  const [web, other, next] = [thing("u1", { spec }, "web"), thing("u2", { spec: { containers: [] } }, "db"), thing("u3", { spec }, "web")];
  for (const each of [web, other, next]) parts.share(each, undefined);

  expect(next.spec).toBe(web.spec);
  expect(next.metadata?.ownerReferences).toBe(web.metadata?.ownerReferences);
  expect(next.metadata?.uid).toBe("u3");
});

test("what differs from the previous version is shared with the last object of the same controller", () => {
  const parts = new SharedParts();
  const running = thing("u1", { status: { user: { uid: 0, groups: [0] } } }, "web");
  const previous = thing("u2", { status: {} }, "web");
  parts.share(previous, undefined);
  parts.share(running, undefined);
  const next = thing("u2", { status: { user: { uid: 0, groups: [0] } } }, "web");

  parts.share(next, previous);

  expect(next.status).toBe(running.status);
});

test.each([
  ["a longer list", { args: ["-v"] }, { args: ["-v", "3"] }],
  ["a shorter list", { args: ["-v", "3"] }, { args: ["-v"] }],
  ["another order", { args: ["-v", "3"] }, { args: ["3", "-v"] }],
  ["one more key", { labels: { a: "1" } }, { labels: { a: "1", b: "2" } }],
  ["one key less", { labels: { a: "1", b: "2" } }, { labels: { a: "1" } }],
  ["another key", { labels: { a: null } }, { labels: { b: null } }],
  ["an object in place of a list", { args: [] }, { args: {} }],
  ["null in place of an object", { args: {} }, { args: null }],
  ["a number in place of a string", { port: "80" }, { port: 80 }],
  ["keys of every object's prototype", { labels: {} }, { labels: { toString: "x", constructor: {}, hasOwnProperty: null } }],
])("%s is no equal part", (_, before, after) => {
  const parts = new SharedParts();
  parts.share(thing("u1", { spec: before }), undefined);
  const next = thing("u2", { spec: after });

  parts.share(next, undefined);

  expect(next.spec).toEqual(after);
});

test("a field that was emptied is not taken for one that is missing", () => {
  const parts = new SharedParts();
  const previous: Thing = { metadata: { uid: "u1", resourceVersion: "1" }, spec: { a: undefined } };
  parts.share(previous, undefined);
  const next: Thing = { metadata: { uid: "u1", resourceVersion: "1" }, spec: { b: undefined } };

  parts.share(next, previous);

  expect(next.spec).toStrictEqual({ b: undefined });
});

test("a key named __proto__ stays what it is", () => {
  const parts = new SharedParts();
  parts.share(thing("u1", { spec: {} }), undefined);
  const next: Thing = { metadata: { uid: "u2" }, spec: JSON.parse('{"a":{"__proto__":{}},"b":1}') as unknown };

  parts.share(next, undefined);

  expect(JSON.stringify(next.spec)).toBe('{"a":{"__proto__":{}},"b":1}');
  expect(Object.getPrototypeOf((next.spec as { a: object }).a)).toBe(Object.prototype);
});

test("objects of any depth are accepted", () => {
  const parts = new SharedParts();
  const deep = (): unknown => JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);
  const [first, second]: Thing[] = [
    { metadata: { uid: "u1" }, spec: deep() },
    { metadata: { uid: "u2" }, spec: deep() },
  ];
  for (const each of [first, second]) if (each) parts.share(each, undefined);

  // A message about such values would take too long.
  expect(second?.spec === first?.spec).toBe(false);
});

test("equal strings of different objects are stored once", async () => {
  const parts = new SharedParts();
  const time = ["2026", "01", "01T00:00:0"].join("-");
  const things = Array.from({ length: 60 }, (_, index) =>
    thing(`u${index}`, { status: [{ type: `condition-${index}`, at: `${time}${index % 3}Z` }] }),
  );
  for (const each of things) parts.share(each, undefined);

  expect(await countStrings(`${time}1Z`)).toBe(1);
  expect(things.length).toBe(60);
});

/** Counts the strings of that content in this process. */
async function countStrings(content: string): Promise<number> {
  const { nodes, strings, snapshot } = JSON.parse(await text(getHeapSnapshot())) as {
    nodes: number[];
    strings: string[];
    snapshot: { meta: { node_fields: string[]; node_types: [string[]] } };
  };
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const [isString, name] = [types[0].indexOf("string"), strings.indexOf(content)];
  let count = 0;
  for (let at = 0; at < nodes.length; at += fields.length) if (nodes[at] === isString && nodes[at + 1] === name) count++;
  return count;
}
