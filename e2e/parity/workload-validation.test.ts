import { randomBytes } from "node:crypto";
import { expect } from "vitest";
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

const jobs: Readonly<Record<string, object>> = {
  "no restart policy": jobNamed("a", {}, { restartPolicy: undefined }),
  "negative numbers": jobNamed("a", {
    parallelism: -1,
    completions: -1,
    activeDeadlineSeconds: -1,
    backoffLimit: -1,
    ttlSecondsAfterFinished: -1,
    backoffLimitPerIndex: -1,
    maxFailedIndexes: -1,
  }),
  "unknown modes": jobNamed("a", { completionMode: "Maybe", podReplacementPolicy: "Never" }),
  "a numbered one without completions": jobNamed("a", { completionMode: "Indexed", parallelism: 1 }),
  "a numbered one that is too large": jobNamed("a", {
    completionMode: "Indexed",
    completions: 200000,
    parallelism: 150000,
    backoffLimitPerIndex: 1,
    maxFailedIndexes: 150000,
  }),
  "a long name with numbers": jobNamed(`a${"b".repeat(61)}`, { completionMode: "Indexed", completions: 200 }),
  "numbers for plain ones": jobNamed("a", {
    backoffLimitPerIndex: 1,
    maxFailedIndexes: 1,
    successPolicy: { rules: [{ succeededCount: 1 }] },
  }),
  "a wrong success policy": jobNamed("a", {
    completionMode: "Indexed",
    completions: 3,
    successPolicy: { rules: [{}, { succeededIndexes: "0-9" }, { succeededIndexes: "x", succeededCount: 5 }] },
  }),
  "an empty success policy": jobNamed("a", { completionMode: "Indexed", completions: 3, successPolicy: { rules: [] } }),
  "a wrong failure policy": jobNamed("a", {
    podReplacementPolicy: "TerminatingOrFailed",
    podFailurePolicy: {
      rules: [
        { action: "Shrug" },
        { action: "FailIndex", onExitCodes: { operator: "In", values: [0, 3, 2, 2] }, onPodConditions: [{ type: "A", status: "Maybe" }] },
        { action: "FailJob", onExitCodes: { containerName: "none", operator: "Perhaps", values: [] } },
      ],
    },
  }),
  "a failure policy with restarts": jobNamed("a", { podFailurePolicy: { rules: [] } }, { restartPolicy: "OnFailure" }),
  "a selector of one's own": jobNamed("a", { selector: { matchLabels: { a: "b" } } }),
  "a manual selector that is missing": jobNamed("a", { manualSelector: true }),
  "labels that are the server's": jobNamed("a", { template: templateOf({ "job-name": "other" }, { restartPolicy: "Never" }) }),
  "a wrong manager": jobNamed("a", { managedBy: "me" }),
};

test.for(Object.entries(jobs))("a Job with %s is refused", async ([, job], { api, core }) => {
  const answer = await api.post(`${core.replace("/api/v1/", "/apis/batch/v1/")}/jobs`, job);

  expect(answer).toMatchSnapshot();
});

const cronJobs: Readonly<Record<string, object>> = {
  "no schedule": cronJobNamed("a", { schedule: "" }),
  "a schedule that is none": cronJobNamed("a", { schedule: "soon" }),
  "a minute that is none": cronJobNamed("a", { schedule: "60 * * * *" }),
  "a time zone in its schedule": cronJobNamed("a", { schedule: "TZ=UTC 0 0 * * *" }),
  "a time zone that is none": cronJobNamed("a", { timeZone: "Nowhere/Land" }),
  "an empty time zone": cronJobNamed("a", { timeZone: "" }),
  "a local time zone": cronJobNamed("a", { timeZone: "Local" }),
  "unknown policies and negative numbers": cronJobNamed("a", {
    concurrencyPolicy: "Queue",
    startingDeadlineSeconds: -1,
    successfulJobsHistoryLimit: -1,
    failedJobsHistoryLimit: -1,
  }),
  "a selector": cronJobNamed("a", {}, { selector: { matchLabels: { a: "b" } }, manualSelector: true }),
  "limits of indexes without indexes": cronJobNamed("a", {}, { backoffLimitPerIndex: 1, maxFailedIndexes: 1 }),
  "a name that is too long": cronJobNamed("a".repeat(53)),
};

test.for(Object.entries(cronJobs))("a CronJob with %s is refused", async ([, cronJob], { api, core }) => {
  const answer = await api.post(`${core.replace("/api/v1/", "/apis/batch/v1/")}/cronjobs`, cronJob);

  expect(answer).toMatchSnapshot();
});

