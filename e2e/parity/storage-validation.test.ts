import { expect } from "vitest";
import { test } from "./support/parity-test.ts";
import { refusals, refusedChanges } from "./support/refusals.ts";

const named = (fields: object, name: string = "a"): object => ({ metadata: { name }, ...fields });
const group = "/apis/storage.k8s.io/v1";

test("storage and attributes classes are validated", async ({ api, namespace }) => {
  const storageClass = (fields: object): object => named({ provisioner: "example.com/a", ...fields });
  expect(
    await refusals(api, `${group}/storageclasses`, {
      "no provisioner": named({}),
      provisioner: storageClass({ provisioner: "A b" }),
      "empty parameter": storageClass({ parameters: { "": "a" } }),
      "reclaim policy": storageClass({ reclaimPolicy: "Recycle" }),
      "binding mode": storageClass({ volumeBindingMode: "Later" }),
      "a topology without labels": storageClass({ allowedTopologies: [{}] }),
      topologies: storageClass({ allowedTopologies: [{ matchLabelExpressions: [{ key: "a b", values: [] }] }] }),
      "topology twice": storageClass({
        allowedTopologies: [
          {
            matchLabelExpressions: [
              { key: "zone", values: ["a", "a"] },
              { key: "zone", values: ["b"] },
            ],
          },
        ],
      }),
    }),
  ).toMatchSnapshot("storage classes");
  await api.create(`${group}/storageclasses`, named({ provisioner: "example.com/a" }, namespace));
  expect(
    await refusedChanges(api, `${group}/storageclasses/${namespace}`, {
      provisioner: { provisioner: "example.com/b" },
      parameters: { parameters: { a: "b" } },
      "reclaim policy": { reclaimPolicy: "Retain" },
      "binding mode": { volumeBindingMode: "WaitForFirstConsumer" },
      expansion: { allowVolumeExpansion: true },
    }),
  ).toMatchSnapshot("update of a storage class");
  expect(
    await refusals(api, `${group}/volumeattributesclasses`, {
      "no driver": named({ parameters: { a: "b" } }),
      driver: named({ driverName: "A b", parameters: { a: "b" } }),
      "no parameters": named({ driverName: "d" }),
    }),
  ).toMatchSnapshot("attributes classes");
  await api.create(`${group}/volumeattributesclasses`, named({ driverName: "d", parameters: { a: "b" } }, namespace));
  expect(
    await refusedChanges(api, `${group}/volumeattributesclasses/${namespace}`, {
      driver: { driverName: "e" },
      parameters: { parameters: { a: "c" } },
    }),
  ).toMatchSnapshot("update of an attributes class");
  for (const kind of ["storageclasses", "volumeattributesclasses"]) await api.delete(`${group}/${kind}/${namespace}`);
});

