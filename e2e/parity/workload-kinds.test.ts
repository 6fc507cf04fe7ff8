import { randomBytes } from "node:crypto";
import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Api } from "./support/api.ts";
import { test } from "./support/parity-test.ts";
import {
  budgetNamed,
  claimNamed,
  cronJobNamed,
  daemonSetNamed,
  jobNamed,
  statefulSetNamed,
  templateOf,
  volumeNamed,
} from "./support/workload-objects.ts";

const tableAccept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/** Names of cluster-scoped objects must be unique. */
function uniqueName(): string {
  return `parity-${randomBytes(4).toString("hex")}`;
}

interface Place {
  readonly core: string;
  readonly apps: string;
}

const batchOf = ({ core }: Place): string => core.replace("/api/v1/", "/apis/batch/v1/");
const policyOf = ({ core }: Place): string => core.replace("/api/v1/", "/apis/policy/v1/");

/** The table's row for one object. */
async function rowOf(api: Api, path: string): Promise<unknown> {
  const { columnDefinitions, rows } = (await api.get(path, { accept: tableAccept })).body;
  return columnDefinitions.map(({ name, type, format, priority }: Record<string, string>, index: number) => {
    const cell = name === "Age" || name === "Duration" ? typeof rows[0].cells[index] : rows[0].cells[index];
    return `${name} ${type} ${format} ${priority}: ${JSON.stringify(cell)}`;
  });
}

/** `settled` is the row after the kind's controller has seen the object, if that changes it. */
const cases: readonly [kind: string, at: (place: Place) => string, object: object, settled?: string][] = [
  ["Job", (place) => `${batchOf(place)}/jobs`, jobNamed("a", { suspend: true }), "Suspended"],
  [
    "Job with labels",
    (place) => `${batchOf(place)}/jobs`,
    { ...jobNamed("a", { suspend: true, template: templateOf({ x: "y" }, { restartPolicy: "Never" }) }) },
    "Suspended",
  ],
  [
    "numbered Job",
    (place) => `${batchOf(place)}/jobs`,
    jobNamed("a", {
      suspend: true,
      completionMode: "Indexed",
      completions: 3,
      parallelism: 2,
      backoffLimitPerIndex: 1,
      podFailurePolicy: { rules: [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] }] },
    }),
    "Suspended",
  ],
  ["CronJob", (place) => `${batchOf(place)}/cronjobs`, cronJobNamed("a", { suspend: true, timeZone: "Europe/Berlin" })],
  ["DaemonSet", ({ apps }) => `${apps}/daemonsets`, daemonSetNamed("a")],
  ["StatefulSet", ({ apps }) => `${apps}/statefulsets`, statefulSetNamed("a", { replicas: 0 })],
  [
    "StatefulSet with claims",
    ({ apps }) => `${apps}/statefulsets`,
    statefulSetNamed("a", { replicas: 0, volumeClaimTemplates: [claimNamed("data")], updateStrategy: { type: "OnDelete" } }),
  ],
  ["ControllerRevision", ({ apps }) => `${apps}/controllerrevisions`, { metadata: { name: "a" }, data: { a: [1] }, revision: 3 }],
  ["PersistentVolumeClaim", ({ core }) => `${core}/persistentvolumeclaims`, claimNamed("a")],
  ["PodTemplate", ({ core }) => `${core}/podtemplates`, { metadata: { name: "a" }, template: templateOf({ app: "web" }) }],
  [
    "ReplicationController",
    ({ core }) => `${core}/replicationcontrollers`,
    { metadata: { name: "a" }, spec: { replicas: 0, template: templateOf({ app: "web" }) } },
  ],
  ["PodDisruptionBudget", (place) => `${policyOf(place)}/poddisruptionbudgets`, budgetNamed("a", { minAvailable: "50%" })],
];

test.for(cases)("a %s is defaulted and shown", async ([, at, object, settled = ""], { api, core, apps }) => {
  const path = at({ core, apps });
  const answer = await api.post(path, object);

  expect(answer).toMatchSnapshot("answer");
  await eventually(async () => expect(JSON.stringify(await rowOf(api, path))).toContain(settled));
  expect(await rowOf(api, path)).toMatchSnapshot("row");
});

test("a PersistentVolume is defaulted and shown", async ({ api }) => {
  const name = uniqueName();
  expect(await api.post("/api/v1/persistentvolumes", volumeNamed(name))).toMatchSnapshot("answer");
  expect(
    (await api.get(`/api/v1/persistentvolumes/${name}`, { accept: tableAccept })).body.columnDefinitions.map(
      (column: Record<string, unknown>) => [column["name"], column["type"], column["priority"]].join(" "),
    ),
  ).toMatchSnapshot("columns");
  await api.delete(`/api/v1/persistentvolumes/${name}`);
});