const daemonSets: Readonly<Record<string, object>> = {
  "no selector": daemonSetNamed("a", { selector: null }),
  "an empty selector": daemonSetNamed("a", { selector: {} }),
  "a selector that its pods do not fit": daemonSetNamed("a", { selector: { matchLabels: { a: "b" } } }),
  "pods that end": daemonSetNamed("a", {}, { restartPolicy: "Never", activeDeadlineSeconds: 5 }),
  "an unknown strategy": daemonSetNamed("a", { updateStrategy: { type: "Later" } }),
  "no room for an update": daemonSetNamed("a", { updateStrategy: { rollingUpdate: { maxUnavailable: 0 } } }),
  "room in both directions": daemonSetNamed("a", { updateStrategy: { rollingUpdate: { maxUnavailable: "50%", maxSurge: "150%" } } }),
  "negative numbers": daemonSetNamed("a", { minReadySeconds: -1, revisionHistoryLimit: -1 }),
};

test.for(Object.entries(daemonSets))("a DaemonSet with %s is refused", async ([, daemonSet], { api, apps }) => {
  expect(await api.post(`${apps}/daemonsets`, daemonSet)).toMatchSnapshot();
});

const statefulSets: Readonly<Record<string, object>> = {
  "no selector": statefulSetNamed("a", { selector: null }),
  "an empty selector": statefulSetNamed("a", { selector: {} }),
  "a selector that cannot be read": statefulSetNamed("a", { selector: { matchExpressions: [{ key: "a", operator: "Sometimes" }] } }),
  "a selector that its pods do not fit": statefulSetNamed("a", { selector: { matchLabels: { a: "b" } } }),
  "a name with dots": statefulSetNamed("a.b"),
  "unknown policies": statefulSetNamed("a", {
    podManagementPolicy: "Random",
    persistentVolumeClaimRetentionPolicy: { whenDeleted: "Keep", whenScaled: "Drop" },
    updateStrategy: { type: "Later" },
  }),
  "a partition without a rollout": statefulSetNamed("a", { updateStrategy: { type: "OnDelete", rollingUpdate: { partition: 1 } } }),
  "negative numbers": statefulSetNamed("a", {
    replicas: -1,
    minReadySeconds: -1,
    ordinals: { start: -1 },
    updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: -1 } },
  }),
  "a service that is none": statefulSetNamed("a", { serviceName: "A_B" }),
  "pods that end": statefulSetNamed("a", {}, { restartPolicy: "OnFailure", activeDeadlineSeconds: 5 }),
  "claims that are none": statefulSetNamed("a", { volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] }),
};

test.for(Object.entries(statefulSets))("a StatefulSet with %s is refused", async ([, statefulSet], { api, apps }) => {
  expect(await api.post(`${apps}/statefulsets`, statefulSet)).toMatchSnapshot();
});

test("the template of a Deployment or ReplicaSet is validated only if its selector can be evaluated", async ({ api, apps }) => {
  const labels = { app: "%[1]s" };
  for (const [plural, selector] of [
    ["deployments", { matchLabels: labels }],
    ["replicasets", { matchLabels: labels }],
    ["deployments", { matchLabels: { app: "a" } }],
  ] as const) {
    const { status, body } = await api.post(`${apps}/${plural}`, {
      metadata: { name: "a" },
      spec: { selector, template: templateOf(labels) },
    });
    const fields = (body.details.causes as readonly { readonly field: string }[]).map(({ field }) => field);
    const template = ["spec.template.metadata.labels", "spec.template.labels"];
    expect([status, fields]).toEqual([422, selector.matchLabels.app === "a" ? template : ["spec.selector.matchLabels", "spec.selector"]]);
  }
});

