import { expect, test } from "vitest";
import { cronJobKind } from "../kinds/batch/cron-job.ts";
import { jobKind } from "../kinds/batch/job.ts";
import { kinds } from "../kinds/index.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { serviceKind } from "../kinds/service/service.ts";
import { daemonSetKind } from "../kinds/workload/daemon-set.ts";
import { deploymentKind } from "../kinds/workload/deployment.ts";
import { replicaSetKind } from "../kinds/workload/replica-set.ts";
import { statefulSetKind } from "../kinds/workload/stateful-set.ts";
import { startWorld, type World } from "../test-support/cluster-world.ts";
import { firstMade } from "./first-made.ts";

const labels = { app: "web" };
// Admission adds no volume for a token.
const spec = { containers: [{ name: "main", image: "one" }], automountServiceAccountToken: false };
const template = { metadata: { labels }, spec };
const selector = { matchLabels: labels };
const jobTemplate = { metadata: { labels }, spec: { ...spec, restartPolicy: "Never" } };
const claim = { metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } };

/** Objects of a kind that a controller has made of `web`. */
function madeBy(world: World, kind: string): Readonly<ApiObject>[] {
  const found = kinds.find((each) => each.kind === kind);
  return found ? world.cluster.list(found).filter(({ metadata }) => metadata.ownerReferences?.[0]?.name.startsWith("web")) : [];
}

test.for<[name: string, kind: Kind, workloadSpec: object]>([
  ["Deployment", deploymentKind, { replicas: 3, selector, template }],
  ["ReplicaSet", replicaSetKind, { replicas: 3, selector, template }],
  ["StatefulSet", statefulSetKind, { serviceName: "web", selector, template, ordinals: { start: 2 }, volumeClaimTemplates: [claim] }],
  ["DaemonSet", daemonSetKind, { selector, template }],
  ["Job", jobKind, { template: jobTemplate }],
  ["indexed Job", jobKind, { completions: 3, completionMode: "Indexed", template: jobTemplate }],
  ["CronJob", cronJobKind, { schedule: "* * * * *", jobTemplate: { spec: { template: jobTemplate } } }],
])("what is made first of a %s is what its controller makes", async ([, kind, workloadSpec]) => {
  await using world = await startWorld();
  world.addNode("n1");
  const workload = world.cluster.create(kind, { metadata: { name: "web", namespace: "default" }, spec: workloadSpec });
  const madeMs = world.clock.now() + 60_000;
  const made = firstMade(workload, { nodeName: "n1", nowMs: madeMs - (madeMs % 60_000) });

  await world.settle();
  if (kind === cronJobKind) await world.clock.advance(61_000);

  const [first] = madeBy(world, made?.kind ?? "").toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  expect(made).toBeDefined();
  // Without the fields that JSON leaves out.
  expect(first).toMatchObject(JSON.parse(JSON.stringify(made?.object)) as object);
});

test("of an object that is no workload nothing is made", async () => {
  await using world = await startWorld();

  const service = { apiVersion: "v1", kind: "Service", metadata: { name: "web", namespace: "default" }, spec: { ports: [{ port: 80 }] } };
  const stored = world.cluster.create(serviceKind, service);

  expect(firstMade(stored, { nodeName: "n1", nowMs: 0 })).toBeUndefined();
});
