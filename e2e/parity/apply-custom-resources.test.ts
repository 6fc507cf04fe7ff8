import { expect } from "vitest";
import { managersOf } from "./support/managers.ts";
import { test } from "./support/parity-test.ts";
import { establishDefinition } from "./support/definitions.ts";

const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        size: { type: "integer" },
        mode: { type: "string", default: "fast" },
        tags: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
        ports: {
          type: "array",
          items: {
            type: "object",
            required: ["port"],
            properties: { port: { type: "integer" }, protocol: { type: "string", default: "TCP" }, name: { type: "string" } },
          },
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["port", "protocol"],
        },
        steps: { type: "array", items: { type: "object", properties: { run: { type: "string" } } } },
        selector: { type: "object", additionalProperties: { type: "string" }, "x-kubernetes-map-type": "atomic" },
        labels: { type: "object", additionalProperties: { type: "string" } },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        limit: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] },
      },
    },
    status: { type: "object", properties: { phase: { type: "string" } } },
  },
};

test("custom resources are applied by the list types of their schema", async ({ api, namespace }) => {
  await using definition = await establishDefinition(api, { namespace, schema, subresources: { status: {} } });
  const path = `${definition.path}/a`;
  const object = (spec: object, more: object = {}): object => ({
    apiVersion: definition.apiVersion,
    kind: definition.kind,
    metadata: { name: "a" },
    spec,
    ...more,
  });
  const created = await api.apply(
    path,
    "alice",
    object(
      {
        size: 1,
        tags: ["a", "b"],
        ports: [{ port: 80 }, { port: 80, protocol: "UDP" }],
        steps: [{ run: "x" }],
        selector: { a: "b" },
        labels: { c: "d" },
        free: { x: { y: [1] } },
        limit: "5",
      },
      { status: { phase: "Ready" } },
    ),
  );
  expect([created.status, created.body.spec, created.body.status]).toMatchInlineSnapshot(`
    [
      201,
      {
        free: {x: {y: [1]}},
        labels: {c: "d"},
        limit: "5",
        mode: "fast",
        ports: [{port: 80, protocol: "TCP"}, {port: 80, protocol: "UDP"}],
        selector: {a: "b"},
        size: 1,
        steps: [{run: "x"}],
        tags: ["a", "b"],
      },
      undefined,
    ]
  `);
  expect(managersOf(created.body)).toMatchInlineSnapshot(`
    [
      "alice Apply NAMESPACE.example.com/v1 {\\"f:spec\\":{\\"f:free\\":{\\"f:x\\":{\\".\\":{},\\"f:y\\":{}}},\\"f:labels\\":{\\"f:c\\":{}},\\"f:limit\\":{},\\"f:ports\\":{\\"k:{\\\\\\"port\\\\\\":80,\\\\\\"protocol\\\\\\":\\\\\\"TCP\\\\\\"}\\":{\\".\\":{},\\"f:port\\":{}},\\"k:{\\\\\\"port\\\\\\":80,\\\\\\"protocol\\\\\\":\\\\\\"UDP\\\\\\"}\\":{\\".\\":{},\\"f:port\\":{},\\"f:protocol\\":{}}},\\"f:selector\\":{},\\"f:size\\":{},\\"f:steps\\":{},\\"f:tags\\":{\\"v:\\\\\\"a\\\\\\"\\":{},\\"v:\\\\\\"b\\\\\\"\\":{}}}}",
    ]
  `);

  const merged = await api.apply(
    path,
    "bob",
    object({ tags: ["b", "c"], ports: [{ port: 80, name: "http" }], labels: { e: "f" }, free: { x: { z: 1 } } }),
  );
  expect([merged.status, merged.body.spec]).toMatchInlineSnapshot(`
    [
      200,
      {
        free: {x: {y: [1], z: 1}},
        labels: {c: "d", e: "f"},
        limit: "5",
        mode: "fast",
        ports: [{name: "http", port: 80, protocol: "TCP"}, {port: 80, protocol: "UDP"}],
        selector: {a: "b"},
        size: 1,
        steps: [{run: "x"}],
        tags: ["a", "b", "c"],
      },
    ]
  `);
  expect(managersOf(merged.body)).toMatchInlineSnapshot(`
    [
      "alice Apply NAMESPACE.example.com/v1 {\\"f:spec\\":{\\"f:free\\":{\\"f:x\\":{\\".\\":{},\\"f:y\\":{}}},\\"f:labels\\":{\\"f:c\\":{}},\\"f:limit\\":{},\\"f:ports\\":{\\"k:{\\\\\\"port\\\\\\":80,\\\\\\"protocol\\\\\\":\\\\\\"TCP\\\\\\"}\\":{\\".\\":{},\\"f:port\\":{}},\\"k:{\\\\\\"port\\\\\\":80,\\\\\\"protocol\\\\\\":\\\\\\"UDP\\\\\\"}\\":{\\".\\":{},\\"f:port\\":{},\\"f:protocol\\":{}}},\\"f:selector\\":{},\\"f:size\\":{},\\"f:steps\\":{},\\"f:tags\\":{\\"v:\\\\\\"a\\\\\\"\\":{},\\"v:\\\\\\"b\\\\\\"\\":{}}}}",
      "bob Apply NAMESPACE.example.com/v1 {\\"f:spec\\":{\\"f:free\\":{\\"f:x\\":{\\".\\":{},\\"f:z\\":{}}},\\"f:labels\\":{\\"f:e\\":{}},\\"f:ports\\":{\\"k:{\\\\\\"port\\\\\\":80,\\\\\\"protocol\\\\\\":\\\\\\"TCP\\\\\\"}\\":{\\".\\":{},\\"f:name\\":{},\\"f:port\\":{}}},\\"f:tags\\":{\\"v:\\\\\\"b\\\\\\"\\":{},\\"v:\\\\\\"c\\\\\\"\\":{}}}}",
    ]
  `);

  const pruned = await api.apply(path, "alice", object({ size: 1, tags: ["a"] }));
  expect([pruned.status, pruned.body.spec]).toMatchInlineSnapshot(`
    [
      200,
      {
        free: {x: {z: 1}},
        labels: {e: "f"},
        mode: "fast",
        ports: [{name: "http", port: 80, protocol: "TCP"}],
        size: 1,
        tags: ["a", "b", "c"],
      },
    ]
  `);
  expect(managersOf(pruned.body)).toMatchInlineSnapshot(`
    [
      "alice Apply NAMESPACE.example.com/v1 {\\"f:spec\\":{\\"f:size\\":{},\\"f:tags\\":{\\"v:\\\\\\"a\\\\\\"\\":{}}}}",
      "bob Apply NAMESPACE.example.com/v1 {\\"f:spec\\":{\\"f:free\\":{\\"f:x\\":{\\".\\":{},\\"f:z\\":{}}},\\"f:labels\\":{\\"f:e\\":{}},\\"f:ports\\":{\\"k:{\\\\\\"port\\\\\\":80,\\\\\\"protocol\\\\\\":\\\\\\"TCP\\\\\\"}\\":{\\".\\":{},\\"f:name\\":{},\\"f:port\\":{}}},\\"f:tags\\":{\\"v:\\\\\\"b\\\\\\"\\":{},\\"v:\\\\\\"c\\\\\\"\\":{}}}}",
    ]
  `);

  const status = await api.apply(`${path}/status`, "carol", object({ size: 7 }, { status: { phase: "Done" } }));
  expect([status.status, status.body.spec.size, status.body.status]).toMatchInlineSnapshot(`[200, 1, {phase: "Done"}]`);
  expect(managersOf(status.body)).toMatchInlineSnapshot(`
    [
      "alice Apply NAMESPACE.example.com/v1 {\\"f:spec\\":{\\"f:size\\":{},\\"f:tags\\":{\\"v:\\\\\\"a\\\\\\"\\":{}}}}",
      "bob Apply NAMESPACE.example.com/v1 {\\"f:spec\\":{\\"f:free\\":{\\"f:x\\":{\\".\\":{},\\"f:z\\":{}}},\\"f:labels\\":{\\"f:e\\":{}},\\"f:ports\\":{\\"k:{\\\\\\"port\\\\\\":80,\\\\\\"protocol\\\\\\":\\\\\\"TCP\\\\\\"}\\":{\\".\\":{},\\"f:name\\":{},\\"f:port\\":{}}},\\"f:tags\\":{\\"v:\\\\\\"b\\\\\\"\\":{},\\"v:\\\\\\"c\\\\\\"\\":{}}}}",
      'carol Apply NAMESPACE.example.com/v1 status {"f:status":{"f:phase":{}}}',
    ]
  `);

  expect([
    await api.apply(path, "bob", object({ steps: [{ run: "y" }], selector: { a: "c" } })),
    await api.apply(path, "dave", object({ size: 2 })),
    await api.apply(path, "dave", object({ unknown: 2 })),
    await api.apply(path, "dave", object({ size: "x" })),
    await api.apply(path, "dave", object({ tags: ["a", "a"] })),
    await api.apply(path, "dave", object({ ports: [{ protocol: "TCP" }] })),
    await api.apply(path, "dave&force=true", object({ size: 2.5 })),
  ]).toMatchInlineSnapshot(`
    [
      
      200 {
      apiVersion: "NAMESPACE.example.com/v1",
      kind: "Thing",
      metadata: {
        creationTimestamp: "TIME",
        generation: 4,
        name: "a",
        namespace: "NAMESPACE",
        resourceVersion: VERSION,
        uid: "UID",
      },
      spec: {mode: "fast", selector: {a: "c"}, size: 1, steps: [{run: "y"}], tags: ["a"]},
      status: {phase: "Done"},
    },
      
      409 Failure {
      details: {causes: [{field: ".spec.size", message: 'conflict with "alice"', reason: "FieldManagerConflict"}]},
      message: 'Apply failed with 1 conflict: conflict with "alice": .spec.size',
      reason: "Conflict",
    },
      
      500 Failure {
      message: "failed to create typed patch object (/a; NAMESPACE.example.com/v1, Kind=Thing): .spec.unknown: field not declared in schema",
    },
      
      500 Failure {
      message: "failed to create typed patch object (/a; NAMESPACE.example.com/v1, Kind=Thing): .spec.size: expected numeric (int or float), got string",
    },
      
      500 Failure {
      message: 'failed to create typed patch object (/a; NAMESPACE.example.com/v1, Kind=Thing): .spec.tags: duplicate entries for key [="a"]',
    },
      
      422 Failure {
      details: {
        causes: [{field: "spec.ports[0].port", message: "Required value", reason: "FieldValueRequired"}],
        group: "NAMESPACE.example.com",
        kind: "Thing",
        name: "a",
      },
      message: 'Thing.NAMESPACE.example.com "a" is invalid: spec.ports[0].port: Required value',
      reason: "Invalid",
    },
      
      422 Failure {
      details: {
        causes: [
          {
            field: "spec.size",
            message: 'Invalid value: "number": spec.size in body must be of type integer: "number"',
            reason: "FieldValueTypeInvalid",
          },
          {
            field: "<nil>",
            message: 'Invalid value: "": Checked value must be of type integer (default format) in spec.size',
            reason: "FieldValueInvalid",
          },
        ],
        group: "NAMESPACE.example.com",
        kind: "Thing",
        name: "a",
      },
      message: 'Thing.NAMESPACE.example.com "a" is invalid: [spec.size: Invalid value: "number": spec.size in body must be of type integer: "number", <nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.size]',
      reason: "Invalid",
    },
    ]
  `);
});