test("what may not change of a workload does not", async ({ api, core, apps }) => {
  const batch = core.replace("/api/v1/", "/apis/batch/v1/");
  await api.create(`${apps}/daemonsets`, daemonSetNamed("a"));
  await api.create(`${apps}/statefulsets`, statefulSetNamed("a", { replicas: 0 }));
  await api.create(`${apps}/controllerrevisions`, { metadata: { name: "a" }, data: { a: 1 }, revision: 1 });
  await api.create(`${batch}/jobs`, jobNamed("a", { parallelism: 0 }));
  await api.create(`${batch}/jobs`, jobNamed("numbered", { completionMode: "Indexed", completions: 2, parallelism: 0 }));
  const selector = { matchLabels: { app: "web", b: "c" } };
  const labels = { app: "web", b: "c" };

  expect(await api.patch("merge", `${apps}/daemonsets/a`, { spec: { selector, template: { metadata: { labels } } } })).toMatchSnapshot(
    "DaemonSet",
  );
  expect(
    await api.patch("merge", `${apps}/statefulsets/a`, { spec: { serviceName: "other", selector, template: { metadata: { labels } } } }),
  ).toMatchSnapshot("StatefulSet");
  expect(await api.patch("merge", `${apps}/controllerrevisions/a`, { data: { a: 2 } })).toMatchSnapshot("ControllerRevision");
  expect(
    await api.patch("merge", `${batch}/jobs/a`, {
      spec: { completions: 3, completionMode: "Indexed", managedBy: "example.com/me", backoffLimitPerIndex: 1 },
    }),
  ).toMatchSnapshot("Job");
  expect(
    await api.patch("merge", `${batch}/jobs/a`, { spec: { template: { spec: { containers: [{ name: "main", image: "main:2" }] } } } }),
  ).toMatchObject({
    status: 422,
    body: { details: { causes: [{ field: "spec.template" }] } },
  });
  expect(await api.patch("merge", `${batch}/jobs/numbered`, { spec: { completions: 3 } })).toMatchSnapshot("numbered Job");
});

test("a suspended Job may be told where its pods run and what they get, and nothing else", async ({ api, core }) => {
  const jobs = `${core.replace("/api/v1/", "/apis/batch/v1/")}/jobs`;
  await api.create(jobs, jobNamed("a", { suspend: true }));
  const change = async (spec: object): Promise<number> =>
    (await api.patch("strategic", `${jobs}/a`, { spec: { template: { spec } } })).status;

  expect(await change({ nodeSelector: { disk: "ssd" }, tolerations: [{ operator: "Exists" }] })).toBe(200);
  expect(await change({ containers: [{ name: "main", resources: { requests: { cpu: "1" } } }] })).toBe(200);
  expect(await change({ containers: [{ name: "main", image: "main:2" }] })).toBe(422);
});

test("the status of a Job goes one way only", async ({ api, core }) => {
  const path = `${core.replace("/api/v1/", "/apis/batch/v1/")}/jobs`;
  await api.create(path, jobNamed("a", { managedBy: "example.com/me" }));
  const write = (status: object): Promise<unknown> => api.patch("merge", `${path}/a/status`, { status });
  const conditions = (...types: string[]): object => ({ conditions: types.map((type) => ({ type, status: "True" })) });

  expect(await write({ active: -1, ready: 3, completedIndexes: "0-2", failedIndexes: "1" })).toMatchSnapshot("numbers");
  expect(await write({ completionTime: "2026-01-01T00:00:00Z" })).toMatchSnapshot("completion time alone");
  expect(await write({ ...conditions("Complete"), active: 1 })).toMatchSnapshot("complete and active");
  expect(await write(conditions("Failed"))).toMatchSnapshot("failed");
  expect(await write({ uncountedTerminatedPods: { succeeded: ["a", "a"], failed: [""] } })).toMatchSnapshot("uncounted pods");
  expect(await write({ ...conditions("FailureTarget"), startTime: "2026-01-01T00:00:00Z", failed: 2 })).toMatchObject({ status: 200 });
  expect(await write({ conditions: [], failed: 1, startTime: "2026-01-02T00:00:00Z" })).toMatchSnapshot("taken back");
});

const claims: Readonly<Record<string, object>> = {
  nothing: { metadata: { name: "a" }, spec: {} },
  "no size": claimNamed("a", { resources: { requests: { storage: "0" } } }),
  "unknown modes": claimNamed("a", { accessModes: ["ReadSometimes", "ReadWriteOncePod", "ReadOnlyMany"], volumeMode: "Tape" }),
  "wrong names": claimNamed("a", { storageClassName: "A_B", selector: { matchLabels: { "a b": "c" } } }),
  "a source that is none": claimNamed("a", { dataSource: { kind: "Pod", name: "" } }),
};

test.for(Object.entries(claims))("a claim with %s is refused", async ([, claim], { api, core }) => {
  expect(await api.post(`${core}/persistentvolumeclaims`, claim)).toMatchSnapshot();
});

