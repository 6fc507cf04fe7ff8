import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Api } from "./support/api.ts";
import { test } from "./support/parity-test.ts";
import { cronJobNamed, jobNamed } from "./support/workload-objects.ts";

interface Place {
  readonly api: Api;
  readonly core: string;
}

const batchOf = (core: string): string => core.replace("/api/v1/", "/apis/batch/v1/");

// oxlint-disable-next-line typescript/no-explicit-any -- objects of every kind
async function pods({ api, core }: Place): Promise<any[]> {
  return (await api.get(`${core}/pods`)).body.items;
}

// oxlint-disable-next-line typescript/no-explicit-any -- the same
async function jobOf({ api, core }: Place, name: string = "a"): Promise<any> {
  return (await api.get(`${batchOf(core)}/jobs/${name}`)).body;
}

/** Terminates pods as a node would until the check passes. */
async function settle(place: Place, phase: "Succeeded" | "Failed" | undefined, check: () => Promise<void>): Promise<void> {
  const { api, core } = place;
  await eventually(
    async () => {
      for (const { metadata, status } of await pods(place)) {
        if (phase === undefined || metadata.deletionTimestamp !== undefined || status.phase !== "Pending") continue;
        await api.patch("merge", `${core}/pods/${metadata.name}/status`, { status: { phase } });
      }
      await check();
    },
    { timeoutMs: 60_000, intervalMs: 200 },
  );
}

test("a Job owns its pod and counts it as active", async ({ api, core }) => {
  await api.create(`${batchOf(core)}/jobs`, jobNamed("a"));
  await settle({ api, core }, undefined, async () => expect((await jobOf({ api, core })).status.active).toBe(1));
  const [pod] = await pods({ api, core });

  expect(pod.metadata.name).toMatch(/^a-[a-z0-9]{5}$/);
  expect({ ...pod.metadata, name: "NAME" }).toMatchInlineSnapshot(`
    {
      creationTimestamp: "TIME",
      finalizers: ["batch.kubernetes.io/job-tracking"],
      generateName: "a-",
      generation: 1,
      labels: {
        batch.kubernetes.io/controller-uid: "UID",
        batch.kubernetes.io/job-name: "a",
        controller-uid: "UID",
        job-name: "a",
      },
      name: "NAME",
      namespace: "NAMESPACE",
      ownerReferences: [
        {
          apiVersion: "batch/v1",
          blockOwnerDeletion: true,
          controller: true,
          kind: "Job",
          name: "a",
          uid: "UID",
        },
      ],
      resourceVersion: VERSION,
      uid: "UID",
    }
  `);
  expect((await jobOf({ api, core })).status).toMatchInlineSnapshot(
    `{active: 1, ready: 0, startTime: "TIME", terminating: 0, uncountedTerminatedPods: {}}`,
  );
});

test("a Job whose pod succeeds is complete", async ({ api, core }) => {
  await api.create(`${batchOf(core)}/jobs`, jobNamed("a"));
  await settle({ api, core }, "Succeeded", async () => expect((await jobOf({ api, core })).status.completionTime).toBeDefined());

  expect((await jobOf({ api, core })).status).toMatchInlineSnapshot(`
    {
      completionTime: "TIME",
      conditions: [
        {
          lastProbeTime: "TIME",
          lastTransitionTime: "TIME",
          message: "Reached expected number of succeeded pods",
          reason: "CompletionsReached",
          status: "True",
          type: "SuccessCriteriaMet",
        },
        {
          lastProbeTime: "TIME",
          lastTransitionTime: "TIME",
          message: "Reached expected number of succeeded pods",
          reason: "CompletionsReached",
          status: "True",
          type: "Complete",
        },
      ],
      ready: 0,
      startTime: "TIME",
      succeeded: 1,
      terminating: 0,
      uncountedTerminatedPods: {},
    }
  `);
  expect((await pods({ api, core }))[0].metadata.finalizers).toBeUndefined();
  // Events are written after the changes that they report.
  await eventually(async () => {
    const events = (await api.get(`${core}/events?fieldSelector=involvedObject.kind=Job`)).body.items;
    expect(events.map(({ reason, type }: { reason: string; type: string }) => `${type} ${reason}`).toSorted()).toEqual([
      "Normal Completed",
      "Normal SuccessfulCreate",
    ]);
  });
});