test("an update of a custom resource belongs to who wrote it", async ({ api, namespace }) => {
  await using definition = await establishDefinition(api, { namespace, schema, subresources: { status: {} } });
  const { path, apiVersion, kind } = definition;
  const made = await api.request("POST", `${path}?fieldManager=creator`, {
    body: { apiVersion, kind, metadata: { name: "a", labels: { x: "y" } }, spec: { size: 1 }, status: { phase: "lost" } },
  });
  expect(managersOf(made.body)).toMatchInlineSnapshot(`
    [
      'creator Update NAMESPACE.example.com/v1 {"f:metadata":{"f:labels":{".":{},"f:x":{}}},"f:spec":{".":{},"f:mode":{},"f:size":{}}}',
    ]
  `);
  const status = await api.put(`${path}/a/status?fieldManager=controller`, {
    ...made.body,
    metadata: { ...made.body.metadata, labels: { z: "1" } },
    spec: { size: 9 },
    status: { phase: "Ready" },
  });
  expect([status.status, status.body.metadata.labels, status.body.spec.size]).toMatchInlineSnapshot(`[200, {x: "y"}, 1]`);
  expect(managersOf(status.body)).toMatchInlineSnapshot(`
    [
      'controller Update NAMESPACE.example.com/v1 status {"f:status":{".":{},"f:phase":{}}}',
      'creator Update NAMESPACE.example.com/v1 {"f:metadata":{"f:labels":{".":{},"f:x":{}}},"f:spec":{".":{},"f:mode":{},"f:size":{}}}',
    ]
  `);
});

