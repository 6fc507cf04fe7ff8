import type { RunTaskRequest, Tag } from "@aws-sdk/client-ecs";
import type { Random } from "@virtual-kubelet/clock";
import { AwsError, invalidParameter } from "../api/aws-error.ts";
import { FakeContainer } from "../tasks/fake-container.ts";
import { FakeTask, type TaskStop } from "../tasks/fake-task.ts";
import { TaskRunner, type TaskSurroundings } from "../tasks/task-runner.ts";
import { account, ecsArn, region } from "./arns.ts";
import type { Clusters, FakeCluster } from "./clusters.ts";
import { cpuUnits } from "./fargate-sizes.ts";
import { takePage } from "./pages.ts";
import type { FakeTaskDefinition, TaskDefinitions } from "./task-definitions.ts";
import { validateRunTask } from "./validate-run-task.ts";
import { validateTags } from "./validate-task-definition.ts";

/** Milliseconds for which a stopped task is still described. */
const keepsStoppedMs = 3_600_000;

/** Settings of the account that tests change. */
export interface TaskSettings {
  /** Milliseconds after RunTask in which lists and describes do not have the task yet. */
  visibleAfterMs: number;
  /** vCPUs that may run at once; `undefined`: no quota. */
  vcpuQuota?: number;
  /** Subnets that exist; `undefined`: every subnet exists. */
  subnets?: ReadonlySet<string>;
  /** While set, RunTask answers with this reason in `failures`, and runs nothing. */
  noCapacity?: string;
}

interface Entry {
  readonly task: FakeTask;
  readonly runner: TaskRunner;
  readonly finished: Promise<void>;
}

/** The account's tasks, and the operations on them. */
export class Tasks {
  readonly settings: TaskSettings = { visibleAfterMs: 2000 };
  readonly #entries = new Map<string, Entry>();
  readonly #tokens = new Map<string, { readonly request: string; readonly arns: readonly string[] }>();
  readonly #clusters: Clusters;
  readonly #definitions: TaskDefinitions;
  readonly #around: TaskSurroundings;
  readonly #random: Random;

  constructor(clusters: Clusters, definitions: TaskDefinitions, around: TaskSurroundings, random: Random) {
    this.#clusters = clusters;
    this.#definitions = definitions;
    this.#around = around;
    this.#random = random;
  }

