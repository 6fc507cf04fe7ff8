import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { test } from "./support/parity-test.ts";
import { refusals, refusedChanges } from "./support/refusals.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const shape = { openAPIV3Schema: { type: "object" } };
const otherShape = {
  openAPIV3Schema: {
    type: "object",
    required: ["a"],
    properties: {
      a: { type: "array", items: { type: "string", enum: ["x"] }, "x-kubernetes-list-type": "set", maxItems: 3 },
      b: { type: "object", additionalProperties: { type: "integer", default: 4 } },
      c: { "x-kubernetes-int-or-string": true, nullable: true },
      d: { type: "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-validations": [{ rule: "true" }] },
      e: { type: "number", minimum: 1.5, exclusiveMinimum: true, anyOf: [{ multipleOf: 0.5 }] },
    },
  },
};
const version = (name: string, fields: object = {}): object => ({ name, served: true, storage: false, schema: shape, ...fields });
const definition = (group: string, versions: unknown): object => ({
  metadata: { name: `cars.${group}` },
  spec: { group, scope: "Namespaced", names: { plural: "cars", kind: "Car" }, versions },
});

test("versions of a definition are shown in the internal form when they are refused", async ({ api }) => {
  const of = (...versions: object[]): object => definition("cars.example.com", versions);
  const columns = [{ name: "a", type: "string", jsonPath: ".a" }];
  const subresources = { status: {}, scale: { specReplicasPath: ".spec.a", statusReplicasPath: ".status.b" } };

  const messages: Record<string, unknown> = {};
  for (const [name, object] of Object.entries({
    none: of(),
    absent: definition("cars.example.com", undefined),
    "no storage version": of(version("V 1")),
    "the same twice": of(version("v1"), version("v1", { storage: true })),
    "two storage versions": of(version("v1", { storage: true }), version("v2", { storage: true })),
    "different parts": of(
      version("v1", { schema: otherShape, subresources, additionalPrinterColumns: columns }),
      version("v2", { deprecated: true, deprecationWarning: "old" }),
    ),
  }))
    messages[name] = (await api.post(definitions, object)).body.details.causes;
  expect(messages).toMatchSnapshot();
});

test("the warning of a deprecated version is validated", async ({ api }) => {
  const of = (fields: object): object => definition("cars.example.com", [version("v1", { storage: true, ...fields })]);

  expect(
    await refusals(api, definitions, {
      "not deprecated": of({ deprecationWarning: "old" }),
      empty: of({ deprecated: true, deprecationWarning: "" }),
      long: of({ deprecated: true, deprecationWarning: `é\n${"x".repeat(300)}` }),
      good: of({ deprecated: true, deprecationWarning: "old" }),
    }),
  ).toMatchSnapshot();
});

test("a stored version stays, and the first deletion only marks the definition", async ({ api, namespace }) => {
  const group = `${namespace}.example.com`;
  const path = `${definitions}/cars.${group}`;
  await api.create(definitions, definition(group, [version("v1", { storage: true })]));
  await eventually(async () => expect((await api.get(path)).body.status.conditions?.length).toBe(2));

  expect(
    await refusedChanges(api, path, {
      "stored version dropped": { spec: { versions: [version("v2", { storage: true })] } },
      "stored version kept": { spec: { versions: [version("v2", { storage: true }), version("v1")] } },
    }),
  ).toMatchObject({ "stored version dropped": { status: 422, reason: "Invalid" }, "stored version kept": "taken" });
  const wrong = [
    await api.delete(path, { preconditions: { uid: "x" } }),
    await api.delete(path, { preconditions: { resourceVersion: "1" } }),
    await api.delete(`/api/v1/namespaces/${namespace}`, { preconditions: { resourceVersion: "1" } }),
  ];
  expect(wrong.map(({ status, body }) => [status, body.message.replace(/(meta: ).*/, "$1…").replaceAll(namespace, "NAMESPACE")]))
    .toMatchInlineSnapshot(`
    [
      [
        409,
        'Operation cannot be fulfilled on customresourcedefinitions.apiextensions.k8s.io "cars.NAMESPACE.example.com": Precondition failed: UID in precondition: x, UID in object meta: …',
      ],
      [
        409,
        'Operation cannot be fulfilled on customresourcedefinitions.apiextensions.k8s.io "cars.NAMESPACE.example.com": Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: …',
      ],
      [
        409,
        'Operation cannot be fulfilled on namespaces "NAMESPACE": Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: …',
      ],
    ]
  `);

  const { status, body } = await api.delete(path, { propagationPolicy: "Foreground", gracePeriodSeconds: 5 });
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers, generation } = body.metadata;
  expect([status, deletionGracePeriodSeconds, finalizers, generation]).toEqual([
    200,
    undefined,
    ["customresourcecleanup.apiextensions.k8s.io"],
    1,
  ]);
  expect(body.status.conditions.at(-1)).toMatchObject({ type: "Terminating", lastTransitionTime: deletionTimestamp });
  await eventually(async () => expect((await api.get(path)).status).toBe(404), { timeoutMs: 30_000 });
});
