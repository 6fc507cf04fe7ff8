import type { Clock } from "@virtual-kubelet/clock";
import {
  hasEnded,
  type ContainerGroup,
  type ContainerHost,
  type ContainerRun,
  type RunEnd,
} from "../../../support/container-host/container-host.ts";
import type { FakeLogs } from "../logs/fake-logs.ts";
import { attachLogs } from "./container-logs.ts";
import { canStop, notStartedCode, shouldRestart, startDecision } from "./container-order.ts";
import type { FakeContainer } from "./fake-container.ts";
import type { FakeTask, TaskStatus, TaskStop } from "./fake-task.ts";
import { checkHealth } from "./health-check.ts";
import { runSpecOf, type SecretStore } from "./run-spec.ts";
import type { TaskTimings } from "./task-timings.ts";

/** What tasks run on. */
export interface TaskSurroundings {
  readonly clock: Clock;
  readonly host: ContainerHost;
  readonly logs: FakeLogs;
  readonly secrets: SecretStore;
  /** Read at each step. */
  readonly timings: TaskTimings;
}

/** Seconds between SIGTERM and SIGKILL unless the container says otherwise. */
const defaultStopTimeoutSeconds = 30;

/** Brings a task through its life: network, containers in their order, restarts, and the end. */
export class TaskRunner {
  readonly #task: FakeTask;
  readonly #around: TaskSurroundings;
  readonly #stop = Promise.withResolvers<void>();
  readonly #stopping = new AbortController();
  #changed = Promise.withResolvers<void>();
  #group: ContainerGroup | undefined;

  constructor(task: FakeTask, around: TaskSurroundings) {
    this.#task = task;
    this.#around = around;
  }

  /** Runs the task; resolves when it is STOPPED. */
  async run(): Promise<void> {
    const flows = await this.#start().catch((error: unknown) => this.#failed(error));
    await this.#stop.promise;
    await this.#end(flows);
  }