test("who owned items of a list owns the list when it has become atomic", async ({ api, namespace }) => {
  await using definition = await establishDefinition(api, { namespace, schema, subresources: { status: {} } });
  const { path, apiVersion, kind } = definition;
  const object = (spec: object): object => ({ apiVersion, kind, metadata: { name: "a" }, spec });
  await api.apply(`${path}/a`, "alice", object({ tags: ["a"], labels: { c: "d" }, ports: [{ port: 80, name: "x" }] }));
  await api.apply(`${path}/a`, "bob", object({ tags: ["b"], labels: { e: "f" } }));
  await definition.change({
    tags: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "atomic" },
    labels: { type: "object", additionalProperties: { type: "string" }, "x-kubernetes-map-type": "atomic" },
  });

  const patched = await api.patch("merge", `${path}/a?fieldManager=carol`, { spec: { size: 1 } });
  expect(managersOf(patched.body)).toMatchInlineSnapshot(`
    [
      "alice Apply NAMESPACE.example.com/v1 {\\"f:spec\\":{\\"f:labels\\":{},\\"f:ports\\":{\\"k:{\\\\\\"port\\\\\\":80,\\\\\\"protocol\\\\\\":\\\\\\"TCP\\\\\\"}\\":{\\".\\":{},\\"f:name\\":{},\\"f:port\\":{}}},\\"f:tags\\":{}}}",
      'bob Apply NAMESPACE.example.com/v1 {"f:spec":{"f:labels":{},"f:tags":{}}}',
      'carol Update NAMESPACE.example.com/v1 {"f:spec":{"f:size":{}}}',
    ]
  `);
  expect(await api.apply(`${path}/a`, "alice", object({ tags: ["c"] }))).toMatchInlineSnapshot(`
    409 Failure {
      details: {causes: [{field: ".spec.tags", message: 'conflict with "bob"', reason: "FieldManagerConflict"}]},
      message: 'Apply failed with 1 conflict: conflict with "bob": .spec.tags',
      reason: "Conflict",
    }
  `);
  const forced = await api.apply(`${path}/a`, "alice&force=true", object({ tags: ["c"] }));
  expect([forced.status, forced.body.spec]).toMatchInlineSnapshot(`[200, {labels: {c: "d", e: "f"}, mode: "fast", size: 1, tags: ["c"]}]`);
  expect(managersOf(forced.body)).toMatchInlineSnapshot(`
    [
      'alice Apply NAMESPACE.example.com/v1 {"f:spec":{"f:tags":{}}}',
      'bob Apply NAMESPACE.example.com/v1 {"f:spec":{"f:labels":{}}}',
      'carol Update NAMESPACE.example.com/v1 {"f:spec":{"f:size":{}}}',
    ]
  `);
});