test("drivers, their nodes and their capacities are validated", async ({ api, namespace }) => {
  const driver = (spec: object): object => named({ spec });
  expect(
    await refusals(api, `${group}/csidrivers`, {
      policy: driver({ fsGroupPolicy: "Sometimes" }),
      audiences: driver({ tokenRequests: [{ audience: "a" }, { audience: "a" }] }),
      "short token": driver({ tokenRequests: [{ audience: "a", expirationSeconds: 599 }] }),
      "long token": driver({ tokenRequests: [{ audience: "a", expirationSeconds: 4_294_967_297 }] }),
      modes: driver({ volumeLifecycleModes: ["Persistent", "Later"] }),
      period: driver({ nodeAllocatableUpdatePeriodSeconds: 9 }),
      secrets: driver({ serviceAccountTokenInSecrets: true }),
    }),
  ).toMatchSnapshot("drivers");
  const { metadata } = await api.create(`${group}/csidrivers`, named({ spec: {} }, namespace));
  const { resourceVersion } = metadata as { resourceVersion: string };
  expect(
    await refusedChanges(api, `${group}/csidrivers/${namespace}`, {
      attachment: { metadata: { resourceVersion }, spec: { attachRequired: false } },
      modes: { metadata: { resourceVersion }, spec: { volumeLifecycleModes: ["Ephemeral"] } },
      "pod information": { metadata: { resourceVersion }, spec: { podInfoOnMount: true } },
    }),
  ).toMatchSnapshot("update of a driver");
  await api.delete(`${group}/csidrivers/${namespace}`);
  const node = (...drivers: object[]): object => named({ spec: { drivers } });
  expect(
    await refusals(api, `${group}/csinodes`, {
      empty: node({ name: "", nodeID: "" }),
      name: node({ name: `${"a".repeat(64)}_`, nodeID: "n" }),
      id: node({ name: "d", nodeID: "n".repeat(257) }),
      twice: node({ name: "d", nodeID: "n" }, { name: "d", nodeID: "n" }),
      count: node({ name: "d", nodeID: "n", allocatable: { count: -1 } }),
      topology: node({ name: "d", nodeID: "n", topologyKeys: ["", "a b", "c", "c"] }),
    }),
  ).toMatchSnapshot("nodes");
  const capacities = `${group}/namespaces/${namespace}/csistoragecapacities`;
  expect(
    await refusals(api, capacities, {
      "no class": named({}),
      class: named({ storageClassName: "A_" }),
      negative: named({ storageClassName: "s", capacity: "-1" }),
      topology: named({ storageClassName: "s", nodeTopology: { matchLabels: { "a b": "c" } } }),
    }),
  ).toMatchSnapshot("capacities");
  await api.create(capacities, named({ storageClassName: "s" }));
  expect(
    await refusedChanges(api, `${capacities}/a`, {
      class: { storageClassName: "t" },
      topology: { nodeTopology: { matchLabels: { a: "b" } } },
      capacity: { capacity: "1Gi" },
    }),
  ).toMatchSnapshot("update of a capacity");
});

test("volume attachments are validated", async ({ api, namespace }) => {
  const path = `${group}/volumeattachments`;
  const attachment = (spec: object): object =>
    named({ spec: { attacher: "d", nodeName: "n", source: { persistentVolumeName: "v" }, ...spec } });
  expect(
    await refusals(api, path, {
      "no attacher": attachment({ attacher: "" }),
      attacher: attachment({ attacher: `A${"a".repeat(63)}_` }),
      "no source": attachment({ source: {} }),
      "empty source": attachment({ source: { persistentVolumeName: "" } }),
      source: attachment({ source: { persistentVolumeName: "A_" } }),
      node: attachment({ nodeName: "A_" }),
    }),
  ).toMatchSnapshot("create");
  const { metadata } = await api.create(
    path,
    named({ spec: { attacher: "d", nodeName: "n", source: { persistentVolumeName: "v" } } }, namespace),
  );
  const { resourceVersion } = metadata as { resourceVersion: string };
  const answers = await refusedChanges(api, `${path}/${namespace}`, { node: { metadata: { resourceVersion }, spec: { nodeName: "m" } } });
  expect(answers).toMatchSnapshot("update");
  expect(
    await refusedChanges(api, `${path}/${namespace}/status`, {
      error: { metadata: { resourceVersion }, status: { attached: false, attachError: { message: "x".repeat(1025), errorCode: -1 } } },
    }),
  ).toMatchSnapshot("status");
  await api.delete(`${path}/${namespace}`);
});

test("an empty capacity of a volume is told from an absent one", async ({ api }) => {
  const volume = (spec: object): object => ({
    metadata: { name: "a" },
    spec: { accessModes: ["ReadWriteOnce"], hostPath: { path: "/a" }, ...spec },
  });

  expect(
    await refusals(api, "/api/v1/persistentvolumes", {
      absent: volume({}),
      empty: volume({ capacity: {} }),
      "more than storage": volume({ capacity: { storage: "1Gi", cpu: "1" } }),
    }),
  ).toMatchSnapshot();
});
