import { systemClock } from "@virtual-kubelet/clock";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fits } from "./bexpr.ts";
import { fakeNode, type FakeCluster } from "./cluster.ts";
import { groupUse } from "../../real-process-provider/group-use.ts";
import type { FakeRequest } from "./fake-request.ts";
import { defaultNamespace, keyOf, type Json } from "./state.ts";
import { jobProblem } from "./validate-job.ts";

/** A response, with a body of JSON or text. */
export interface Answer {
  readonly status?: number;
  readonly text?: string;
  readonly json?: unknown;
  readonly index?: number;
  readonly nextToken?: string;
}

interface RouteOptions {
  readonly cluster: FakeCluster;
  readonly signal: AbortSignal;
}

type Route = (match: readonly string[], request: FakeRequest, body: string, options: RouteOptions) => Answer | Promise<Answer>;

/** Maximum size of a variable's items. */
const maxVariableBytes = 65_536;

const routes: readonly (readonly [method: string, pattern: RegExp, route: Route])[] = [
  ["GET", /^\/v1\/status\/leader$/, () => ({ json: "127.0.0.1:4647" })],
  [
    "GET",
    /^\/v1\/namespace\/(.+)$/,
    ([name = ""], _, __, { cluster: { state } }) =>
      found(state.namespaces.has(name) ? { Name: name } : undefined, "Namespace not found", 1),
  ],
  ["PUT", /^\/v1\/jobs$/, (_, { query }, body, { cluster }) => register(query, body, cluster)],
  [
    "GET",
    /^\/v1\/jobs$/,
    (_, { query }, __, { cluster: { state } }) => list([...state.jobs.values()].map(jobStub), query, state.indexes.jobs),
  ],
  [
    "GET",
    /^\/v1\/job\/([^/]+)$/,
    ([id = ""], { query }, __, { cluster: { state } }) =>
      found(state.jobs.get(keyOf(id, namespaceOf(query))), "job not found", state.indexes.jobs),
  ],
  [
    "DELETE",
    /^\/v1\/job\/([^/]+)$/,
    ([id = ""], { query }, _, { cluster }) => ({
      json: cluster.deregister(id, query.get("purge") === "true", namespaceOf(query)),
      index: cluster.state.index,
    }),
  ],
  [
    "GET",
    /^\/v1\/job\/([^/]+)\/allocations$/,
    ([id = ""], { query }, __, { cluster }) => ({
      json: cluster.allocationsOf(id, namespaceOf(query)).map(allocStub),
      index: cluster.state.indexes.allocs,
    }),
  ],
  ["GET", /^\/v1\/allocations$/, (_, { query }, __, options) => allocations(query, options)],
  [
    "GET",
    /^\/v1\/allocation\/([^/]+)$/,
    ([id = ""], _, __, { cluster: { state } }) => found(state.allocs.get(id), "alloc not found", state.indexes.allocs),
  ],
  ["PUT", /^\/v1\/allocation\/([^/]+)\/stop$/, ([id = ""], _, __, { cluster }) => stopAllocation(id, cluster)],
  ["GET", /^\/v1\/evaluations$/, (_, { query }, __, { cluster: { state } }) => list([...state.evals.values()], query, state.indexes.evals)],
  [
    "GET",
    /^\/v1\/var\/(.+)$/,
    ([path = ""], { query }, __, { cluster: { state } }) =>
      found(state.variables.get(keyOf(path, namespaceOf(query))), "variable not found", state.indexes.vars),
  ],
  [
    "GET",
    /^\/v1\/vars$/,
    (_, { query }, __, { cluster: { state } }) =>
      list(
        [...state.variables.values()].filter(({ Path }) => String(Path).startsWith(query.get("prefix") ?? "")),
        query,
        state.indexes.vars,
        ({ Items: _items, ...stub }) => stub,
      ),
  ],
  ["PUT", /^\/v1\/var\/(.+)$/, ([path = ""], { query }, body, { cluster }) => writeVariable(path, query, body, cluster)],
  [
    "DELETE",
    /^\/v1\/var\/(.+)$/,
    ([path = ""], { query }, __, { cluster }) => {
      const known = cluster.state.variables.get(keyOf(path, namespaceOf(query)));
      if (isChanged(known, query)) return { status: 409, json: known };
      cluster.deleteVariable(path, namespaceOf(query));
      return { json: null };
    },
  ],
  [
    "GET",
    /^\/v1\/nodes$/,
    (_, { query }, __, { cluster: { state } }) =>
      list([node(), ...state.otherNodes], query, state.indexes.nodes, ({ Attributes: _attributes, ...stub }) => stub),
  ],
  ["GET", /^\/v1\/node\/pool\/(.+)$/, ([name]) => ({ json: { Name: name, SchedulerConfiguration: null } })],
  [
    "GET",
    /^\/v1\/operator\/scheduler\/configuration$/,
    (_, __, ___, { cluster: { state } }) => ({
      json: { SchedulerConfig: { MemoryOversubscriptionEnabled: state.memoryOversubscription } },
    }),
  ],
  ["GET", /^\/v1\/client\/fs\/cat\/([^/]+)$/, ([id = ""], { query }, __, { cluster }) => readFile(id, query.get("path") ?? "", cluster)],
  ["GET", /^\/v1\/client\/allocation\/([^/]+)\/stats$/, ([id = ""], _, __, { cluster }) => stats(id, cluster)],
  ["PUT", /^\/v1\/client\/allocation\/([^/]+)\/restart$/, ([id = ""], _, body, { cluster }) => restartTask(id, body, cluster)],
  ["PUT", /^\/v1\/client\/allocation\/([^/]+)\/signal$/, ([id = ""], _, body, { cluster }) => signalTask(id, body, cluster)],
];