const volumes: Readonly<Record<string, object>> = {
  nothing: { metadata: { name: "parity-volume" }, spec: {} },
  "two sources": volumeNamed("parity-volume", { nfs: { server: "", path: "a" } }),
  "a path that goes up": volumeNamed("parity-volume", { hostPath: { path: "/a/../b", type: "Tape" } }),
  "a local path, and no node": volumeNamed("parity-volume", { hostPath: undefined, local: { path: "" } }),
  "nodes that are none": volumeNamed("parity-volume", { nodeAffinity: { required: { nodeSelectorTerms: [] } } }),
  "a size of something else": volumeNamed("parity-volume", { capacity: { cpu: "1", storage: "-1" } }),
  "unknown policies": volumeNamed("parity-volume", {
    persistentVolumeReclaimPolicy: "Burn",
    volumeMode: "Tape",
    storageClassName: "A_B",
    accessModes: ["None"],
  }),
};

test.for(Object.entries(volumes))("a volume with %s is refused", async ([, volume], { api }) => {
  expect(await api.post("/api/v1/persistentvolumes", volume)).toMatchSnapshot();
});

test("a claim does not change, but for its volume; it grows only if it is bound and its class lets it", async ({ api, core }) => {
  const path = `${core}/persistentvolumeclaims`;
  await api.create(path, claimNamed("a"));

  expect(await api.patch("merge", `${path}/a`, { spec: { accessModes: ["ReadOnlyMany"] } })).toMatchSnapshot("modes");
  expect(await api.patch("merge", `${path}/a`, { spec: { resources: { requests: { storage: "2Gi" } } } })).toMatchSnapshot("size");
  expect(await api.patch("merge", `${path}/a`, { spec: { volumeMode: "Block" } })).toMatchSnapshot("kind of volume");
});

test("a volume keeps its source", async ({ api }) => {
  const name = `parity-${randomBytes(4).toString("hex")}`;
  await api.create("/api/v1/persistentvolumes", volumeNamed(name));
  const answer = await api.patch("merge", `/api/v1/persistentvolumes/${name}`, {
    spec: { hostPath: { path: "/other" }, volumeMode: "Block" },
  });

  expect(answer).toMatchSnapshot();
  await api.delete(`/api/v1/persistentvolumes/${name}`);
});

test("wrong storage classes, budgets, templates and revisions are refused", async ({ api, core, apps }) => {
  const budgets = `${core.replace("/api/v1/", "/apis/policy/v1/")}/poddisruptionbudgets`;
  const classes = "/apis/storage.k8s.io/v1/storageclasses";

  expect(await api.post(classes, { metadata: { name: "parity-class" }, provisioner: "" })).toMatchSnapshot("class without a provisioner");
  expect(
    await api.post(classes, { metadata: { name: "parity-class" }, provisioner: "a b", reclaimPolicy: "Burn", volumeBindingMode: "Never" }),
  ).toMatchSnapshot("class");
  expect(await api.post(budgets, budgetNamed("a", { minAvailable: "x", maxUnavailable: 1 }))).toMatchSnapshot("budget with both");
  expect(await api.post(budgets, budgetNamed("a", { maxUnavailable: "101%", unhealthyPodEvictionPolicy: "Never" }))).toMatchSnapshot(
    "budget",
  );
  expect(await api.post(`${core}/podtemplates`, { metadata: { name: "a" }, template: { spec: {} } })).toMatchSnapshot("template");
  expect(await api.post(`${core}/replicationcontrollers`, { metadata: { name: "a" }, spec: {} })).toMatchSnapshot(
    "controller without a template",
  );
  expect(
    await api.post(`${core}/replicationcontrollers`, {
      metadata: { name: "a" },
      spec: { replicas: -1, selector: { a: "b" }, template: templateOf({ c: "d" }, { restartPolicy: "Never" }) },
    }),
  ).toMatchSnapshot("controller");
  expect(await api.post(`${apps}/controllerrevisions`, { metadata: { name: "a" }, revision: -1 })).toMatchSnapshot("revision below zero");
  expect(await api.post(`${apps}/controllerrevisions`, { metadata: { name: "a" }, revision: 1, data: [1] })).toMatchSnapshot(
    "data that is no object",
  );
});

test("a budget is written only at the version that was read", async ({ api, core }) => {
  const budgets = `${core.replace("/api/v1/", "/apis/policy/v1/")}/poddisruptionbudgets`;
  await api.create(budgets, budgetNamed("a", { minAvailable: 1 }));

  expect(await api.put(`${budgets}/a`, budgetNamed("a", { minAvailable: 2 }))).toMatchSnapshot();
});
