import type { AttachIO, DeepReadonly, ExecResult, NodeDescription, Owner, Pod, ProviderHost, ResolvedPod } from "@virtual-kubelet/core";
import { ObjectReader } from "@virtual-kubelet/core";
import { isNotFound, NotFoundError } from "@virtual-kubelet/errdefs";
import type {
  BackendLimits,
  CallBudget,
  Ending,
  EndStep,
  IdentityReading,
  LogSnapshot,
  Observation,
  ObserveContext,
  PodIdentity,
  RemoteBackend,
  RemoteDescriptions,
  RemoteListing,
  RemoteProbing,
  RemoteTarget,
  SnapshotQuery,
} from "@virtual-kubelet/remote-pods";
import { readLogs } from "./access/container-logs.ts";
import { checkExec } from "./access/exec-preconditions.ts";
import { runCommand, type ExecRunnerOptions } from "./access/exec-runner.ts";
import { openChannelSocket } from "./access/ssm/channel-socket.ts";
import { CredentialRenewal } from "./aws/credential-renewal.ts";
import { EcsApi } from "./aws/ecs-api.ts";
import type { EcsTask } from "./aws/ecs-objects.ts";
import { LogsApi } from "./aws/logs-api.ts";
import type { SdkClients } from "./aws/sdk-clients.ts";
import { backendLimits } from "./backend-limits.ts";
import type { FargateConfig } from "./config/schema.ts";
import { TaskUpkeep } from "./lifecycle/task-upkeep.ts";
import { describeNode } from "./node/describe-node.ts";
import type { TaskMemory } from "./status/task-memory.ts";
import { observeTask } from "./status/observe-task.ts";
import { ownStopReason } from "./status/stop-cause.ts";
import { DefinitionRegistry } from "./task-definitions/definition-registry.ts";
import { identityOf, startedByOf } from "./task/pod-identity.ts";
import { taskOf, type TaskRequest } from "./task/task-of.ts";

export interface FargateBackendOptions {
  readonly host: Pick<ProviderHost, "clusterId" | "nodeName" | "clock" | "random" | "logger" | "metrics" | "findPod" | "recordEvent">;
  readonly config: FargateConfig;
  readonly clients: Pick<SdkClients, "ecs" | "logs">;
  readonly budget: Pick<CallBudget, "run">;
  /** Connects to a session's streams. Default: over the network. */
  readonly openSocket?: ExecRunnerOptions["openSocket"] | undefined;
}

/** AWS Fargate as a back end that takes whole pods: a pod is a task of Amazon ECS. */
export class FargateBackend implements RemoteBackend<TaskRequest, EcsTask, TaskMemory>, AsyncDisposable {
  readonly name = "AWS Fargate";
  readonly shortName = "fargate";
  readonly limits: BackendLimits = backendLimits;
  readonly probing: RemoteProbing<EcsTask> | undefined;
  readonly #options: FargateBackendOptions;
  readonly #owner: Owner;
  readonly #ecs: EcsApi;
  readonly #logs: LogsApi;
  readonly #definitions: DefinitionRegistry;
  readonly #upkeep: TaskUpkeep;