test("a Job whose pods fail too often has failed", async ({ api, core }) => {
  await api.create(`${batchOf(core)}/jobs`, jobNamed("a", { backoffLimit: 0, parallelism: 2, completions: 2 }));
  await eventually(async () => expect(await pods({ api, core })).toHaveLength(2));
  const [first] = await pods({ api, core });
  await api.patch("merge", `${core}/pods/${first.metadata.name}/status`, { status: { phase: "Failed" } });
  await settle({ api, core }, undefined, async () =>
    expect((await jobOf({ api, core })).status.conditions?.map(({ type }: { type: string }) => type)).toContain("Failed"),
  );

  expect((await jobOf({ api, core })).status).toMatchInlineSnapshot(`
    {
      conditions: [
        {
          lastProbeTime: "TIME",
          lastTransitionTime: "TIME",
          message: "Job has reached the specified backoff limit",
          reason: "BackoffLimitExceeded",
          status: "True",
          type: "FailureTarget",
        },
        {
          lastProbeTime: "TIME",
          lastTransitionTime: "TIME",
          message: "Job has reached the specified backoff limit",
          reason: "BackoffLimitExceeded",
          status: "True",
          type: "Failed",
        },
      ],
      failed: 2,
      ready: 0,
      startTime: "TIME",
      terminating: 0,
      uncountedTerminatedPods: {},
    }
  `);
  expect(await pods({ api, core })).toHaveLength(1);
});

test("indexed pods know their index, and the Job lists completed indexes", async ({ api, core }) => {
  await api.create(`${batchOf(core)}/jobs`, jobNamed("a", { completionMode: "Indexed", completions: 3, parallelism: 3 }));
  await eventually(async () => expect(await pods({ api, core })).toHaveLength(3));
  const pod = (await pods({ api, core })).find(({ metadata }) => metadata.annotations["batch.kubernetes.io/job-completion-index"] === "1");
  const { metadata, spec } = pod;

  expect([metadata.generateName, metadata.annotations, metadata.labels, spec.hostname, spec.containers[0].env]).toMatchInlineSnapshot(`
    [
      "a-1-",
      {batch.kubernetes.io/job-completion-index: "1"},
      {
        batch.kubernetes.io/controller-uid: "UID",
        batch.kubernetes.io/job-completion-index: "1",
        batch.kubernetes.io/job-name: "a",
        controller-uid: "UID",
        job-name: "a",
      },
      "a-1",
      [
        {
          name: "JOB_COMPLETION_INDEX",
          valueFrom: {fieldRef: {apiVersion: "v1", fieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']"}},
        },
      ],
    ]
  `);
  await api.patch("merge", `${core}/pods/${metadata.name}/status`, { status: { phase: "Succeeded" } });
  await settle({ api, core }, undefined, async () => expect((await jobOf({ api, core })).status.completedIndexes).toBe("1"));
  await settle({ api, core }, "Succeeded", async () => expect((await jobOf({ api, core })).status.completionTime).toBeDefined());
  expect((await jobOf({ api, core })).status).toMatchInlineSnapshot(`
    {
      completedIndexes: "0-2",
      completionTime: "TIME",
      conditions: [
        {
          lastProbeTime: "TIME",
          lastTransitionTime: "TIME",
          message: "Reached expected number of succeeded pods",
          reason: "CompletionsReached",
          status: "True",
          type: "SuccessCriteriaMet",
        },
        {
          lastProbeTime: "TIME",
          lastTransitionTime: "TIME",
          message: "Reached expected number of succeeded pods",
          reason: "CompletionsReached",
          status: "True",
          type: "Complete",
        },
      ],
      ready: 0,
      startTime: "TIME",
      succeeded: 3,
      terminating: 0,
      uncountedTerminatedPods: {},
    }
  `);
});

