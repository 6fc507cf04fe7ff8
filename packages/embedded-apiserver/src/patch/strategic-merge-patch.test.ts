import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { structSchema } from "../kinds/schema/schema.ts";
import { applyStrategicMergePatch } from "./strategic-merge-patch.ts";

const podSchema = structSchema("io.k8s.api.core.v1.Pod");
const nodeSchema = structSchema("io.k8s.api.core.v1.Node");
const deploymentSchema = structSchema("io.k8s.api.apps.v1.Deployment");

function patchedSpec(spec: JsonObject, patch: JsonObject): JsonValue | undefined {
  return applyStrategicMergePatch({ spec }, { spec: patch }, podSchema)["spec"];
}

function patchedStatus(status: JsonObject, patch: JsonObject): JsonValue | undefined {
  return applyStrategicMergePatch({ status }, { status: patch }, podSchema)["status"];
}

test("containers are merged by name, and keep their order", () => {
  const spec = {
    containers: [
      { name: "a", image: "1" },
      { name: "b", image: "1", command: ["x"] },
    ],
  };

  const result = patchedSpec(spec, { containers: [{ name: "b", image: "2" }] });

  expect(result).toEqual({
    containers: [
      { name: "a", image: "1" },
      { name: "b", image: "2", command: ["x"] },
    ],
  });
});

test("env is merged by name, ports by containerPort, volumeMounts by mountPath, command replaced", () => {
  const container = {
    name: "a",
    env: [{ name: "X", value: "1" }],
    ports: [{ containerPort: 80, name: "web" }],
    volumeMounts: [{ mountPath: "/a", name: "v" }],
    command: ["old", "x"],
  };
  const change = {
    name: "a",
    env: [{ name: "Y", value: "2" }],
    ports: [{ containerPort: 80, protocol: "TCP" }],
    volumeMounts: [{ mountPath: "/a", readOnly: true }],
    command: ["new"],
  };

  const result = patchedSpec({ containers: [container] }, { containers: [change] });

  expect(result).toEqual({
    containers: [
      {
        name: "a",
        env: [
          { name: "Y", value: "2" },
          { name: "X", value: "1" },
        ],
        ports: [{ containerPort: 80, name: "web", protocol: "TCP" }],
        volumeMounts: [{ mountPath: "/a", name: "v", readOnly: true }],
        command: ["new"],
      },
    ],
  });
});

test("tolerations have no merge key and are replaced", () => {
  expect(patchedSpec({ tolerations: [{ key: "a" }, { key: "b" }] }, { tolerations: [{ key: "c" }] })).toEqual({
    tolerations: [{ key: "c" }],
  });
});

test("conditions are merged by type; podIPs by ip, so that a second address is added to the first", () => {
  const status = { conditions: [{ type: "Ready", status: "False", reason: "x" }], podIPs: [{ ip: "10.0.0.1" }] };

  const result = patchedStatus(status, {
    conditions: [
      { type: "Ready", status: "True" },
      { type: "New", status: "True" },
    ],
    podIPs: [{ ip: "10.0.0.2" }],
  });

  expect(result).toEqual({
    conditions: [
      { type: "Ready", status: "True", reason: "x" },
      { type: "New", status: "True" },
    ],
    podIPs: [{ ip: "10.0.0.2" }, { ip: "10.0.0.1" }],
  });
});

test("$patch: delete removes an item by its key", () => {
  const status = {
    podIPs: [{ ip: "10.0.0.1" }],
    conditions: [
      { type: "A", status: "True" },
      { type: "B", status: "True" },
    ],
  };

  const result = patchedStatus(status, {
    podIPs: [{ ip: "10.0.0.2" }, { $patch: "delete", ip: "10.0.0.1" }],
    conditions: [{ $patch: "delete", type: "A" }],
  });

  expect(result).toEqual({ podIPs: [{ ip: "10.0.0.2" }], conditions: [{ type: "B", status: "True" }] });
});