test("a StorageClass is defaulted, shown and immutable", async ({ api }) => {
  const name = uniqueName();
  const classes = "/apis/storage.k8s.io/v1/storageclasses";
  expect(await api.post(classes, { metadata: { name }, provisioner: "example.com/a" })).toMatchSnapshot("created");
  expect(await rowOf(api, `${classes}/${name}`)).toMatchSnapshot("row");
  expect(await api.patch("merge", `${classes}/${name}`, { provisioner: "example.com/b", reclaimPolicy: "Retain" })).toMatchSnapshot(
    "changed",
  );
  expect(await api.delete(`${classes}/${name}`)).toMatchSnapshot("deleted");
});

test("deleting a Job warns that its pods are orphaned", async ({ api, core, apps }) => {
  const jobs = `${batchOf({ core, apps })}/jobs`;
  await api.create(jobs, jobNamed("a", { suspend: true }));
  const { headers } = await api.delete(`${jobs}/a`);

  expect(headers["warning"]).toMatchInlineSnapshot(
    `"299 - "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning""`,
  );
  await api.create(jobs, jobNamed("b", { suspend: true }));
  expect((await api.delete(`${jobs}/b`, { propagationPolicy: "Background" })).headers["warning"]).toBeUndefined();
});

test("generations count changes of the spec, and a DaemonSet's changes of the template separately", async ({ api, apps }) => {
  const daemonSets = `${apps}/daemonsets`;
  await api.create(daemonSets, daemonSetNamed("a"));
  const metadataOf = async (patch: object): Promise<unknown> => {
    const { generation, annotations } = (await api.patch("merge", `${daemonSets}/a`, patch)).body.metadata;
    return [generation, annotations["deprecated.daemonset.template.generation"]];
  };

  expect(await metadataOf({ metadata: { labels: { a: "b" } } })).toEqual([1, "1"]);
  expect(await metadataOf({ spec: { minReadySeconds: 1 } })).toEqual([2, "1"]);
  expect(await metadataOf({ spec: { template: { metadata: { annotations: { a: "b" } } } } })).toEqual([3, "2"]);
  expect(await metadataOf({ metadata: { annotations: { "deprecated.daemonset.template.generation": "9" } } })).toEqual([3, "2"]);
});

test("the generation of a PodTemplate counts changes of the template", async ({ api, core }) => {
  const path = `${core}/podtemplates`;
  await api.create(path, { metadata: { name: "a" }, template: templateOf({ app: "web" }) });
  const generation = async (patch: object): Promise<number> => (await api.patch("merge", `${path}/a`, patch)).body.metadata.generation;

  expect(await generation({ metadata: { labels: { a: "b" } } })).toBe(1);
  expect(await generation({ template: { spec: { hostNetwork: true } } })).toBe(2);
  expect(await generation({ template: { metadata: { labels: { app: "web" } } } })).toBe(2);
});

test("StatefulSets and ReplicationControllers can be scaled, Jobs and DaemonSets cannot", async ({ api, core, apps }) => {
  await api.create(`${apps}/statefulsets`, statefulSetNamed("a", { replicas: 0 }));
  await api.create(`${core}/replicationcontrollers`, {
    metadata: { name: "a" },
    spec: { replicas: 0, template: templateOf({ app: "rc", b: "c" }) },
  });
  await api.create(`${apps}/daemonsets`, daemonSetNamed("a"));

  expect(await api.get(`${apps}/statefulsets/a/scale`)).toMatchSnapshot("StatefulSet");
  expect(await api.get(`${core}/replicationcontrollers/a/scale`)).toMatchSnapshot("ReplicationController");
  expect(await api.get(`${apps}/daemonsets/a/scale`)).toMatchSnapshot("DaemonSet");
});

test("who writes a DaemonSet manages its template generation", async ({ api, apps }) => {
  const path = `${apps}/daemonsets`;
  const create = await api.create(`${path}?fieldManager=creator`, daemonSetNamed("a"));
  const { body: labelled } = await api.patch("merge", `${path}/a?fieldManager=labeller`, { metadata: { labels: { a: "b" } } });
  const { body: replaced } = await api.put(`${path}/a?fieldManager=replacer`, daemonSetNamed("a"));

  const annotationManagers = (body: typeof create): unknown =>
    body.metadata.managedFields.flatMap((entry: { manager: string; fieldsV1: Record<string, Record<string, unknown>> }) =>
      entry.fieldsV1["f:metadata"]?.["f:annotations"] === undefined ? [] : [[entry.manager, entry.fieldsV1["f:metadata"]["f:annotations"]]],
    );
  const owned = { ".": {}, "f:deprecated.daemonset.template.generation": {} };
  expect(annotationManagers(create)).toEqual([["creator", owned]]);
  expect(annotationManagers(labelled)).toEqual([["creator", owned]]);
  expect(annotationManagers(replaced)).toMatchInlineSnapshot(
    `[["creator", {}], ["replacer", {f:deprecated.daemonset.template.generation: {}}]]`,
  );
});