  /** Tasks that are not forgotten yet, in the order of their creation. */
  get all(): readonly FakeTask[] {
    const nowMs = this.#around.clock.now();
    for (const [arn, { task }] of this.#entries) if (nowMs - (task.times.stoppedAt ?? nowMs) > keepsStoppedMs) this.#entries.delete(arn);
    return [...this.#entries.values()].map(({ task }) => task);
  }

  run(request: RunTaskRequest): object {
    const cluster = this.#clusters.get(request.cluster);
    const { clientToken } = request;
    const text = JSON.stringify(sorted(request));
    const known = clientToken === undefined ? undefined : this.#tokens.get(clientToken);
    if (known !== undefined && known.request !== text)
      throw new AwsError("ConflictException", "The provided clientToken is already in use with a different RunTask request.", {
        resourceIds: known.arns,
      });
    if (known !== undefined) {
      const tasks = known.arns.flatMap((arn) => this.#entries.get(arn)?.task ?? []);
      return { tasks: tasks.map((task) => task.toWire({ withTags: true })), failures: [] };
    }
    const definition = this.#definitions.find(request.taskDefinition ?? "");
    validateRunTask(request, cluster, definition, this.settings.subnets);
    if (this.settings.noCapacity !== undefined) return { tasks: [], failures: [{ reason: this.settings.noCapacity }] };
    this.#checkQuota(request, definition);
    const tasks = Array.from({ length: request.count ?? 1 }, () => this.#launch(request, cluster, definition));
    if (clientToken !== undefined) this.#tokens.set(clientToken, { request: text, arns: tasks.map(({ spec }) => spec.arn) });
    return { tasks: tasks.map((task) => task.toWire({ withTags: true })), failures: [] };
  }

  describe(request: { readonly cluster?: string; readonly tasks?: readonly string[]; readonly include?: readonly string[] }): object {
    const cluster = this.#clusters.get(request.cluster);
    const { tasks = [], include = [] } = request;
    if (tasks.length === 0) throw invalidParameter("Tasks cannot be empty.");
    if (tasks.length > 100) throw invalidParameter("Tasks cannot have more than 100 elements.");
    const arns = tasks.map((task) => (task.startsWith("arn:") ? task : ecsArn(`task/${cluster.name}/${task}`)));
    const visible = new Map(this.#visible(cluster).map((task) => [task.spec.arn, task]));
    return {
      tasks: arns.flatMap((arn) => visible.get(arn)?.toWire({ withTags: include.includes("TAGS") }) ?? []),
      failures: arns.filter((arn) => !visible.has(arn)).map((arn) => ({ arn, reason: "MISSING" })),
    };
  }

  list(request: {
    readonly cluster?: string;
    readonly family?: string;
    readonly startedBy?: string;
    readonly desiredStatus?: string;
    readonly launchType?: string;
    readonly serviceName?: string;
    readonly containerInstance?: string;
    readonly maxResults?: number;
    readonly nextToken?: string;
  }): object {
    const cluster = this.#clusters.get(request.cluster);
    const { family, startedBy, desiredStatus, launchType, serviceName, containerInstance } = request;
    const others = [family, desiredStatus, launchType, serviceName, containerInstance].filter((filter) => filter !== undefined);
    if (startedBy !== undefined && others.length > 0)
      throw invalidParameter("When you specify startedBy as the filter, it must be the only filter that you use.");
    const listed = this.#visible(cluster).filter(
      (task) =>
        task.desiredStatus === (desiredStatus ?? "RUNNING") &&
        (startedBy === undefined || task.spec.request.startedBy === startedBy) &&
        (family === undefined || task.spec.definition.family === family) &&
        (launchType === undefined || launchType === "FARGATE") &&
        serviceName === undefined &&
        containerInstance === undefined,
    );
    const { page, nextToken } = takePage(listed, ({ spec }) => spec.arn, request);
    return { taskArns: page.map(({ spec }) => spec.arn), ...(nextToken !== undefined && { nextToken }) };
  }

  /** Stops a task, and deletes its tags, as AWS documents. A task that has stopped stays as it is. */
  stop(request: { readonly cluster?: string; readonly task?: string; readonly reason?: string }): object {
    const task = this.find(request.cluster, request.task ?? "");
    if ((request.reason?.length ?? 0) > 1024) throw invalidParameter("The reason can have at most 1024 characters.");
    task.tags = [];
    this.end(task, { code: "UserInitiated", reason: request.reason ?? "Task stopped by user" });
    return { task: task.toWire({ withTags: true }) };
  }

  /** Stops a task for a reason of AWS, such as a Spot interruption. */
  end(task: FakeTask, stop: TaskStop): void {
    this.#entries.get(task.spec.arn)?.runner.stop(stop);
  }

  /** Forgets a task at once, as if it had never been; its containers end. */
  async lose(task: FakeTask): Promise<void> {
    const entry = this.#entries.get(task.spec.arn);
    this.#entries.delete(task.spec.arn);
    entry?.runner.stop({ code: "TerminationNotice", reason: "lost" });
    await entry?.finished;
  }

  /** Interrupts a task on Fargate Spot. @throws Error if it does not run there */
  interruptSpot(task: FakeTask): void {
    if (task.spec.capacityProvider !== "FARGATE_SPOT") throw new Error(`${task.spec.arn} does not run on Fargate Spot`);
    this.end(task, { code: "SpotInterruption", reason: "Your Spot Task was interrupted." });
  }

  tag(arn: string, change: (tags: readonly Tag[]) => readonly Tag[]): void {
    const task = this.all.find(({ spec }) => spec.arn === arn);
    if (task === undefined) throw invalidParameter("The specified task was not found. Specify a valid task and try again.");
    if (task.lastStatus === "STOPPED") throw invalidParameter("The specified task is stopped. Specify a running task and try again.");
    const tags = change(task.tags);
    validateTags(tags);
    task.tags = tags;
  }

  /** @throws AwsError `InvalidParameterException` if the cluster has no such task, or does not show it yet */
  find(cluster: string | undefined, name: string): FakeTask {
    const own = this.#clusters.get(cluster);
    const id = name.split("/").at(-1);
    const task = this.#visible(own).find(({ spec }) => (name.startsWith("arn:") ? spec.arn === name : spec.id === id));
    if (task === undefined) throw invalidParameter("The referenced task was not found.");
    return task;
  }

  count(cluster: FakeCluster): { readonly running: number; readonly pending: number } {
    const tasks = this.all.filter(({ spec }) => spec.cluster === cluster);
    return {
      running: tasks.filter(({ lastStatus }) => lastStatus === "RUNNING").length,
      pending: tasks.filter(({ lastStatus }) => ["PROVISIONING", "PENDING", "ACTIVATING"].includes(lastStatus)).length,
    };
  }

  #visible(cluster: FakeCluster): readonly FakeTask[] {
    const { visibleAfterMs } = this.settings;
    const nowMs = this.#around.clock.now();
    return this.all.filter(({ spec, times }) => spec.cluster === cluster && nowMs - times.createdAt >= visibleAfterMs);
  }

  #checkQuota(request: RunTaskRequest, definition: FakeTaskDefinition): void {
    const { vcpuQuota } = this.settings;
    if (vcpuQuota === undefined) return;
    const units = (task: { readonly request: RunTaskRequest; readonly definition: FakeTaskDefinition }): number =>
      cpuUnits(task.request.overrides?.cpu ?? task.definition.request.cpu ?? "0");
    const used = this.all.filter(({ lastStatus }) => lastStatus !== "STOPPED").reduce((sum, { spec }) => sum + units(spec), 0);
    if (used + units({ request, definition }) * (request.count ?? 1) > vcpuQuota * 1024)
      throw new AwsError("ClientException", "You've reached the limit on the number of vCPUs you can run concurrently");
  }

  #launch(request: RunTaskRequest, cluster: FakeCluster, definition: FakeTaskDefinition): FakeTask {
    const id = this.#random.uuid().replaceAll("-", "");
    const hex = (): string => this.#random.uuid().replaceAll("-", "");
    const containers = (definition.request.containerDefinitions ?? []).map((container) => {
      const override = request.overrides?.containerOverrides?.find(({ name }) => name === container.name) ?? {};
      return new FakeContainer(
        container,
        override,
        `arn:aws:ecs:${region}:${account}:container/${cluster.name}/${id}/${this.#random.uuid()}`,
      );
    });
    const nowMs = this.#around.clock.now();
    if (request.enableExecuteCommand) for (const container of containers) container.agent = { status: "PENDING", sinceMs: nowMs };
    const spec = {
      id,
      arn: ecsArn(`task/${cluster.name}/${id}`),
      cluster,
      definition,
      request: structuredClone(request),
      capacityProvider: request.capacityProviderStrategy?.[0]?.capacityProvider,
      containers,
      networkInterface: {
        attachmentId: this.#random.uuid(),
        subnetId: request.networkConfiguration?.awsvpcConfiguration?.subnets?.[0] ?? "",
        interfaceId: `eni-${hex().slice(0, 17)}`,
        macAddress: `0a:${hex()
          .slice(0, 10)
          .replace(/(..)(?=.)/g, "$1:")}`,
        status: "PRECREATED" as const,
        ip: undefined,
      },
    };
    const task = new FakeTask(spec, nowMs);
    const runner = new TaskRunner(task, this.#around);
    this.#entries.set(spec.arn, { task, runner, finished: runner.run() });
    return task;
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, entry]) => [key, sorted(entry)]));
}