test("$patch: replace replaces the list or map that contains it", () => {
  const spec = { containers: [{ name: "a" }, { name: "b" }], nodeSelector: { a: "1" }, securityContext: { runAsUser: 1, fsGroup: 2 } };

  const result = patchedSpec(spec, {
    containers: [{ name: "c" }, { $patch: "replace" }],
    securityContext: { $patch: "replace", runAsUser: 3 },
  });

  expect(result).toEqual({ containers: [{ name: "c" }], nodeSelector: { a: "1" }, securityContext: { runAsUser: 3 } });
});

test("$patch: delete in a map empties it; null removes a field", () => {
  const spec = { securityContext: { runAsUser: 1 }, nodeSelector: { a: "1", b: "2" }, nodeName: "n" };

  const result = patchedSpec(spec, { securityContext: { $patch: "delete" }, nodeSelector: { a: null }, nodeName: null });

  expect(result).toEqual({ securityContext: {}, nodeSelector: { b: "2" } });
});

test("$retainKeys drops the fields it does not name", () => {
  const spec = { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } };

  const result = applyStrategicMergePatch({ spec }, { spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } } }, deploymentSchema);

  expect(result).toEqual({ spec: { strategy: { type: "Recreate" } } });
});

test("$retainKeys that does not name a field of the patch is refused with 400", () => {
  const patch = { spec: { strategy: { $retainKeys: ["type"], rollingUpdate: {} } } };

  expect(() => applyStrategicMergePatch({ spec: { strategy: {} } }, patch, deploymentSchema)).toThrow(
    expect.objectContaining({ status: expect.objectContaining({ code: 400 }) }),
  );
});

test("finalizers are united, and $deleteFromPrimitiveList removes one", () => {
  const metadata = { finalizers: ["a/x", "a/y"] };

  const added = applyStrategicMergePatch({ metadata }, { metadata: { finalizers: ["a/z", "a/x"] } }, podSchema);
  const removed = applyStrategicMergePatch({ metadata }, { metadata: { "$deleteFromPrimitiveList/finalizers": ["a/x"] } }, podSchema);

  expect(added).toEqual({ metadata: { finalizers: ["a/z", "a/x", "a/y"] } });
  expect(removed).toEqual({ metadata: { finalizers: ["a/y"] } });
});

test("$setElementOrder determines the order; items it does not name keep their position before the same item", () => {
  const spec = { containers: [{ name: "a" }, { name: "sidecar" }, { name: "b" }] };

  const result = patchedSpec(spec, {
    "$setElementOrder/containers": [{ name: "b" }, { name: "a" }],
    containers: [{ name: "a", image: "2" }],
  });

  expect(result).toEqual({ containers: [{ name: "sidecar" }, { name: "b" }, { name: "a", image: "2" }] });
});

test("node addresses are merged by type, which loses the second of two", () => {
  const status = { addresses: [{ type: "InternalIP", address: "10.0.0.1" }] };

  const result = applyStrategicMergePatch({ status }, { status: { addresses: [{ type: "InternalIP", address: "10.0.0.2" }] } }, nodeSchema);

  expect(result).toEqual({ status: { addresses: [{ type: "InternalIP", address: "10.0.0.2" }] } });
});

test("an item without its merge key is refused with 500, as by the real server", () => {
  expect(() => patchedSpec({ containers: [{ name: "a" }] }, { containers: [{ image: "x" }] })).toThrow(
    "map: map[image:x] does not contain declared merge key: name",
  );
});

test("nulls and directives have no effect on an absent value", () => {
  expect(
    patchedSpec(
      {},
      {
        nodeSelector: { a: null, b: "1" },
        containers: [
          { name: "a", image: null },
          { $patch: "delete", name: "b" },
        ],
      },
    ),
  ).toEqual({
    nodeSelector: { b: "1" },
    containers: [{ name: "a" }],
  });
});

test("a strategic merge patch does not change its arguments", () => {
  const original = { spec: { containers: [{ name: "a", image: "1" }] } };
  const patch = {
    spec: {
      "$setElementOrder/containers": [{ name: "b" }, { name: "a" }],
      containers: [
        { name: "b", image: "2" },
        { name: "a", image: null },
      ],
    },
  };
  const before = structuredClone({ original, patch });

  applyStrategicMergePatch(original, patch, podSchema);

  expect({ original, patch }).toEqual(before);
});