test("a suspended Job has no pods and the condition Suspended; a resumed Job has pods", async ({ api, core }) => {
  await api.create(`${batchOf(core)}/jobs`, jobNamed("a", { suspend: true }));
  await settle({ api, core }, undefined, async () => expect((await jobOf({ api, core })).status.conditions).toHaveLength(1));
  expect((await jobOf({ api, core })).status).toMatchInlineSnapshot(`
    {
      conditions: [
        {
          lastProbeTime: "TIME",
          lastTransitionTime: "TIME",
          message: "Job suspended",
          reason: "JobSuspended",
          status: "True",
          type: "Suspended",
        },
      ],
      ready: 0,
      terminating: 0,
      uncountedTerminatedPods: {},
    }
  `);
  expect(await pods({ api, core })).toEqual([]);

  await api.patch("merge", `${batchOf(core)}/jobs/a`, { spec: { suspend: false } });
  await settle({ api, core }, undefined, async () => expect((await jobOf({ api, core })).status.active).toBe(1));
  expect((await jobOf({ api, core })).status).toMatchInlineSnapshot(`
    {
      active: 1,
      conditions: [
        {
          lastProbeTime: "TIME",
          lastTransitionTime: "TIME",
          message: "Job resumed",
          reason: "JobResumed",
          status: "False",
          type: "Suspended",
        },
      ],
      ready: 0,
      startTime: "TIME",
      terminating: 0,
      uncountedTerminatedPods: {},
    }
  `);
});

test("a deadline ends a Job and its pods", async ({ api, core }) => {
  await api.create(`${batchOf(core)}/jobs`, jobNamed("a", { activeDeadlineSeconds: 1 }));
  await settle({ api, core }, undefined, async () =>
    expect((await jobOf({ api, core })).status.conditions?.map(({ type }: { type: string }) => type)).toContain("Failed"),
  );

  expect((await jobOf({ api, core })).status).toMatchInlineSnapshot(`
    {
      conditions: [
        {
          lastProbeTime: "TIME",
          lastTransitionTime: "TIME",
          message: "Job was active longer than specified deadline",
          reason: "DeadlineExceeded",
          status: "True",
          type: "FailureTarget",
        },
        {
          lastProbeTime: "TIME",
          lastTransitionTime: "TIME",
          message: "Job was active longer than specified deadline",
          reason: "DeadlineExceeded",
          status: "True",
          type: "Failed",
        },
      ],
      failed: 1,
      ready: 0,
      startTime: "TIME",
      terminating: 0,
      uncountedTerminatedPods: {},
    }
  `);
  expect(await pods({ api, core })).toEqual([]);
});

test("a pod failure policy applies at once", async ({ api, core }) => {
  const rules = [{ action: "FailJob", onPodConditions: [{ type: "example.com/broken" }] }];
  await api.create(`${batchOf(core)}/jobs`, jobNamed("a", { podFailurePolicy: { rules } }));
  await eventually(async () => expect(await pods({ api, core })).toHaveLength(1));
  const [pod] = await pods({ api, core });
  await api.patch("merge", `${core}/pods/${pod.metadata.name}/status`, {
    status: { phase: "Failed", conditions: [{ type: "example.com/broken", status: "True" }] },
  });
  await settle({ api, core }, undefined, async () => expect((await jobOf({ api, core })).status.conditions).toHaveLength(2));
  const { status } = await jobOf({ api, core });

  expect(JSON.parse(JSON.stringify(status).replaceAll(pod.metadata.name, "POD"))).toMatchInlineSnapshot(`
    {
      conditions: [
        {
          lastProbeTime: "TIME",
          lastTransitionTime: "TIME",
          message: "Pod NAMESPACE/POD has condition example.com/broken matching FailJob rule at index 0",
          reason: "PodFailurePolicy",
          status: "True",
          type: "FailureTarget",
        },
        {
          lastProbeTime: "TIME",
          lastTransitionTime: "TIME",
          message: "Pod NAMESPACE/POD has condition example.com/broken matching FailJob rule at index 0",
          reason: "PodFailurePolicy",
          status: "True",
          type: "Failed",
        },
      ],
      failed: 1,
      ready: 0,
      startTime: "TIME",
      terminating: 0,
      uncountedTerminatedPods: {},
    }
  `);
});

