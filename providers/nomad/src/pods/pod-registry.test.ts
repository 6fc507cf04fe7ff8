import { beforeEach, expect, test } from "vitest";
import type { IndexedList } from "../api/nomad-client.ts";
import type { Allocation, JobStub } from "../api/types.ts";
import { jobIdOf } from "../job/job-id.ts";
import { attemptMeta, metaOf } from "../job/job-meta.ts";
import type { PodShape } from "../job/pod-shape.ts";
import { namespaceOf, owner } from "../test-support/pods.ts";
import { PodRegistry } from "./pod-registry.ts";

const shape: PodShape = {
  ref: { namespace: "shop", name: "web", uid: "u-1" },
  owner,
  restartPolicy: "Always",
  containers: [{ name: "main", image: "nginx", role: "main" }],
  graceSeconds: 30,
  driver: "docker",
  network: "bridge",
  variables: [],
  fileVolumes: [],
};

const jobId = jobIdOf(owner, shape.ref.uid);

let registry: PodRegistry;
let skipped: string[];
beforeEach(() => {
  skipped = [];
  registry = new PodRegistry({ owner, namespaceOf, reader: { skip: (kind, id, why) => void skipped.push(`${kind} ${id}: ${why}`) } });
});

function job(fields: Partial<JobStub> = {}): JobStub {
  return {
    ID: jobId,
    Namespace: "default",
    Meta: metaOf(shape),
    CreateIndex: 10,
    JobModifyIndex: 10,
    SubmitTime: 1e18,
    ...fields,
  };
}

function allocation(fields: Partial<Allocation> = {}): Allocation {
  return {
    ID: "a-1",
    JobID: jobId,
    Namespace: "default",
    NodeID: "n",
    CreateIndex: 11,
    ModifyIndex: 12,
    CreateTime: 1e18,
    ClientStatus: "running",
    DesiredStatus: "run",
    ...fields,
  };
}

function list<T>(index: number, ...items: readonly T[]): IndexedList<T> {
  return { items, index, skipped: [] };
}

test("two lists tell all of a pod", () => {
  const { changed, gone } = registry.noteAll(list(12, job()), list(12, allocation()));

  expect(changed).toEqual([registry.get("u-1")]);
  expect(gone).toEqual([]);
  expect(registry.get("u-1")).toMatchObject({ shape, createIndex: 10, createdAt: "2001-09-09T01:46:40.000Z", allocation: { ID: "a-1" } });
});

test("what is older than what is known changes nothing, and a list keeps the network that an event told", () => {
  registry.noteAll(list(20, job()), list(20, allocation({ ModifyIndex: 20, NetworkStatus: { Address: "10.0.0.1" } })));

  expect(registry.noteAllocation(allocation({ ModifyIndex: 15, ClientStatus: "pending" }))).toBeUndefined();
  expect(registry.noteAllocation(allocation({ ModifyIndex: 21, ClientStatus: "complete" }))).toBeDefined();
  expect(registry.get("u-1")?.allocation).toMatchObject({ ClientStatus: "complete", NetworkStatus: { Address: "10.0.0.1" } });
});

test("the first allocation is the pod's; another is a replacement, and is told of once", () => {
  registry.noteAll(list(12, job()), list(12, allocation()));

  const entry = registry.noteAllocation(allocation({ ID: "a-2", CreateIndex: 30, ModifyIndex: 30 }));

  expect(entry).toMatchObject({ hasReplacement: true, allocation: { ID: "a-1" } });
  expect(registry.noteAllocation(allocation({ ID: "a-2", CreateIndex: 30, ModifyIndex: 31 }))).toBeUndefined();
});

test("allocations of starts before are none of the pod's, and tell how its containers ended", () => {
  const attempt = { failures: 1, after: 11, restarts: { main: 1 } };
  const failure = { Type: "Driver Failure", Time: 1e18, DisplayMessage: "no such file" };
  const main = { State: "dead", Failed: true, Restarts: 0, Events: [failure] } as const;
  const failed = allocation({ ClientStatus: "failed", TaskStates: { main } });

  registry.noteAll(list(12, job({ Meta: { ...metaOf(shape), ...attemptMeta(attempt) } })), list(12, failed));
  expect(registry.get("u-1")).toMatchObject({ attempt, allocation: undefined });
  expect(registry.get("u-1")?.remembered.get("main")).toMatchObject({ reason: "StartError", message: "no such file" });

  registry.noteAllocation(allocation({ ID: "a-2", CreateIndex: 15, ModifyIndex: 15 }));
  expect(registry.noteAllocation({ ...failed, ModifyIndex: 16, DesiredStatus: "stop" })).toBeUndefined();
  expect(registry.get("u-1")).toMatchObject({ allocation: { ID: "a-2" }, hasReplacement: false });
});

