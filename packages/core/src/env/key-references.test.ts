import type { PodSpec } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { keyReferences } from "./key-references.ts";

/** Each reference as `kind name: keys`, with a star where all keys are taken. */
function references(spec: Partial<PodSpec>): string[] {
  return keyReferences({ spec: { containers: [], ...spec } }).map(
    ({ kind, name, keys, takesAll }) => `${kind} ${name}: ${[...keys, ...(takesAll ? ["*"] : [])].join(" ")}`,
  );
}

const env = (configMap: string, secret: string) => [
  { name: "A", valueFrom: { configMapKeyRef: { name: configMap, key: "a" } } },
  { name: "B", valueFrom: { secretKeyRef: { name: secret, key: "b" } } },
  { name: "C", value: "plain" },
  { name: "D", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
];

test("variables name the keys they take, in containers of every kind", () => {
  const spec = {
    initContainers: [{ name: "i", env: env("of-init", "of-init") }],
    containers: [{ name: "c", env: env("of-main", "of-main") }],
    ephemeralContainers: [{ name: "e", env: env("of-debug", "of-debug") }],
  };

  expect(references(spec)).toEqual([
    "ConfigMap of-init: a",
    "Secret of-init: b",
    "ConfigMap of-main: a",
    "Secret of-main: b",
    "ConfigMap of-debug: a",
    "Secret of-debug: b",
  ]);
});

test("an environment from a whole object takes all of its keys", () => {
  const envFrom = [{ configMapRef: { name: "settings" } }, { secretRef: { name: "keys" } }, { prefix: "X_" }];

  expect(references({ containers: [{ name: "c", envFrom }] })).toEqual(["ConfigMap settings: *", "Secret keys: *"]);
});

test("volumes take the keys that they list, and all where they list none", () => {
  const items = [
    { key: "a", path: "x" },
    { key: "b", path: "y" },
  ];
  const volumes: PodSpec["volumes"] = [
    { name: "1", configMap: { name: "some", items } },
    { name: "2", configMap: { name: "all" } },
    { name: "3", configMap: { name: "none-listed", items: [] } },
    { name: "4", secret: { secretName: "some", items } },
    { name: "5", secret: { secretName: "all" } },
    { name: "6", emptyDir: {} },
    {
      name: "7",
      projected: {
        sources: [
          { configMap: { name: "projected-some", items } },
          { configMap: { name: "projected-all" } },
          { secret: { name: "projected-some", items } },
          { secret: { name: "projected-all" } },
          { serviceAccountToken: { path: "token" } },
        ],
      },
    },
    { name: "8", projected: {} },
  ];

  expect(references({ volumes })).toEqual([
    "ConfigMap some: a b",
    "ConfigMap all: *",
    "ConfigMap none-listed: *",
    "Secret some: a b",
    "Secret all: *",
    "ConfigMap projected-some: a b",
    "ConfigMap projected-all: *",
    "Secret projected-some: a b",
    "Secret projected-all: *",
  ]);
});

test("references to one object are one, and kinds are told apart", () => {
  const volumes = [{ name: "v", configMap: { name: "shared", items: [{ key: "z", path: "z" }] } }];

  expect(
    references({ containers: [{ name: "c", env: env("shared", "shared"), envFrom: [{ secretRef: { name: "shared" } }] }], volumes }),
  ).toEqual(["Secret shared: b *", "ConfigMap shared: a z"]);
});

test("a reference without a name is none, and a pod without a spec has none", () => {
  const containers = [{ name: "c", envFrom: [{ configMapRef: {} }, { secretRef: { name: "" } }], env: env("", "") }];

  expect(
    references({
      containers,
      volumes: [
        { name: "v", secret: {} },
        { name: "w", configMap: {} },
      ],
    }),
  ).toEqual([]);
  expect(keyReferences({})).toEqual([]);
});