  /** Asks the task to stop. The first reason counts. */
  stop(stop: TaskStop): void {
    if (this.#task.desiredStatus === "STOPPED") return;
    this.#change(() => {
      this.#task.desiredStatus = "STOPPED";
      this.#task.stop = stop;
      this.#task.times.stoppingAt = this.#around.clock.now();
    });
    this.#stopping.abort();
    this.#stop.resolve();
  }

  async #start(): Promise<readonly Promise<void>[]> {
    const { clock, timings, host } = this.#around;
    const { spec } = this.#task;
    const { signal } = this.#stopping;
    await clock.sleep(timings.provisioningMs, signal);
    const volumes = Object.fromEntries((spec.definition.request.volumes ?? []).map(({ name = "" }) => [name, []]));
    this.#group = await host.createGroup({ name: spec.id, volumes });
    this.#change(() => (spec.networkInterface.status = "ATTACHED"));
    this.#setStatus("PENDING");
    void this.#showAddress(this.#group.address);
    await clock.sleep(timings.pendingMs, signal);
    this.#change(() => (this.#task.times.connectivityAt = clock.now()));
    this.#checkResources();
    const flows = spec.containers.map((container) => this.#runContainer(container));
    void this.#becomeRunning().catch(() => {});
    return flows;
  }

  /** A task whose start was interrupted has no containers that run. */
  #failed(error: unknown): readonly Promise<void>[] {
    if (!this.#stopping.signal.aborted)
      this.stop({ code: "TaskFailedToStart", reason: error instanceof Error ? error.message : String(error) });
    return [];
  }

  async #showAddress(address: string): Promise<void> {
    const { clock, timings } = this.#around;
    if (timings.addressMs > 0) await clock.sleep(timings.addressMs);
    this.#change(() => (this.#task.spec.networkInterface.ip = address));
  }

  /** @throws Error with AWS's words if a secret or a log group does not exist */
  #checkResources(): void {
    for (const { definition } of this.#task.spec.containers) {
      for (const { valueFrom = "" } of definition.secrets ?? [])
        if (!this.#around.secrets.has(valueFrom))
          throw new Error(
            `ResourceInitializationError: unable to pull secrets or registry auth: execution resource retrieval failed: unable to retrieve secret from asm: service call has been retried 1 time(s): failed to fetch secret ${valueFrom}: ResourceNotFoundException: Secrets Manager can't find the specified secret.`,
          );
      const { logDriver, options = {} } = definition.logConfiguration ?? {};
      if (
        logDriver === "awslogs" &&
        options["awslogs-create-group"] !== "true" &&
        !this.#around.logs.hasGroup(options["awslogs-group"] ?? "")
      )
        throw new Error(
          "ResourceInitializationError: failed to validate logger args: create stream has been retried 1 times: failed to create Cloudwatch log stream: ResourceNotFoundException: The specified log group does not exist. : exit status 1",
        );
    }
  }

  /** RUNNING follows once every container runs, or has already ended. Source: amazon-ecs-agent, `updateTaskKnownStatus`. */
  async #becomeRunning(): Promise<void> {
    const { clock, timings } = this.#around;
    const { signal } = this.#stopping;
    while (this.#task.spec.containers.some(({ lastStatus }) => lastStatus === "PENDING")) await this.#nextChange();
    if (signal.aborted) return;
    this.#setStatus("ACTIVATING");
    await clock.sleep(timings.activatingMs, signal);
    this.#task.times.startedAt = clock.now();
    this.#setStatus("RUNNING");
  }

  async #runContainer(container: FakeContainer): Promise<void> {
    const { clock, timings } = this.#around;
    const { containers } = this.#task.spec;
    for (;;) {
      if (this.#stopping.signal.aborted) return this.#ended(container, {});
      const decision = startDecision(container, containers, clock.now());
      if (decision.kind === "ready") break;
      if (decision.kind === "never")
        return this.#ended(container, { exitCode: notStartedCode, reason: `CannotStartContainerError: dependency graph: ${decision.why}` });
      await Promise.race([this.#nextChange(), this.#dependencyTimeout(container)]);
    }
    let lastStartMs: number | undefined;
    for (;;) {
      const run = this.#begin(container);
      const end = await this.#follow(container, run);
      if (end.kind === "refused") return this.#refused(container, end);
      const since = clock.now() - (lastStartMs ?? end.startedAtMs);
      if (this.#stopping.signal.aborted || !shouldRestart(container, end.exitCode, since))
        return this.#ended(container, {
          exitCode: end.exitCode,
          ...(end.isOutOfMemory && { reason: "OutOfMemoryError: Container killed due to memory usage" }),
        });
      await clock.sleep(timings.restartMs);
      if (this.#stopping.signal.aborted) return this.#ended(container, { exitCode: end.exitCode });
      lastStartMs = clock.now();
    }
  }

  #begin(container: FakeContainer): ContainerRun {
    const { clock, logs, secrets } = this.#around;
    const { times, spec } = this.#task;
    if (this.#group === undefined) throw new Error("the task has no network yet");
    container.runtimeId ??= `${spec.id}-${String(spec.containers.indexOf(container) + 1).padStart(10, "0")}`;
    this.#change(() => (times.pullStartedAt ??= clock.now()));
    const run = this.#group.run(runSpecOf(spec, container, secrets));
    container.runs.push(run);
    attachLogs(logs, container, run, spec.id);
    return run;
  }

  /** Follows a run to its end, and shows what it does. */
  async #follow(container: FakeContainer, run: ContainerRun): Promise<RunEnd> {
    const { clock, timings } = this.#around;
    const { times, spec } = this.#task;
    while (run.state.kind === "pulling" || run.state.kind === "starting") {
      const isPulled = spec.containers.every((each) => each.run !== undefined && each.run.state.kind !== "pulling");
      if (isPulled && times.pullStoppedAt === undefined) this.#change(() => (times.pullStoppedAt = clock.now()));
      await Promise.race([clock.sleep(timings.lookMs), run.ended]);
    }
    if (run.state.kind === "refused") return run.ended;
    if (spec.containers.every((each) => each.run !== undefined)) times.pullStoppedAt ??= clock.now();
    this.#change(() => {
      container.lastStatus = "RUNNING";
      container.startedAtMs ??= clock.now();
    });
    using checks = abortOnDispose();
    if (container.definition.healthCheck && !hasEnded(run.state))
      void checkHealth(run, container.definition.healthCheck, { clock, signal: checks.signal }, (health) =>
        this.#change(() => (container.health = health)),
      );
    void this.#startAgent(container, checks.signal);
    return await run.ended;
  }

  async #startAgent(container: FakeContainer, signal: AbortSignal): Promise<void> {
    const { clock, timings } = this.#around;
    if (container.agent?.status !== "PENDING") return;
    await clock.sleep(timings.agentMs, signal).catch(() => {});
    if (!signal.aborted) this.#change(() => (container.agent = { status: "RUNNING", sinceMs: clock.now() }));
  }

  #refused(container: FakeContainer, { why, message }: RunEnd & { readonly kind: "refused" }): void {
    // A run that was never begun because the task ends is not a failure.
    if (this.#stopping.signal.aborted) return this.#ended(container, {});
    const reason = `${why === "image" ? "CannotPullContainerError" : "CannotStartContainerError"}: ${message}`;
    if (container.isEssential && this.#task.times.startedAt === undefined) this.stop({ code: "TaskFailedToStart", reason });
    this.#ended(container, { reason, ...(why === "start" && { exitCode: 127 }) });
  }

  #ended(container: FakeContainer, end: { readonly exitCode?: number; readonly reason?: string }): void {
    this.#change(() => {
      container.lastStatus = "STOPPED";
      container.exitCode = end.exitCode;
      container.reason = end.reason;
      container.health = "UNKNOWN";
      if (container.agent) container.agent = { status: "STOPPED", sinceMs: this.#around.clock.now() };
    });
    if (container.isEssential) this.stop({ code: "EssentialContainerExited", reason: "Essential container in task exited" });
  }

  async #end(flows: readonly Promise<void>[]): Promise<void> {
    const { clock, timings } = this.#around;
    const { times, spec } = this.#task;
    if (this.#task.lastStatus === "RUNNING") {
      this.#setStatus("DEACTIVATING");
      await clock.sleep(timings.deactivatingMs);
    }
    this.#setStatus("STOPPING");
    this.#notify();
    await Promise.all([...flows, ...spec.containers.map((container) => this.#stopContainer(container))]);
    for (const container of spec.containers) if (container.lastStatus !== "STOPPED") this.#ended(container, {});
    times.executionStoppedAt = clock.now();
    this.#setStatus("DEPROVISIONING");
    await clock.sleep(timings.deprovisioningMs);
    await this.#group?.[Symbol.asyncDispose]();
    spec.networkInterface.status = "DELETED";
    times.stoppedAt = clock.now();
    this.#setStatus("STOPPED");
  }

  async #stopContainer(container: FakeContainer): Promise<void> {
    const { containers } = this.#task.spec;
    const { timings } = this.#around;
    while (!canStop(container, containers)) await this.#nextChange();
    await container.run?.stop((container.definition.stopTimeout ?? defaultStopTimeoutSeconds) * timings.stopSecondMs);
  }

  #setStatus(status: TaskStatus): void {
    this.#change(() => (this.#task.lastStatus = status));
  }

  #change(change: () => void): void {
    change();
    this.#task.version++;
    this.#notify();
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  #nextChange(): Promise<void> {
    return this.#changed.promise;
  }

  /** Resolves after a second, if a dependency of the container may time out; never otherwise. */
  async #dependencyTimeout({ definition }: FakeContainer): Promise<void> {
    const names = (definition.dependsOn ?? []).map(({ containerName }) => containerName);
    const others = this.#task.spec.containers.filter(({ name }) => names.includes(name));
    if (others.some((other) => other.definition.startTimeout !== undefined)) await this.#around.clock.sleep(1000);
    else await new Promise(() => {});
  }
}

function abortOnDispose(): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  return { signal: controller.signal, [Symbol.dispose]: () => controller.abort() };
}
