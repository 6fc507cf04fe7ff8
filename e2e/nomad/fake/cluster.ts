import type { Clock } from "@virtual-kubelet/clock";
import type { Reaper } from "@virtual-kubelet/testing";
import { randomUUID } from "node:crypto";
import { AllocRunner } from "./alloc-runner.ts";
import { clientAttributes, replaceVariables } from "./interpolate.ts";
import { allocationEvent, defaultNamespace, evaluationEvent, FakeState, jobEvent, keyOf, type Json } from "./state.ts";

/** Attributes and resources of the fake's only client. */
export const fakeNode = {
  id: "56129849-3987-ab2d-62aa-bdaf3a5fc3d3",
  name: "node-1",
  address: "127.0.0.1",
  mhz: 5192,
  memoryMB: 24_105,
} as const;

/** Delay of the scheduler and the client, in milliseconds. */
const scheduleMs = 5;

/** Options of a {@link FakeCluster}. */
export interface ClusterOptions {
  readonly clock: Clock;
  readonly reaper: Reaper;
  readonly directory: string;
}

/** Scheduler and client: places jobs and runs their allocations. */
export class FakeCluster {
  readonly state: FakeState = new FakeState();
  readonly runners: Map<string, AllocRunner> = new Map();
  readonly #options: ClusterOptions;
  #variableWake = Promise.withResolvers<void>();
  readonly #ends = new Set<Promise<unknown>>();

  constructor(options: ClusterOptions) {
    this.#options = options;
  }

  /** @returns index and evaluation of the write */
  register(job: Json): Json {
    const namespace = String(job["Namespace"] ?? defaultNamespace);
    const key = keyOf(String(job["ID"]), namespace);
    const known = this.state.jobs.get(key);
    const evaluation = this.state.newEvaluation({ ...job, Namespace: namespace }, { TriggeredBy: "job-register", Type: job["Type"] });
    const isSame = known && !known["Stop"] && withoutIndexes(known) === withoutIndexes({ ...defaults(job), Status: known["Status"] });
    const index = this.state.write(["jobs", "evals"], (at) => {
      Object.assign(evaluation, { CreateIndex: at, ModifyIndex: at });
      if (isSame) return [evaluationEvent(evaluation, "JobRegistered")];
      const stored: Json = {
        ...defaults(job),
        Status: "pending",
        Stop: false,
        CreateIndex: known?.["CreateIndex"] ?? at,
        ModifyIndex: at,
        JobModifyIndex: at,
        Version: known ? Number(known["Version"]) + 1 : 0,
        SubmitTime: this.#options.clock.now() * 1e6,
      };
      this.state.jobs.set(key, stored);
      return [jobEvent(stored, "JobRegistered"), evaluationEvent(evaluation, "JobRegistered")];
    });
    this.#later(() => this.#schedule(key, evaluation));
    return {
      EvalID: evaluation["ID"],
      EvalCreateIndex: index,
      Index: index,
      JobModifyIndex: index,
      Warnings: this.state.memoryOversubscription ? "" : memoryWarning(job),
      KnownLeader: false,
      LastContact: 0,
    };
  }

