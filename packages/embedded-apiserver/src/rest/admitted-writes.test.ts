import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import type { AdmissionPlugin, AdmissionRequest } from "../admission/admission-plugin.ts";
import { forbidden } from "../errors/api-status-error.ts";
import { configMapKind } from "../kinds/config/config-map.ts";
import { kinds } from "../kinds/index.ts";
import { KindTable } from "../kinds/kind-table.ts";
import type { ApiObject } from "../kinds/kind.ts";
import { namespaceKind } from "../kinds/namespace.ts";
import { Storage } from "../storage/storage.ts";
import { createObject } from "./create.ts";
import { deleteObject } from "./delete.ts";
import { Registry } from "./registry.ts";
import { runSteps, WriteWaits } from "./steps.ts";
import { updateObject } from "./update.ts";

const address = { kind: configMapKind, namespace: "default", name: "a" };
const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" }, data: { color: "red" } };

function registryWith(plugin: Partial<AdmissionPlugin>): Registry {
  const options = { clock: new VirtualClock(), random: new SeededRandom(1), storage: new Storage({ historyLimit: 10 }) };
  const registry = new Registry({ ...options, kindTable: new KindTable(kinds) });
  registry.create(namespaceKind, { metadata: { name: "default" } });
  registry.context.admission.add({ name: "Test", handles: ({ kind }) => kind === configMapKind, ...plugin });
  return registry;
}

const withColor = (color: string) => (object: Readonly<ApiObject>) => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: "" },
  data: { color },
});

test("a plugin changes an object before it is validated and stored, and sees it again afterwards", () => {
  const seen: string[] = [];
  const registry = registryWith({
    mutate({ object }) {
      if (object !== undefined) object["data"] = { ...object["data"], size: "large" };
    },
    validate({ operation, object, old }) {
      seen.push(`${operation} ${JSON.stringify(old?.["data"])} ${JSON.stringify(object?.["data"])}`);
    },
  });
  registry.create(configMapKind, configMap);
  registry.update(configMapKind, "default", "a", (object) => ({ ...object, data: { color: "blue" } }));
  registry.delete(configMapKind, "default", "a");
  expect(seen).toEqual([
    'CREATE undefined {"color":"red","size":"large"}',
    'UPDATE {"color":"red","size":"large"} {"color":"blue","size":"large"}',
    'DELETE {"color":"blue","size":"large"} undefined',
  ]);
});

test("nothing is stored of what a plugin refuses, at either stage", () => {
  for (const stage of ["mutate", "validate"] as const) {
    const registry = registryWith({
      [stage]({ operation }: AdmissionRequest) {
        if (operation !== "CREATE") throw forbidden(configMapKind, "a", `no ${operation}`);
      },
    });
    registry.create(configMapKind, configMap);
    expect(() => registry.update(configMapKind, "default", "a", withColor("blue"))).toThrow("no UPDATE");
    expect(() => registry.delete(configMapKind, "default", "a")).toThrow("no DELETE");
    expect(registry.get(configMapKind, "default", "a")?.["data"]).toEqual({ color: "red" });
  }
});

test("two creations that wait for admission do not both succeed", async () => {
  const { context } = registryWith({ validate: async () => undefined });
  const create = (): unknown => runSteps(createObject(context, configMapKind, "default", structuredClone(configMap)));
  const results = await Promise.allSettled([create(), create()]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  expect(results[1]).toMatchObject({ reason: { status: { reason: "AlreadyExists" } } });
});

test("an update starts again if the object has changed while admission waited, unless it names a resourceVersion", async () => {
  let other: (() => void) | undefined;
  const seen: unknown[] = [];
  const registry = registryWith({
    validate({ operation, old }) {
      if (operation !== "UPDATE") return undefined;
      seen.push(old?.["data"]);
      const write = other;
      other = undefined;
      return write === undefined ? undefined : Promise.resolve().then(write);
    },
  });
  const { context } = registry;
  const version = registry.create(configMapKind, configMap).metadata.resourceVersion;
  const change = (color: string) => (): void => void runSteps(updateObject(context, address, withColor(color)));

  other = change("green");
  await runSteps(updateObject(context, address, withColor("blue")));
  expect(registry.get(configMapKind, "default", "a")?.["data"]).toEqual({ color: "blue" });
  expect(seen).toEqual([{ color: "red" }, { color: "red" }, { color: "green" }]);

  // A patch keeps the resourceVersion of the object that it is applied to.
  other = change("grey");
  const patched = (object: Readonly<ApiObject>): ApiObject => ({ ...object, metadata: { ...object.metadata, labels: { a: "b" } } });
  await runSteps(updateObject(context, address, patched));
  expect(registry.get(configMapKind, "default", "a")).toMatchObject({ data: { color: "grey" }, metadata: { labels: { a: "b" } } });

  other = change("black");
  const current = registry.get(configMapKind, "default", "a");
  const { resourceVersion = "" } = current?.metadata ?? {};
  const conditional = (object: Readonly<ApiObject>): ApiObject => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion },
    data: { color: "white" },
  });
  expect(current?.metadata.resourceVersion).not.toBe(version);
  await expect(runSteps(updateObject(context, address, conditional))).rejects.toThrow("the object has been modified");
  expect(registry.get(configMapKind, "default", "a")?.["data"]).toEqual({ color: "black" });
});

test("a deletion waits for admission, and the object may be gone by then", async () => {
  const registry = registryWith({ validate: ({ operation }) => (operation === "DELETE" ? Promise.resolve() : undefined) });
  registry.create(configMapKind, configMap);
  const remove = (): unknown => runSteps(deleteObject(registry.context, address));
  const results = await Promise.allSettled([remove(), remove()]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
});

test("a controller's write that has to wait goes on without it, and says when it is finished", async () => {
  const registry = registryWith({ validate: async () => undefined });
  let waits: unknown;
  try {
    registry.create(configMapKind, configMap);
  } catch (error) {
    waits = error;
  }
  expect(waits).toBeInstanceOf(WriteWaits);
  expect(registry.get(configMapKind, "default", "a")).toBeUndefined();
  await (waits as WriteWaits).settled;
  expect(registry.get(configMapKind, "default", "a")?.["data"]).toEqual({ color: "red" });
});

test("all plugins run a second time if one asks for it, and no more often", () => {
  const runs: string[] = [];
  const registry = registryWith({
    mutate({ object }, run) {
      runs.push(`first ${run.isRepeated} ${object?.["data"]?.size}`);
    },
  });
  registry.context.admission.add({
    name: "Second",
    handles: ({ kind }) => kind === configMapKind,
    mutate({ object }, run) {
      if (object !== undefined) object["data"] = { size: "large" };
      run.repeat();
    },
  });
  registry.create(configMapKind, configMap);
  expect(runs).toEqual(["first false undefined", "first true large"]);
});
