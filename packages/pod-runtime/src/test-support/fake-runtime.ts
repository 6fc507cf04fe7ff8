import type { Clock, ContainerLogs, ContainerStats, ExecResult } from "@virtual-kubelet/core";
import { NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import type {
  ContainerRuntime,
  RuntimeContainer,
  RuntimeEvent,
  RuntimeImage,
  RuntimeInventory,
  RuntimeSandbox,
} from "../runtime/container-runtime.ts";
import type { ContainerSpec, SandboxSpec } from "../runtime/runtime-spec.ts";

/** A runtime in memory. Containers run until they are told to end; what survives a program survives here. */
export class FakeRuntime implements ContainerRuntime {
  readonly name = "fake";
  readonly sandboxes: Map<string, RuntimeSandbox> = new Map<string, RuntimeSandbox>();
  readonly containers: Map<string, RuntimeContainer> = new Map<string, RuntimeContainer>();
  /** Calls in order: `startContainer c1`. */
  readonly calls: string[] = [];
  /** Errors that the next calls of a method end with. */
  readonly failures: Map<string, Error[]> = new Map<string, Error[]>();
  execExitCode = 0;
  #ids = 0;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The runtime is away for the next calls of a method. */
  failNext(method: string, times = 1): void {
    this.failures.set(
      method,
      Array.from({ length: times }, () => new UnavailableError(`${method}: the runtime is away`)),
    );
  }

  /** A container's process ends. */
  end(id: string, exitCode: number): void {
    const held = this.#held(id);
    const startedAtMs = held.state.kind === "running" ? held.state.startedAtMs : undefined;
    if (held.state.kind === "exited") return;
    this.containers.set(id, { ...held, state: { kind: "exited", exitCode, startedAtMs, finishedAtMs: this.#clock.now() } });
  }

  async createSandbox({ labels }: SandboxSpec): Promise<RuntimeSandbox> {
    await this.#call("createSandbox", "");
    const sandbox = { id: `s${++this.#ids}`, labels, isReady: true, ips: ["10.0.0.1"], createdAtMs: this.#clock.now() };
    this.sandboxes.set(sandbox.id, sandbox);
    return sandbox;
  }

  async stopSandbox(id: string): Promise<void> {
    await this.#call("stopSandbox", id);
    const held = this.sandboxes.get(id);
    if (held) this.sandboxes.set(id, { ...held, isReady: false });
    for (const container of this.containers.values()) if (container.sandboxId === id) this.end(container.id, 137);
  }

  async removeSandbox(id: string): Promise<void> {
    await this.#call("removeSandbox", id);
    this.sandboxes.delete(id);
    for (const container of this.containers.values()) if (container.sandboxId === id) this.containers.delete(container.id);
  }

  async createContainer(sandboxId: string, { labels, imageId }: ContainerSpec): Promise<string> {
    await this.#call("createContainer", sandboxId);
    const same = [...this.containers.values()].find((held) => JSON.stringify(held.labels) === JSON.stringify(labels));
    if (same) return same.id;
    const id = `c${++this.#ids}`;
    this.containers.set(id, { id, sandboxId, labels, image: "app:1", imageId, state: { kind: "created" } });
    return id;
  }

  async startContainer(id: string): Promise<void> {
    await this.#call("startContainer", id);
    this.containers.set(id, { ...this.#held(id), state: { kind: "running", startedAtMs: this.#clock.now() } });
  }

  async stopContainer(id: string, { graceMs }: { readonly graceMs: number }): Promise<void> {
    await this.#call("stopContainer", `${id} ${graceMs}`);
    this.end(id, 143);
  }

  async killContainer(id: string): Promise<void> {
    await this.#call("killContainer", id);
    this.end(id, 137);
  }

  async removeContainer(id: string): Promise<void> {
    await this.#call("removeContainer", id);
    this.containers.delete(id);
  }

  resizeContainer(id: string): Promise<void> {
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

  async *events(): AsyncGenerator<RuntimeEvent> {
    yield { kind: "lost" };
  }

  async inspectImage(image: string): Promise<RuntimeImage> {
    await this.#call("inspectImage", image);
    return { id: `${image}@sha256:1`, sizeBytes: 1 };
  }

  async pullImage(image: string): Promise<RuntimeImage> {
    await this.#call("pullImage", image);
    return { id: `${image}@sha256:1`, sizeBytes: 1 };
  }

  async exec(id: string): Promise<ExecResult> {
    await this.#call("exec", id);
    return { exitCode: this.execExitCode };
  }

  attach(id: string): Promise<void> {
    return this.#call("attach", id);
  }

  logs(id: string): Promise<ContainerLogs> {
    return Promise.reject(new NotFoundError(`read the logs of ${id}: the fake runtime keeps none`));
  }

  portForward(id: string): Promise<void> {
    return this.#call("portForward", id);
  }

  stats(id: string): Promise<ContainerStats> {
    return Promise.reject(new NotFoundError(`read the figures of ${id}: the fake runtime keeps none`));
  }

  async #call(method: string, subject: string): Promise<void> {
    this.calls.push(`${method} ${subject}`.trim());
    const failure = this.failures.get(method)?.shift();
    if (failure) throw failure;
  }

  #held(id: string): RuntimeContainer {
    const held = this.containers.get(id);
    if (!held) throw new NotFoundError(`find container ${id}: there is none`);
    return held;
  }
}