  deregister(id: string, purge: boolean, namespace: string = defaultNamespace): Json {
    const key = keyOf(id, namespace);
    const job = this.state.jobs.get(key);
    if (!job) {
      const index = this.state.write(["jobs"], () => []);
      return { EvalID: "", EvalCreateIndex: 0, Index: index, JobModifyIndex: index, KnownLeader: false, LastContact: 0 };
    }
    const evaluation = this.state.newEvaluation(job, { TriggeredBy: "job-deregister", Type: job["Type"] });
    const allocations = this.allocationsOf(id, namespace);
    const index = this.state.write(["jobs", "evals", ...(purge ? (["allocs"] as const) : [])], (at) => {
      Object.assign(evaluation, { CreateIndex: at, ModifyIndex: at, Status: "complete" });
      Object.assign(job, { Stop: true, Status: "dead", ModifyIndex: at, JobModifyIndex: at });
      if (purge) {
        this.state.jobs.delete(key);
        for (const { ID } of allocations) this.state.allocs.delete(String(ID));
      }
      return [jobEvent(job, "JobDeregistered"), evaluationEvent(evaluation, "JobDeregistered")];
    });
    this.#later(() => {
      for (const allocation of allocations) this.#stopAllocation(allocation, {}, "alloc not needed due to job update");
      if (purge)
        for (const { ID } of allocations) void this.runners.get(String(ID))?.done.then(() => this.runners.get(String(ID))?.removeFiles());
    });
    return { EvalID: evaluation["ID"], EvalCreateIndex: index, Index: index, JobModifyIndex: index, KnownLeader: false, LastContact: 0 };
  }

  writeVariable(path: string, items: unknown, namespace: string = defaultNamespace): Json {
    const key = keyOf(path, namespace);
    const known = this.state.variables.get(key);
    const stored: Json = { Path: path, Namespace: namespace, Items: items };
    this.state.write(["vars"], (at) => {
      Object.assign(stored, { CreateIndex: known?.["CreateIndex"] ?? at, ModifyIndex: at });
      this.state.variables.set(key, stored);
      return [];
    });
    this.#variablesChanged();
    return stored;
  }

  deleteVariable(path: string, namespace: string = defaultNamespace): void {
    this.state.write(["vars"], () => []);
    this.state.variables.delete(keyOf(path, namespace));
  }

  allocationsOf(jobId: string, namespace: string = defaultNamespace): Json[] {
    return [...this.state.allocs.values()].filter(({ JobID, Namespace }) => JobID === jobId && Namespace === namespace);
  }

  /** Simulates a drain of the client: Nomad migrates the allocation. */
  drain(jobId: string): void {
    for (const allocation of this.allocationsOf(jobId)) this.#migrate(allocation, { Migrate: true });
  }

  /** Simulates a user who stops the allocation: Nomad migrates it as for a drain. Source: Nomad 2.0.6, `Alloc.Stop`. */
  stopAlloc(allocation: Json): void {
    this.#migrate(allocation, { Migrate: true, NoShutdownDelay: false, Reschedule: false });
  }

  #migrate(allocation: Json, DesiredTransition: Json): void {
    this.#stopAllocation(allocation, { DesiredTransition }, "alloc is being migrated");
    this.#replace(keyOf(String(allocation["JobID"]), String(allocation["Namespace"])));
  }

  /** Simulates the loss of the client: Nomad replaces the allocation under any policy of the job. */
  lose(jobId: string): void {
    for (const allocation of this.allocationsOf(jobId)) {
      this.#end(this.runners.get(String(allocation["ID"]))?.lose());
      this.#update(allocation, { ClientStatus: "lost", DesiredStatus: "stop", DesiredDescription: "alloc is lost since its node is down" });
      this.#replace(jobId);
    }
  }

  /** Simulates a client that does not respond for a while. */
  disconnect(jobId: string, isAway: boolean): void {
    for (const allocation of this.allocationsOf(jobId)) this.#update(allocation, { ClientStatus: isAway ? "unknown" : "running" });
  }

  /** Ends all processes. */
  async dispose(): Promise<void> {
    this.state.goBack();
    for (const job of this.state.jobs.values()) job["Stop"] = true;
    for (const runner of this.runners.values()) for (const task of runner.tasks) task.killTimeout = 0;
    await Promise.all([...this.runners.values()].map((runner) => runner.stop()));
    await Promise.all(this.#ends);
    for (const runner of this.runners.values()) runner.removeFiles();
  }

  #replace(key: string): void {
    const job = this.state.jobs.get(key);
    if (!job || job["Stop"]) return;
    const evaluation = this.state.newEvaluation(job, { TriggeredBy: "node-update", Type: job["Type"] });
    // The delay is long enough for a test to stop the job first.
    this.#options.clock.setTimer(200, () => this.#place(key, evaluation));
  }

  #schedule(key: string, evaluation: Json): void {
    const job = this.state.jobs.get(key);
    if (!job || job["Stop"]) return;
    const counted = this.allocationsOf(String(job["ID"]), String(job["Namespace"])).filter((allocation) => counts(allocation, job));
    // Changes that are made in place do not affect running tasks.
    if (counted.some((allocation) => isSameMeta(allocation["Job"] as Json, job))) return;
    for (const allocation of counted) this.#replaceAllocation(allocation);
    const failure = whyNot(job);
    if (!failure) return this.#place(key, evaluation);
    this.state.write(["evals"], (at) => {
      Object.assign(evaluation, { ModifyIndex: at, Status: "complete", FailedTGAllocs: { pod: failure } });
      const blocked = this.state.newEvaluation(job, {
        Status: "blocked",
        CreateIndex: at,
        ModifyIndex: at,
        FailedTGAllocs: { pod: failure },
      });
      return [evaluationEvent(evaluation, "EvaluationUpdated"), evaluationEvent(blocked, "EvaluationUpdated")];
    });
  }

  #place(key: string, evaluation: Json): void {
    const job = this.state.jobs.get(key);
    if (!job || job["Stop"]) return;
    const id = randomUUID();
    const allocation: Json = {
      ID: id,
      JobID: job["ID"],
      Namespace: job["Namespace"],
      Name: `${String(job["ID"])}.pod[0]`,
      NodeID: fakeNode.id,
      NodeName: fakeNode.name,
      ClientStatus: "pending",
      ClientDescription: "",
      DesiredStatus: "run",
      DesiredDescription: "",
      DesiredTransition: { Migrate: null, NoShutdownDelay: null, Reschedule: null },
      PreemptedByAllocation: "",
      TaskStates: null,
      CreateTime: this.#options.clock.now() * 1e6,
      AllocatedResources: { Shared: { Ports: portsOf(job) } },
      Job: job,
    };
    this.state.write(["allocs", "evals", "jobs"], (at) => {
      Object.assign(allocation, { CreateIndex: at, ModifyIndex: at });
      Object.assign(evaluation, { ModifyIndex: at, Status: "complete" });
      Object.assign(job, { Status: "running", ModifyIndex: at });
      this.state.allocs.set(id, allocation);
      return [evaluationEvent(evaluation, "PlanResult"), allocationEvent(allocation, "PlanResult")];
    });
    const runner = new AllocRunner(id, job, {
      ...this.#options,
      variable: (path) => this.state.variables.get(keyOf(path, String(job["Namespace"]))),
      variableChange: (signal) => this.#variableChange(signal),
      onUpdate: (fields) => this.#update(allocation, { ...networkOf(job, fields), ...fields }),
    });
    this.runners.set(id, runner);
    this.#end(runner.done);
  }

  /** Replaces the allocation by one of a later version. */
  #replaceAllocation(allocation: Json): void {
    const fields = { DesiredStatus: "stop", DesiredDescription: "alloc is being updated due to job update" };
    if (isTerminal(allocation)) this.#update(allocation, fields, "PlanResult");
    else this.#stopAllocation(allocation, {}, fields.DesiredDescription);
  }

  #stopAllocation(allocation: Json, fields: Json, description: string): void {
    if (isTerminal(allocation)) return;
    this.#update(allocation, { DesiredStatus: "stop", DesiredDescription: description, ...fields }, "AllocationUpdateDesiredStatus");
    const runner = this.runners.get(String(allocation["ID"]));
    if (runner) this.#end(runner.stop());
  }

  #update(allocation: Json, fields: Json, type = "AllocationUpdated"): void {
    if (!this.state.allocs.has(String(allocation["ID"]))) return;
    if (allocation["ClientStatus"] === "lost") return;
    this.state.write(["allocs"], (at) => {
      Object.assign(allocation, fields, { ModifyIndex: at, ModifyTime: this.#options.clock.now() * 1e6 });
      return [allocationEvent(allocation, type)];
    });
  }

  async #variableChange(signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<void>();
    const onAbort = (): void => aborted.resolve();
    signal.addEventListener("abort", onAbort, { once: true });
    await Promise.race([this.#variableWake.promise, aborted.promise]);
    signal.removeEventListener("abort", onAbort);
  }

  #variablesChanged(): void {
    this.#variableWake.resolve();
    this.#variableWake = Promise.withResolvers();
    for (const runner of this.runners.values()) for (const task of runner.tasks) task.refresh();
  }

  #later(work: () => void): void {
    this.#options.clock.setTimer(scheduleMs, work);
  }

  #end(work: Promise<unknown> | undefined): void {
    const done = Promise.resolve(work).finally(() => this.#ends.delete(done));
    this.#ends.add(done);
  }
}