test("a list from before a new start does not take the pod back to the one before", () => {
  registry.noteAll(list(12, job()), list(12, allocation({ ClientStatus: "failed" })));
  const entry = registry.get("u-1");
  const attempt = { failures: 1, after: 11, restarts: {} };
  const mark = registry.mark();
  Object.assign(entry ?? {}, { attempt });
  registry.noteAllocation(allocation({ ID: "a-2", CreateIndex: 15, ModifyIndex: 15 }));
  registry.noteAll(list(12, job()), list(12, allocation({ ClientStatus: "failed" })), mark);

  expect(entry).toMatchObject({ attempt, allocation: { ID: "a-2" }, hasReplacement: false });
});

test("a pod that is missing from a list is gone, but for one that was registered after it", () => {
  const before = registry.mark();
  registry.noteAll(list(12, job()), list(12));
  const entry = registry.get("u-1");

  expect(registry.noteAll(list(12), list(12), before).gone).toEqual([]);
  expect(registry.noteAll(list(12), list(12))).toMatchObject({ gone: [entry], missing: [] });
  expect(registry.get("u-1")).toBe(entry);
});

test.each<[string, number, number]>([
  ["jobs", 0, 950],
  ["allocations", 950, 0],
])("where the index of %s falls, a pod that is missing is to be asked for", (_what, jobs, allocations) => {
  registry.noteAll(list(950, job({ CreateIndex: 900 })), list(950));
  const mark = registry.mark();

  expect(registry.noteAll(list(jobs), list(allocations), mark)).toMatchObject({ gone: [], missing: [registry.get("u-1")] });
});

test("a pod that is being registered is not taken for gone, and what is heard of it is kept", () => {
  const entry = registry.expect(jobId, shape);

  expect(registry.noteAll(list(50), list(50)).gone).toEqual([]);
  expect(registry.noteAllocation(allocation())).toBe(entry);
});

test("a pod whose job cannot be read is not gone, nor is any while one cannot be told from others", () => {
  registry.noteAll(list(12, job()), list(12));

  expect(registry.noteAll({ items: [], index: 12, skipped: [jobId] }, list(12)).gone).toEqual([]);
  expect(registry.noteAll({ items: [], index: 12, skipped: [undefined] }, list(12)).gone).toEqual([]);
  expect(registry.noteAll({ items: [], index: 12, skipped: ["another"] }, list(12)).gone).toHaveLength(1);
});

test("after indexes have gone back, what is listed counts again", () => {
  registry.noteAll(list(950, job({ CreateIndex: 900 })), list(950, allocation({ CreateIndex: 901, ModifyIndex: 950 })));

  const { changed } = registry.noteAll(
    list(7, job({ CreateIndex: 5 })),
    list(7, allocation({ CreateIndex: 6, ModifyIndex: 7, ClientStatus: "complete" })),
  );

  expect(changed).toHaveLength(1);
  expect(registry.get("u-1")?.allocation?.ClientStatus).toBe("complete");
  expect(registry.get("u-1")?.hasReplacement).toBe(false);
});

test("what Nomad tells of a pod's job id in another namespace changes nothing", () => {
  registry.noteAll(list(12, job()), list(12, allocation()));
  const Namespace = "other";

  expect(registry.noteJob(job({ Namespace, CreateIndex: 20, Stop: true }))).toBeUndefined();
  expect(registry.noteAllocation(allocation({ Namespace, ModifyIndex: 21, ClientStatus: "failed" }))).toBeUndefined();
  expect(registry.byJob(jobId, Namespace)).toBeUndefined();
  expect(registry.get("u-1")).toMatchObject({ stopped: false, allocation: { ClientStatus: "running" } });
});

test("a job that is no pod is none; a copy of a pod's job, and one whose meta was changed, are named", () => {
  expect(registry.noteJob(job({ Meta: { team: "a" } }))).toBeUndefined();
  expect(skipped).toEqual([]);

  expect(registry.noteJob(job({ ID: "vk-copy" }))).toBeUndefined();
  expect(registry.noteJob(job({ Meta: { ...metaOf(shape), "vk.shape": "{" } }))).toBeUndefined();
  expect(skipped).toEqual([
    `job vk-copy: its meta is that of pod shop/web, whose job is ${jobId}`,
    `job ${jobId}: its meta vk.shape is not JSON; somebody has changed it`,
  ]);
  expect(registry.entries).toEqual([]);
});

test("a blocked evaluation says why a pod has no place, until it has one", () => {
  registry.noteAll(list(12, job()), list(12));
  const FailedTGAllocs = { pod: { NodesEvaluated: 2, NodesExhausted: 2, DimensionExhausted: { memory: 2 } } };

  const entry = registry.noteEvaluation({ ID: "e", JobID: jobId, Namespace: "default", Status: "blocked", FailedTGAllocs });

  expect(entry?.unplaced).toBe("Nomad has no place for the pod: 2 clients looked at; 2 are full; 2 have too little memory");
  expect(registry.noteAllocation(allocation())?.unplaced).toBeUndefined();
});