/** Nomad's response to a request. */
export async function answer(request: FakeRequest, body: string, options: RouteOptions): Promise<Answer> {
  for (const [method, pattern, route] of routes) {
    const match = request.method === method ? pattern.exec(request.path) : null;
    if (match) return route(match.slice(1), request, body, options);
  }
  return { status: 404, text: `no handler for ${request.method} ${request.path}` };
}

/** Source: Nomad, `parseNamespace`. */
function namespaceOf(query: URLSearchParams): string {
  return query.get("namespace") || defaultNamespace;
}

function register(query: URLSearchParams, body: string, cluster: FakeCluster): Answer {
  let request: { Job?: Json; EnforceIndex?: boolean; JobModifyIndex?: number };
  try {
    request = JSON.parse(body) as typeof request;
  } catch {
    return { status: 400, text: "unexpected EOF" };
  }
  const { Job: given, EnforceIndex, JobModifyIndex = 0 } = request;
  if (!given) return { status: 400, text: "Job must be specified" };
  // The query takes precedence over the job. Source: Nomad, `namespaceForJob`.
  const Namespace = query.get("namespace") || String(given["Namespace"] ?? defaultNamespace);
  const job = { ...given, Namespace };
  const problem = jobProblem(job);
  if (problem !== undefined) return { status: 500, text: problem };
  const id = String(given["ID"]);
  if (!cluster.state.namespaces.has(Namespace))
    return { status: 500, text: `1 error occurred:\n\t* job "${id}" is in nonexistent namespace "${Namespace}"\n\n` };
  const known = cluster.state.jobs.get(keyOf(id, Namespace));
  if (EnforceIndex && JobModifyIndex === 0 && known) return { status: 500, text: "Enforcing job modify index 0: job already exists" };
  if (EnforceIndex && JobModifyIndex !== 0 && known?.["JobModifyIndex"] !== JobModifyIndex)
    return {
      status: 500,
      text: known
        ? `Enforcing job modify index ${JobModifyIndex}: job exists with conflicting job modify index: ${String(known["JobModifyIndex"])}`
        : `Enforcing job modify index ${JobModifyIndex}: job does not exist`,
    };
  return { json: cluster.register(job), index: cluster.state.index };
}

async function allocations(query: URLSearchParams, { cluster: { state }, signal }: RouteOptions): Promise<Answer> {
  const index = Number(query.get("index") ?? 0);
  if (index > 0 && state.indexes.allocs <= index) await untilChanged(index, parseWait(query.get("wait")), state, signal);
  return list(
    [...state.allocs.values()].map((each) => ({ ...allocStub(each), Job: each["Job"] })),
    query,
    state.indexes.allocs,
    ({ Job: _, ...stub }) => stub,
  );
}

/** Waits until any allocation has changed, regardless of the filter. */
function untilChanged(index: number, waitMs: number, state: FakeCluster["state"], signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      stop();
      timer[Symbol.dispose]();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const stop = state.listen(Infinity, () => void (state.indexes.allocs > index && end()));
    const timer = systemClock.setTimer(waitMs, end);
    signal.addEventListener("abort", end, { once: true });
  });
}

/** Objects of the query's namespace, or of all with `*`; objects without a namespace are always included. */
function list(objects: readonly Json[], query: URLSearchParams, index: number, show: (object: Json) => Json = (object) => object): Answer {
  const filter = query.get("filter");
  const namespace = namespaceOf(query);
  let kept = objects.filter(({ Namespace }) => Namespace === undefined || namespace === "*" || Namespace === namespace);
  try {
    if (filter !== null) kept = kept.filter((object) => fits(filter, object));
  } catch (error) {
    return { status: 400, text: String(error) };
  }
  const perPage = Number(query.get("per_page") ?? 0);
  const from = Number(query.get("next_token") ?? 0);
  const page = perPage > 0 ? kept.slice(from, from + perPage) : kept;
  const next = perPage > 0 && from + perPage < kept.length ? String(from + perPage) : undefined;
  return { json: page.map(show), index, ...(next !== undefined && { nextToken: next }) };
}