test("a Job is deleted with or without its pods", async ({ api, core }) => {
  const jobs = `${batchOf(core)}/jobs`;
  const podsOf = async (name: string): Promise<Awaited<ReturnType<typeof pods>>> =>
    (await pods({ api, core })).filter(({ metadata }) => metadata.labels["job-name"] === name);
  let attempts = 0;
  await eventually(
    async () => {
      const name = `a${attempts++}`;
      await api.create(jobs, jobNamed(name));
      await eventually(async () => expect(await podsOf(name)).toHaveLength(1));
      await api.delete(`${jobs}/${name}`);
      await eventually(async () => {
        expect((await api.get(`${jobs}/${name}`)).status).toBe(404);
        for (const { metadata } of await podsOf(name))
          expect([metadata.ownerReferences, metadata.finalizers]).toEqual([undefined, undefined]);
      });
      // The real garbage collector orphans only pods that it already knows as the Job's dependents, and deletes the others.
      expect(await podsOf(name)).toHaveLength(1);
    },
    { timeoutMs: 100_000 },
  );

  await api.create(jobs, jobNamed("b"));
  await eventually(async () => expect(await podsOf("b")).toHaveLength(1));
  await api.delete(`${jobs}/b`, { propagationPolicy: "Foreground" });
  await eventually(
    async () => {
      expect((await api.get(`${jobs}/b`)).status).toBe(404);
      expect(await podsOf("b")).toEqual([]);
    },
    { timeoutMs: 60_000 },
  );
});

test("a Job with ttlSecondsAfterFinished is removed with its pods after its end", async ({ api, core }) => {
  const jobs = `${batchOf(core)}/jobs`;
  await api.create(jobs, jobNamed("a", { ttlSecondsAfterFinished: 0 }));
  await settle({ api, core }, "Succeeded", async () => {
    expect((await api.get(`${jobs}/a`)).status).toBe(404);
    expect(await pods({ api, core })).toEqual([]);
  });
});

test("a CronJob's Job is created from its template", async ({ api, core }) => {
  const cronJobs = `${batchOf(core)}/cronjobs`;
  await api.create(cronJobs, cronJobNamed("a", { schedule: "@every 1s" }, { suspend: true }));
  const job = await eventually(
    async () => {
      const { items } = (await api.get(`${batchOf(core)}/jobs`)).body;
      expect(items.length).toBeGreaterThan(0);
      return items[0];
    },
    { timeoutMs: 60_000 },
  );
  await api.patch("merge", `${cronJobs}/a`, { spec: { suspend: true } });

  const { name } = job.metadata;
  expect(name).toMatch(/^a-\d{8}$/);
  const metadata = JSON.parse(JSON.stringify({ ...job.metadata, resourceVersion: "0" }).replaceAll(name, "NAME"));
  expect(metadata).toMatchInlineSnapshot(`
    {
      annotations: {batch.kubernetes.io/cronjob-scheduled-timestamp: "TIME"},
      creationTimestamp: "TIME",
      generation: 1,
      labels: {
        batch.kubernetes.io/controller-uid: "UID",
        batch.kubernetes.io/job-name: "NAME",
        controller-uid: "UID",
        job-name: "NAME",
      },
      name: "NAME",
      namespace: "NAMESPACE",
      ownerReferences: [
        {
          apiVersion: "batch/v1",
          blockOwnerDeletion: true,
          controller: true,
          kind: "CronJob",
          name: "a",
          uid: "UID",
        },
      ],
      resourceVersion: "0",
      uid: "UID",
    }
  `);
});