/** Source: Nomad, `memoryOversubscriptionValidate`. */
function memoryWarning(job: Json): string {
  const [group] = job["TaskGroups"] as readonly { Name: string; Tasks: readonly { Name: string; Resources: { MemoryMaxMB?: number } }[] }[];
  const lines = (group?.Tasks ?? [])
    .filter(({ Resources }) => (Resources.MemoryMaxMB ?? 0) > 0)
    .map(({ Name }) => `* Memory oversubscription is not enabled; Task "${group?.Name}.${Name}" memory_max value will be ignored.`);
  return lines.length === 0 ? "" : `${lines.length} warning:\n\n${lines.join("\n")}`;
}

/** Reason why the only client cannot run a job; `undefined` if it can. */
function whyNot(job: Json): Json | undefined {
  const [group] = job["TaskGroups"] as readonly { Tasks: readonly { Driver: string; Resources: { CPU: number; MemoryMB: number } }[] }[];
  const sum = (field: "CPU" | "MemoryMB"): number => (group?.Tasks ?? []).reduce((total, { Resources }) => total + Resources[field], 0);
  const common = { NodesEvaluated: 1, NodesFiltered: 0, NodesExhausted: 0, ConstraintFiltered: null, DimensionExhausted: null };
  const lacking = ((job["Constraints"] ?? []) as readonly { LTarget: string; RTarget: string }[]).find(
    ({ LTarget, RTarget }) => replaceVariables(LTarget, clientAttributes) !== RTarget,
  );
  if (lacking) return { ...common, NodesFiltered: 1, ConstraintFiltered: { [`${lacking.LTarget} = ${lacking.RTarget}`]: 1 } };
  const unknown = group?.Tasks.find(({ Driver }) => Driver !== "docker" && Driver !== "raw_exec")?.Driver;
  if (unknown !== undefined) return { ...common, NodesFiltered: 1, ConstraintFiltered: { [`missing drivers "${unknown}"`]: 1 } };
  if (sum("MemoryMB") > fakeNode.memoryMB) return { ...common, NodesExhausted: 1, DimensionExhausted: { memory: 1 } };
  if (sum("CPU") > fakeNode.mhz) return { ...common, NodesExhausted: 1, DimensionExhausted: { cpu: 1 } };
  return undefined;
}

