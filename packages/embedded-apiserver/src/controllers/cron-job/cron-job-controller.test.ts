import { expect, test } from "vitest";
import type { ApiObject } from "../../kinds/kind.ts";
import type { CronJobStatus } from "../../kinds/batch/batch-fields.ts";
import { cronJobKind } from "../../kinds/batch/cron-job.ts";
import { jobKind } from "../../kinds/batch/job.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";

function createCronJob(world: World, spec: object = {}): void {
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "one" }] } };
  const jobTemplate = { metadata: { labels: { from: "cron" } }, spec: { template } };
  world.cluster.create(cronJobKind, {
    metadata: { name: "nightly", namespace: "default" },
    spec: { schedule: "*/2 * * * *", jobTemplate, ...spec },
  });
}

const statusOf = (world: World): CronJobStatus => world.cluster.get(cronJobKind, "default", "nightly")?.["status"];
const jobs = (world: World): Readonly<ApiObject>[] => world.cluster.list(jobKind, "default");
const minute = Date.UTC(2026, 0, 1) / 60_000;

async function finishPods(world: World): Promise<void> {
  for (const { metadata, status } of world.pods()) if (status.phase === "Pending") world.setPod(metadata.name, { phase: "Succeeded" });
  await world.settle();
}

test("a CronJob creates a Job on schedule and records an event", async () => {
  await using world = await startWorld();
  createCronJob(world);
  await world.pass(119);
  expect(jobs(world)).toEqual([]);
  await world.pass(2);

  const [job] = jobs(world);
  expect(job?.metadata).toMatchObject({
    name: `nightly-${minute + 2}`,
    labels: { from: "cron" },
    annotations: { "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-01T00:02:00Z" },
    ownerReferences: [{ apiVersion: "batch/v1", kind: "CronJob", name: "nightly", controller: true }],
  });
  expect(statusOf(world)).toEqual({
    active: [expect.objectContaining({ kind: "Job", name: job?.metadata.name, uid: job?.metadata.uid })],
    lastScheduleTime: "2026-01-01T00:02:00Z",
  });
  await finishPods(world);
  expect(statusOf(world)).toEqual({ lastScheduleTime: "2026-01-01T00:02:00Z", lastSuccessfulTime: "2026-01-01T00:02:01Z" });
  expect(world.eventsOf("nightly")).toEqual([
    `Created job ${job?.metadata.name}`,
    `Saw completed job: ${job?.metadata.name}, condition: Complete`,
  ]);
});

test("the oldest finished Jobs beyond the limit are deleted", async () => {
  await using world = await startWorld();
  createCronJob(world, { successfulJobsHistoryLimit: 1 });
  for (let run = 0; run < 3; run++) {
    await world.pass(121);
    await finishPods(world);
  }

  expect(jobs(world).map(({ metadata }) => metadata.name)).toEqual([`nightly-${minute + 6}`]);
});

test.each<[string, number]>([
  ["Allow", 2],
  ["Forbid", 1],
  ["Replace", 1],
])("with concurrency policy %s there are %i Jobs at once", async (concurrencyPolicy, count) => {
  await using world = await startWorld();
  createCronJob(world, { concurrencyPolicy });
  await world.pass(242);

  expect(jobs(world)).toHaveLength(count);
  expect(jobs(world).at(-1)?.metadata.name).toBe(`nightly-${minute + (concurrencyPolicy === "Forbid" ? 2 : 4)}`);
});

test("a suspended CronJob creates no Jobs", async () => {
  await using world = await startWorld();
  createCronJob(world, { suspend: true });
  await world.pass(200);

  expect(jobs(world)).toEqual([]);
});
