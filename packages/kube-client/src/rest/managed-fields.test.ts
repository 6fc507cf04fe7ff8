import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withoutManagedFields } from "./managed-fields.ts";

const managed = [
  { manager: "kubectl", fieldsV1: { "f:metadata": { "f:labels": { ".": {} } }, 'k:{"name":"a]}\\"b"}': { "f:image": {} } } },
  { manager: "node", subresource: "status", fieldsV1: {} },
];

test("what is left is the object without them", () => {
  const pod = { kind: "Pod", metadata: { name: "web", labels: { app: "a" }, managedFields: managed }, spec: { containers: [] } };
  const { managedFields: _dropped, ...metadata } = pod.metadata;
  expect(JSON.parse(withoutManagedFields(JSON.stringify({ type: "ADDED", object: pod })))).toEqual({
    type: "ADDED",
    object: { ...pod, metadata },
  });
});

test("what is left is the same, whatever the object holds", () => {
  const entry = fc.oneof(fc.jsonValue(), fc.constantFrom('"metadata":{', ',"managedFields":[', '\\",', "}]", '"'));
  const fields = fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('a"', "\\", ',"managedFields":[')), entry, { maxKeys: 4 });
  fc.assert(
    fc.property(fields, fields, fc.array(fields, { maxLength: 3 }), (first, rest, entries) => {
      const { managedFields: _first, ...own } = first;
      const { metadata: _metadata, managedFields: _rest, ...others } = rest;
      const whole = { kind: "Pod", metadata: { name: "web", ...own, managedFields: entries }, ...others };
      const json = JSON.stringify(whole);
      const bare = JSON.stringify({ ...whole, metadata: { name: "web", ...own } });
      // Where the metadata holds text like the key's own, the fields may stay; they are dropped once they are parsed. Texts are compared:
      // JSON.parse of Node.js 24 misreads a key that is an escape where it has seen one that ends in a backslash.
      expect([bare, json]).toContain(withoutManagedFields(json));
    }),
    { numRuns: 2_000 },
  );
});

test.for([
  ["fields of an API server", [{ manager: "kubectl", fieldsV1: { "f:metadata": { 'k:{"name":"a"}': {} } } }]],
  ["none", []],
  ["a bracket in a text", [{ manager: "a]", fieldsV1: {} }]],
  ["a text that looks like the end", [{ manager: ']},"spec":{"a', fieldsV1: {} }]],
  ["a text that ends like the end", ["b]},", "spec"]],
  ["a list in a list", [{ fieldsV1: { a: [{ b: [] }], spec: {} } }]],
  ["a text that ends with a backslash", [{ manager: "a\\" }, { manager: '\\"]' }]],
] as const)("%s is taken out as a whole", ([, managedFields]) => {
  const json = JSON.stringify({ kind: "Pod", metadata: { name: "web", managedFields }, spec: { containers: [] } });
  expect(withoutManagedFields(json)).toBe('{"kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[]}}');
});

test.for([[{ fieldsV1: { "f:spec": {} } }], [{ manager: "]}}", fieldsV1: {} }], [{ manager: "]}}\n" }], [{ a: [], b: "]}}" }]] as const)(
  "fields at the end of an object are taken out, too: %j",
  ([entry]) => {
    const json = JSON.stringify({ kind: "PartialObjectMetadata", metadata: { name: "web", managedFields: [entry] } });
    const bare = '{"kind":"PartialObjectMetadata","metadata":{"name":"web"}}';
    expect(withoutManagedFields(json)).toBe(bare);
    expect(withoutManagedFields(`${json}\n`)).toBe(`${bare}\n`);
    expect(withoutManagedFields(`{"type":"ADDED","object":${json}}`)).toBe(`{"type":"ADDED","object":${bare}}`);
  },
);

describe("nothing is taken out of", () => {
  test.for([
    ["an object that has none", { metadata: { name: "web" }, spec: {} }],
    ["a field of that name elsewhere", { metadata: { name: "web" }, spec: { size: 1, managedFields: [1] } }],
    ["a field of that name deeper in the metadata", { metadata: { annotations: { a: "1", managedFields: [1] } } }],
    ["a text that looks like it", { metadata: { name: "web", note: ',"managedFields":[1]' } }],
    ["the metadata of something in the object", { spec: { metadata: { name: "t", managedFields: [1] } }, metadata: { name: "web" } }],
    ["a field of that name before the metadata", { spec: { size: 1, managedFields: [1] }, metadata: { name: "web" } }],
  ] as const)("%s", ([, object]) => {
    const json = JSON.stringify(object);
    expect(withoutManagedFields(json)).toBe(json);
  });

  test("JSON that is cut off", () => {
    const json = JSON.stringify({ metadata: { name: "web", managedFields: managed } });
    for (let length = 0; length < json.length - 2; length++)
      expect(withoutManagedFields(json.slice(0, length))).toBe(json.slice(0, length));
  });
});