/** Network status of an allocation: one with its own network has an address after its client has created the network. */
function networkOf(job: Json, { ClientStatus }: Json): Json {
  const [group] = job["TaskGroups"] as readonly { Networks?: readonly { Mode: string }[] }[];
  if (group?.Networks?.[0]?.Mode !== "bridge" || ClientStatus !== "running") return {};
  return { NetworkStatus: { Address: fakeNode.address, AddressIPv6: "", InterfaceName: "eth0", DNS: null } };
}

/**
 * Ports of the client that are mapped to the allocation's ports. Tasks are processes of this machine, so a dynamic port is the task's own
 * port.
 */
function portsOf(job: Json): Json[] {
  const [group] = job["TaskGroups"] as readonly {
    Networks?: readonly { ReservedPorts?: readonly Json[]; DynamicPorts?: readonly Json[] }[];
  }[];
  const { ReservedPorts = [], DynamicPorts = [] } = group?.Networks?.[0] ?? {};
  return [...ReservedPorts, ...DynamicPorts.map((port) => ({ ...port, Value: port["To"] }))].map((port) => ({
    ...port,
    HostIP: fakeNode.address,
  }));
}

function isTerminal({ ClientStatus }: Json): boolean {
  return ["complete", "failed", "lost"].includes(String(ClientStatus));
}

/** Whether an allocation counts as the job's only one. Source: Nomad 2.0, `filterServerTerminalAllocs`, `filterOldTerminalAllocs`. */
function counts(allocation: Json, job: Json): boolean {
  if (job["Type"] === "batch") return allocation["Job"] === job || !isTerminal(allocation);
  return allocation["DesiredStatus"] === "run";
}

function isSameMeta(one: Json, other: Json): boolean {
  return JSON.stringify(one["Meta"]) === JSON.stringify(other["Meta"]);
}

function defaults(job: Json): Json {
  return { Priority: 50, Region: "global", Namespace: "default", ...job };
}

function withoutIndexes({
  CreateIndex: _c,
  ModifyIndex: _m,
  JobModifyIndex: _j,
  Version: _v,
  SubmitTime: _s,
  Status: _t,
  Stop: _p,
  ...rest
}: Json): string {
  return JSON.stringify(Object.entries(rest).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
