import type { Clock } from "@virtual-kubelet/clock";
import type { AttachIO, ContainerLogs, ContainerStats, ExecResult, NetworkStats, RegistryCredentials } from "@virtual-kubelet/core";
import { ConflictError, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { once, EventEmitter } from "node:events";
import type {
  ContainerRuntime,
  RuntimeContainer,
  RuntimeEvent,
  RuntimeImage,
  RuntimeInventory,
  RuntimeSandbox,
  StopContainerOptions,
} from "../runtime/container-runtime.ts";
import { labelNames } from "../runtime/labels.ts";
import type { ContainerSpec, ResourceLimits, SandboxSpec } from "../runtime/runtime-spec.ts";

/** A runtime in memory. Containers run until a test ends them, also after their program has died. */
export class FakeRuntime implements ContainerRuntime {
  readonly name = "fake";
  canMountImages = true;
  readonly sandboxes: Map<string, RuntimeSandbox> = new Map<string, RuntimeSandbox>();
  readonly containers: Map<string, RuntimeContainer> = new Map<string, RuntimeContainer>();
  /** Calls in order: `startContainer c1`. */
  readonly calls: string[] = [];
  /** Containers whose process was started, in order, by their labels: `app/0`. */
  readonly begun: string[] = [];
  /** Errors of the next calls of a method. */
  readonly failures: Map<string, Error[]> = new Map<string, Error[]>();
  /** Methods that never answer and ignore their signal. */
  readonly stuck: Set<string> = new Set<string>();
  /** Promises that the next calls of a method wait for. */
  readonly held: Map<string, Promise<void>[]> = new Map<string, Promise<void>[]>();
  /** Output of containers, by id. */
  readonly outputs: Map<string, string> = new Map<string, string>();
  execExitCode = 0;
  /** Whether events are lost. */
  isMute = false;
  /** Called when a container's process has started. */
  onBegun: ((id: string, name: string) => void) | undefined;
  #ids = 0;
  readonly #clock: Clock;
  readonly #happened = new EventEmitter<{ event: [RuntimeEvent] }>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#happened.setMaxListeners(0);
  }

  /** Fails the next calls of a method with UnavailableError. */
  failNext(method: string, times = 1): void {
    this.failures.set(
      method,
      Array.from({ length: times }, () => new UnavailableError(`${method}: the runtime is away`)),
    );
  }

  /** Holds the next call of a method until the result is resolved. */
  holdNext(method: string): PromiseWithResolvers<void> {
    const gate = Promise.withResolvers<void>();
    this.held.set(method, [...(this.held.get(method) ?? []), gate.promise]);
    return gate;
  }

  /** Ends a container's process. */
  end(id: string, exitCode: number): void {
    const held = this.#held(id);
    if (held.state.kind === "exited") return;
    const startedAtMs = held.state.kind === "running" ? held.state.startedAtMs : undefined;
    this.containers.set(id, { ...held, state: { kind: "exited", exitCode, startedAtMs, finishedAtMs: this.#clock.now() } });
    if (startedAtMs !== undefined) this.#tell({ kind: "containerExited", id });
  }

  /** Ends a sandbox. As with Docker, its containers go on running. */
  endSandbox(id: string): void {
    const held = this.sandboxes.get(id);
    if (!held?.isReady) return;
    this.sandboxes.set(id, { ...held, isReady: false });
    this.#tell({ kind: "sandboxStopped", id });
  }

  /** Stops events until {@link loseEvents}. */
  leave(): void {
    this.#happened.emit("event", { kind: "away" });
  }

  /** Announces that events were lost. */
  loseEvents(): void {
    this.#happened.emit("event", { kind: "lost" });
  }

  /** Ids of the running containers, by name. */
  running(): Record<string, string> {
    return Object.fromEntries(
      [...this.containers.values()].flatMap(({ id, labels, state }) =>
        state.kind === "running" ? [[labels[labelNames.container] ?? "", id]] : [],
      ),
    );
  }

  async createSandbox({ labels }: SandboxSpec): Promise<RuntimeSandbox> {
    await this.#call("createSandbox", "");
    const sandbox = { id: `s${++this.#ids}`, labels, isReady: true, ips: ["10.0.0.1"], createdAtMs: this.#clock.now() };
    this.sandboxes.set(sandbox.id, sandbox);
    return sandbox;
  }

  async stopSandbox(id: string): Promise<void> {
    await this.#call("stopSandbox", id);
    this.#killAllIn(id);
    this.endSandbox(id);
  }

  async removeSandbox(id: string): Promise<void> {
    await this.#call("removeSandbox", id);
    this.#killAllIn(id);
    this.endSandbox(id);
    this.sandboxes.delete(id);
    for (const container of this.containers.values()) if (container.sandboxId === id) this.containers.delete(container.id);
  }

  async createContainer(sandboxId: string, { labels, imageId }: ContainerSpec): Promise<string> {
    await this.#call("createContainer", sandboxId);
    const keys = [labelNames.podUid, labelNames.container, labelNames.attempt];
    const same = [...this.containers.values()].find((held) => keys.every((key) => held.labels[key] === labels[key]));
    if (same?.sandboxId === sandboxId) return same.id;
    if (same) throw new ConflictError(`create a container: ${same.id} of another sandbox has its name`);
    if (!this.sandboxes.has(sandboxId)) throw new NotFoundError(`create a container: there is no sandbox ${sandboxId}`);
    const id = `c${++this.#ids}`;
    this.containers.set(id, { id, sandboxId, labels, image: "app:1", imageId, state: { kind: "created" } });
    return id;
  }

  async startContainer(id: string): Promise<void> {
    await this.#call("startContainer", id);
    const held = this.#held(id);
    if (held.state.kind === "running") return;
    if (held.state.kind === "exited") throw new ConflictError(`start container ${id}: it has ended`);
    if (!this.sandboxes.get(held.sandboxId)?.isReady) throw new ConflictError(`start container ${id}: its sandbox does not run`);
    const name = `${held.labels[labelNames.container]}/${held.labels[labelNames.attempt]}`;
    this.begun.push(name);
    this.containers.set(id, { ...held, state: { kind: "running", startedAtMs: this.#clock.now() } });
    this.onBegun?.(id, name);
  }

  async stopContainer(id: string, { graceMs }: StopContainerOptions, _signal?: AbortSignal): Promise<void> {
    await this.#call("stopContainer", `${id} ${graceMs}`);
    if (this.containers.has(id)) this.end(id, 143);
  }

  async killContainer(id: string): Promise<void> {
    await this.#call("killContainer", id);
    if (this.containers.get(id)?.state.kind === "running") this.end(id, 137);
  }

  async removeContainer(id: string): Promise<void> {
    await this.#call("removeContainer", id);
    if (this.containers.get(id)?.state.kind === "running") throw new ConflictError(`remove container ${id}: it runs`);
    this.containers.delete(id);
  }

  resizeContainer(id: string, _limits?: ResourceLimits): Promise<void> {
    return this.#call("resizeContainer", id);
  }

  async list(labels: Readonly<Record<string, string>>): Promise<RuntimeInventory> {
    await this.#call("list", "");
    const isOurs = (held: { readonly labels: Readonly<Record<string, string>> }): boolean =>
      Object.entries(labels).every(([name, value]) => held.labels[name] === value);
    return { sandboxes: [...this.sandboxes.values()].filter(isOurs), containers: [...this.containers.values()].filter(isOurs) };
  }

  async inspectContainer(id: string): Promise<RuntimeContainer> {
    await this.#call("inspectContainer", id);
    return this.#held(id);
  }

  async inspectSandbox(id: string): Promise<RuntimeSandbox> {
    await this.#call("inspectSandbox", id);
    const held = this.sandboxes.get(id);
    if (!held) throw new NotFoundError(`inspect sandbox ${id}: there is none`);
    return held;
  }

  async *events(signal: AbortSignal): AsyncGenerator<RuntimeEvent> {
    const queue: RuntimeEvent[] = [{ kind: "lost" }];
    const onEvent = (event: RuntimeEvent): void => void queue.push(event);
    this.#happened.on("event", onEvent);
    try {
      for (;;) {
        for (let next = queue.shift(); next; next = queue.shift()) yield next;
        signal.throwIfAborted();
        await once(this.#happened, "event", { signal }).catch(() => signal.throwIfAborted());
      }
    } finally {
      this.#happened.off("event", onEvent);
    }
  }

  async inspectImage(image: string): Promise<RuntimeImage> {
    await this.#call("inspectImage", image);
    return { id: `${image}@sha256:1`, sizeBytes: 1 };
  }

  async pullImage(image: string, _credentials?: readonly RegistryCredentials[], _signal?: AbortSignal): Promise<RuntimeImage> {
    await this.#call("pullImage", image);
    return { id: `${image}@sha256:1`, sizeBytes: 1 };
  }

  async exec(id: string, _command?: readonly string[], _io?: AttachIO, _signal?: AbortSignal): Promise<ExecResult> {
    await this.#call("exec", id);
    return { exitCode: this.execExitCode };
  }

  attach(id: string): Promise<void> {
    return this.#call("attach", id);
  }

  async logs(id: string): Promise<ContainerLogs> {
    await this.#call("logs", id);
    this.#held(id);
    const text = this.outputs.get(id) ?? "";
    return {
      data: (async function* () {
        yield text;
      })(),
    };
  }

  portForward(id: string): Promise<void> {
    return this.#call("portForward", id);
  }

  async stats(id: string): Promise<ContainerStats> {
    await this.#call("stats", id);
    const time = rfc3339(this.#clock.now());
    if (this.#held(id).state.kind !== "running") throw new NotFoundError(`measure container ${id}: it does not run`);
    // Half a core since the start of the clock.
    return {
      name: id,
      startTime: time,
      cpu: { time, usageCoreNanoSeconds: this.#clock.monotonic() * 500_000 },
      memory: { time, usageBytes: 1 },
      cgroup: { time, path: `/${id}`, processes: 3 },
    };
  }

  async ping(): Promise<void> {
    await this.#call("ping", "");
  }

  async network(id: string): Promise<NetworkStats> {
    await this.#call("network", id);
    return { time: rfc3339(this.#clock.now()), name: "eth0", rxBytes: 1, txBytes: 2 };
  }

  #tell(event: RuntimeEvent): void {
    if (!this.isMute) this.#happened.emit("event", event);
  }

  #killAllIn(sandboxId: string): void {
    for (const container of this.containers.values()) {
      if (container.sandboxId === sandboxId && container.state.kind === "running") this.end(container.id, 137);
    }
  }

  async #call(method: string, subject: string): Promise<void> {
    this.calls.push(`${method} ${subject}`.trim());
    const failure = this.failures.get(method)?.shift();
    if (failure) throw failure;
    await this.held.get(method)?.shift();
    if (this.stuck.has(method)) await new Promise<never>(() => {});
  }

  #held(id: string): RuntimeContainer {
    const held = this.containers.get(id);
    if (!held) throw new NotFoundError(`find container ${id}: there is none`);
    return held;
  }
}