function writeVariable(path: string, query: URLSearchParams, body: string, cluster: FakeCluster): Answer {
  const { Items = {} } = JSON.parse(body) as { Items?: Record<string, string> };
  const size = Object.entries(Items).reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  if (size > maxVariableBytes) return { status: 400, text: "variables are limited to 64KiB in total size" };
  const known = cluster.state.variables.get(keyOf(path, namespaceOf(query)));
  if (isChanged(known, query)) return { status: 409, json: known };
  return { json: cluster.writeVariable(path, Items, namespaceOf(query)), index: cluster.state.index };
}

/** Whether a variable has changed since the index in the request. */
function isChanged(known: Json | undefined, query: URLSearchParams): boolean {
  const cas = query.get("cas");
  return cas !== null && Number(cas) !== Number(known?.["ModifyIndex"] ?? 0);
}

function stopAllocation(id: string, cluster: FakeCluster): Answer {
  const allocation = cluster.state.allocs.get(id);
  if (!allocation) return { status: 404, text: "alloc not found" };
  cluster.stopAlloc(allocation);
  return { json: { EvalID: randomUUID(), Index: cluster.state.index } };
}

/** Restarts a task; responds when its process has ended, before the next one runs. */
async function restartTask(id: string, body: string, { runners }: FakeCluster): Promise<Answer> {
  const { TaskName } = JSON.parse(body) as { TaskName: string };
  const runner = runners.get(id);
  if (!runner) return { status: 404, text: `Unknown allocation "${id}"` };
  const task = runner.task(TaskName);
  if (!task) return { status: 500, text: `Could not find task runner for task: ${TaskName}` };
  return (await task.restart()) ? { json: {} } : { status: 500, text: "Task not running" };
}

/** Reads a file of an allocation. Refusals have status 200. Measured on Nomad 2.0.6. */
function readFile(id: string, path: string, { runners }: FakeCluster): Answer {
  const runner = runners.get(id);
  if (!runner) return { status: 404, text: `Unknown allocation "${id}"` };
  const [task = "", folder, ...rest] = path.split("/");
  if (folder === "secrets") return { text: `Reading secret file prohibited: ${path}` };
  return { text: readFileSync(join(runner.folderOf(task), folder ?? "", ...rest), "utf8") };
}

function signalTask(id: string, body: string, { runners }: FakeCluster): Answer {
  const { Task, Signal } = JSON.parse(body) as { Task: string; Signal: NodeJS.Signals };
  const runner = runners.get(id);
  if (!runner) return { status: 404, text: `Unknown allocation "${id}"` };
  const group = runner.task(Task)?.group;
  if (!group) return { status: 500, text: "Task not running" };
  group.signal(Signal);
  return { json: {} };
}

function stats(id: string, { runners }: FakeCluster): Answer {
  const runner = runners.get(id);
  if (!runner) return { status: 404, text: `Unknown allocation "${id}"` };
  const Timestamp = systemClock.now() * 1e6;
  const Tasks = Object.fromEntries(
    runner.tasks.flatMap(({ task, group }) => {
      const pid = group?.child.pid;
      if (pid === undefined) return [];
      const { rssBytes } = groupUse(pid);
      const CpuStats = { TotalTicks: 2.77, Percent: 0.1, Measured: ["Percent"] };
      const MemoryStats = { RSS: rssBytes, Cache: 0, Usage: rssBytes, Measured: ["RSS", "Cache", "Usage"] };
      return [[task.Name, { Pids: null, ResourceUsage: { CpuStats, MemoryStats, DeviceStats: null }, Timestamp }]];
    }),
  );
  return { json: { Tasks, Timestamp } };
}

function node(): Json {
  const driver = { Detected: true, Healthy: true, HealthDescription: "Healthy", Attributes: {} };
  return {
    ID: fakeNode.id,
    Name: fakeNode.name,
    Address: fakeNode.address,
    Attributes: { "cpu.arch": "amd64", "kernel.name": "linux" },
    Datacenter: "dc1",
    NodePool: "default",
    Status: "ready",
    SchedulingEligibility: "eligible",
    Drain: false,
    Version: "2.0.6-dev",
    Drivers: { docker: driver, raw_exec: driver },
    NodeResources: {
      Cpu: { CpuShares: fakeNode.mhz, TotalCpuCores: 2 },
      Memory: { MemoryMB: fakeNode.memoryMB },
      Disk: { DiskMB: 258_019 },
      Devices: null,
    },
    ReservedResources: { Cpu: { CpuShares: 0 }, Memory: { MemoryMB: 0 }, Disk: { DiskMB: 0 } },
  };
}

function found(object: Json | undefined, problem: string, index: number): Answer {
  return object ? { json: object, index } : { status: 404, text: problem };
}

function jobStub({ TaskGroups: _, ...stub }: Json): Json {
  return stub;
}

/** An allocation in a list, which omits network, ports and job. Source: fixture 03. */
function allocStub({ Job: _, NetworkStatus: __, AllocatedResources: ___, ...stub }: Json): Json {
  return stub;
}

function parseWait(text: string | null): number {
  const [, amount = "300", unit = "s"] = /^(\d+)(s|m|ms)$/.exec(text ?? "") ?? [];
  return Number(amount) * (unit === "m" ? 60_000 : unit === "ms" ? 1 : 1000);
}