  constructor(options: FargateBackendOptions) {
    const { host, config, clients, budget } = options;
    const { clock, logger, metrics, clusterId, nodeName } = host;
    const reader = new ObjectReader<"task">({
      logger,
      metrics,
      backEnd: "Fargate",
      idOf: () => undefined,
      countSkipped: (kind) => metrics.count("virtual_kubelet_backend_skipped_objects_total", { backend: "fargate", kind }),
    });
    this.#options = options;
    this.#owner = { clusterId, nodeName };
    this.#ecs = new EcsApi({
      client: clients.ecs,
      cluster: config.cluster,
      budget,
      renewal: new CredentialRenewal(clients.ecs, clock),
      onTask: (id, problem) => (problem === undefined ? reader.accept("task", id) : reader.skip("task", id, problem)),
    });
    this.#logs = new LogsApi({ client: clients.logs, budget, renewal: new CredentialRenewal(clients.logs, clock) });
    this.#definitions = new DefinitionRegistry({ api: this.#ecs, clock, owner: this.#owner, keepMs: config.keepTaskDefinitionsMs });
    this.#upkeep = new TaskUpkeep({ api: this.#ecs, clock, logger, host });
    // ECS runs commands as health checks, and nothing else.
    if (config.reachablePods)
      this.probing = {
        runs: (kind, container) => container[`${kind}Probe`] !== undefined && container[`${kind}Probe`]?.exec === undefined,
        endContainer: ({ id }, _failed, signal) => this.#ecs.stopTask(id, ownStopReason("unhealthy"), signal),
      };
  }

  translate(pod: DeepReadonly<Pod>, resolved: ResolvedPod, identity: PodIdentity, signal: AbortSignal): Promise<TaskRequest> {
    return taskOf(pod, resolved, { config: this.#options.config, identity }, signal);
  }

  identityOf(task: EcsTask): IdentityReading {
    return identityOf(task, this.#owner);
  }

  observe(task: EcsTask, context: ObserveContext<TaskMemory>): Observation<TaskMemory> {
    return observeTask(task, context);
  }

  async create(
    request: TaskRequest,
    { ref }: PodIdentity,
    signal: AbortSignal,
  ): Promise<{ readonly id: string; readonly remote?: EcsTask | undefined }> {
    const { id, task } = await this.#run(request, `${ref.namespace}/${ref.name}`, signal);
    for (const { reason, message } of request.notes) this.#options.host.recordEvent(ref, { type: "Normal", reason, message });
    return { id, remote: task };
  }

  async list(signal: AbortSignal): Promise<RemoteListing<EcsTask>> {
    // In this order, a task that stops meanwhile is in the second list.
    const running = await this.#ecs.listTasks({ startedBy: startedByOf(this.#owner) }, signal);
    const stopped = await this.#ecs.listTasks({ desiredStatus: "STOPPED" }, signal);
    const versions = new Map([...running.map((id) => [id, "RUNNING"] as const), ...stopped.map((id) => [id, "STOPPED"] as const)]);
    return { objects: [...versions].map(([id, version]) => ({ id, version })), problems: [] };
  }

  async describe(ids: readonly string[], signal: AbortSignal): Promise<RemoteDescriptions<EcsTask>> {
    const { found, missing } = await this.#ecs.describeTasks(ids, signal);
    for (const task of found) this.#note(task);
    return { found: found.map((task) => ({ id: task.taskArn, remote: task })), missing };
  }

  async end({ id }: RemoteTarget<EcsTask>, { isDeleted }: Ending, signal: AbortSignal): Promise<EndStep> {
    if (isDeleted) return "wait";
    await this.#ecs.stopTask(id, ownStopReason("deleted"), signal);
    return "deleted";
  }

  logSnapshot({ id }: RemoteTarget<EcsTask>, container: string, query: SnapshotQuery, signal: AbortSignal): Promise<LogSnapshot> {
    return readLogs({ api: this.#logs, config: this.#options.config }, { taskArn: id, container }, query, signal);
  }

  async exec(
    { id }: RemoteTarget<EcsTask>,
    container: string,
    command: readonly string[],
    io: AttachIO,
    signal: AbortSignal,
  ): Promise<ExecResult> {
    const { host, openSocket = openChannelSocket } = this.#options;
    const { found } = await this.#ecs.describeTasks([id], signal);
    const [task] = found;
    if (!task) throw new NotFoundError(`run a command in container ${container}: ECS does not know task ${id}`);
    checkExec(task, container);
    return runCommand(
      { api: this.#ecs, clock: host.clock, random: host.random, openSocket },
      { taskArn: id, container, command, io },
      signal,
    );
  }

  ping(signal: AbortSignal): Promise<void> {
    return this.#ecs.checkCluster(signal);
  }

  async configureNode(_signal: AbortSignal): Promise<NodeDescription> {
    return describeNode(this.#options.config);
  }

  sweep(_uids: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    return this.#definitions.sweep(signal);
  }

  /** Ends the background work. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#upkeep[Symbol.asyncDispose]();
  }

  async #run({ definition, run }: TaskRequest, pod: string, signal: AbortSignal): ReturnType<EcsApi["runTask"]> {
    const taskDefinition = await this.#definitions.ensure(definition, signal);
    try {
      return await this.#ecs.runTask({ ...run, taskDefinition }, pod, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      // Somebody has removed the definition.
      this.#definitions.forget(definition.family ?? "");
      return this.#ecs.runTask({ ...run, taskDefinition: await this.#definitions.ensure(definition, signal) }, pod, signal);
    }
  }

  #note(task: EcsTask): void {
    const reading = identityOf(task, this.#owner);
    if (reading.kind !== "pod") return;
    if (task.taskDefinitionArn !== undefined && task.lastStatus !== "STOPPED") this.#definitions.noteTask(task.taskDefinitionArn);
    this.#upkeep.look(task, reading.identity.ref);
  }
}
