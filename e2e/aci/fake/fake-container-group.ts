import type { Clock } from "@virtual-kubelet/clock";
import type { ContainerGroup, ContainerHost, HostFile } from "../../support/container-host/container-host.ts";
import type { Occurrence } from "./container-events.ts";
import type { ContainerGroupBody, VolumeBody } from "./container-group-body.ts";
import { FakeContainer } from "./fake-container.ts";
import { runProbe } from "./run-probe.ts";

/** Durations in milliseconds of what the service does. */
export interface GroupTimings {
  /** From the create until the group is `Creating`. */
  readonly pendingMs: number;
  /** From then until its containers are started. */
  readonly creatingMs: number;
  /** From the start of the containers until the group has its IP address. */
  readonly addressMs: number;
  /** From a delete until containers are asked to end. */
  readonly deletingMs: number;
  /** Between SIGTERM and SIGKILL. The service does not document it. */
  readonly graceMs: number;
  /** Delay before a restart, after so many restarts. */
  readonly restartMs: (restartCount: number) => number;
}

/** Timings of the order that users of the service see. The back-off is a kubelet's: 10 s, doubled up to 5 minutes. */
export const usualTimings: GroupTimings = {
  pendingMs: 2000,
  creatingMs: 8000,
  addressMs: 0,
  deletingMs: 1000,
  graceMs: 30_000,
  restartMs: (restartCount) => Math.min(10_000 * 2 ** restartCount, 300_000),
};

/** No delays except for short restarts, for tests on the machine's clock. */
export const quickTimings: GroupTimings = {
  pendingMs: 20,
  creatingMs: 20,
  addressMs: 0,
  deletingMs: 20,
  graceMs: 2000,
  restartMs: () => 500,
};

/** States in `provisioningState`. */
export type ProvisioningState =
  | "Pending"
  | "Creating"
  | "Repairing"
  | "Updating"
  | "Succeeded"
  | "Failed"
  | "Deleting"
  | "Unhealthy"
  | "Canceled";

/** Surroundings of a {@link FakeContainerGroup}. */
export interface GroupSurroundings {
  readonly clock: Clock;
  readonly host: ContainerHost;
  readonly timings: GroupTimings;
  /** Name of the group on the host; unique, also among groups of one name that follow each other. */
  readonly hostName: string;
  /** Files of an Azure file share or a git repository. */
  filesOf(volume: VolumeBody): readonly HostFile[];
  /** Starts the group's extensions when it has its address. */
  startExtensions(group: FakeContainerGroup): Promise<AsyncDisposable>;
}

/**
 * A container group as a state machine: Pending, Creating, Succeeded; then its containers live and are restarted, until it is stopped or deleted.
 * Tests move it where the service would: {@link hold}, {@link fail}, {@link repair}, {@link lose}.
 */
export class FakeContainerGroup {
  readonly name: string;
  readonly resourceGroup: string;
  readonly createdAtMs: number;
  body: ContainerGroupBody;
  /** Tags, which a PATCH or a human changes. */
  tags: Readonly<Record<string, string>>;
  provisioningState: ProvisioningState = "Pending";
  /** IP address; `undefined` before it is allocated. */
  address: string | undefined;
  isStopped = false;
  containers: FakeContainer[] = [];
  initContainers: FakeContainer[] = [];
  readonly occurrences: Occurrence[] = [];
  readonly #surroundings: GroupSurroundings;
  #life = new AbortController();
  #lives = 0;
  #host: ContainerGroup | undefined;
  #extensions: AsyncDisposable | undefined;
  #held: PromiseWithResolvers<void> | undefined;

  constructor(name: string, resourceGroup: string, body: ContainerGroupBody, surroundings: GroupSurroundings) {
    this.name = name;
    this.resourceGroup = resourceGroup;
    this.body = body;
    this.tags = body.tags ?? {};
    this.#surroundings = surroundings;
    this.createdAtMs = surroundings.clock.now();
    this.#reset();
  }

  /** All containers, those for initialization first. */
  get all(): readonly FakeContainer[] {
    return [...this.initContainers, ...this.containers];
  }

  /** Whether an operation is in progress. */
  get isTransitioning(): boolean {
    return ["Pending", "Creating", "Updating", "Repairing", "Deleting"].includes(this.provisioningState);
  }

  /** State in `instanceView.state`. */
  get state(): string {
    if (this.isStopped) return "Stopped";
    if (this.provisioningState === "Failed") return "Failed";
    if (this.provisioningState === "Repairing") return "Repairing";
    const failedInit = this.initContainers.some((container) => container.isOver && container.exitCode !== 0);
    if (failedInit) return "Failed";
    if (this.containers.every(({ isOver }) => isOver))
      return this.containers.every(({ exitCode }) => exitCode === 0) ? "Succeeded" : "Failed";
    return this.containers.some(({ last }) => last !== undefined && last.state.kind !== "pulling" && last.state.kind !== "starting")
      ? "Running"
      : "Pending";
  }

  /** Begins the group's life, and its next one after a stop. */
  begin(): void {
    this.#life = new AbortController();
    this.isStopped = false;
    this.provisioningState = "Pending";
    void this.#live(this.#life.signal).catch((error: unknown) => {
      if (!this.#life.signal.aborted) this.fail("InternalServerError", String(error));
    });
  }

  /** Keeps the group in its state of provisioning until the result is disposed. */
  hold(): Disposable {
    const held = Promise.withResolvers<void>();
    this.#held = held;
    return {
      [Symbol.dispose]: () => {
        this.#held = undefined;
        held.resolve();
      },
    };
  }

  /** Ends provisioning without success. */
  fail(name: string, message: string): void {
    this.provisioningState = "Failed";
    this.note(name, message, "Warning");
  }

  /** Moves the group to another host, as the service does after a failure: all containers start anew, with a new address. */
  async repair(): Promise<void> {
    await this.#endLife();
    this.provisioningState = "Repairing";
    this.#reset();
    this.#life = new AbortController();
    void this.#live(this.#life.signal, "Repairing").catch(() => undefined);
  }

  /** Asks all containers to end. The group stays, without an address. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.#life.abort(new Error("the group is stopped"));
    await this.#stopRuns();
    this.address = undefined;
  }

  /** Starts all containers again. */
  async restart(): Promise<void> {
    await this.stop();
    await this.#removeHost();
    this.#reset();
    this.begin();
  }

  /** Ends the group; resolves when nothing of it is left. */
  async remove(): Promise<void> {
    const { clock, timings } = this.#surroundings;
    this.provisioningState = "Deleting";
    this.#life.abort(new Error("the group is deleted"));
    await clock.sleep(timings.deletingMs);
    for (const container of this.all) if (container.last?.state.kind === "running") container.note("Killing", "Killing container with id.");
    await this.#stopRuns();
    await this.#removeHost();
  }

  /** Ends the group at once, without grace. */
  async lose(): Promise<void> {
    await this.#endLife();
  }

  /** Notes an event of the group. */
  note(name: string, message: string, type: "Normal" | "Warning" = "Normal"): void {
    this.occurrences.push({ atMs: this.#surroundings.clock.now(), name, message, type });
  }

  #reset(): void {
    const { clock } = this.#surroundings;
    const { containers, initContainers = [] } = this.body.properties;
    this.containers = containers.map((body) => new FakeContainer(body, clock));
    this.initContainers = initContainers.map((body) => new FakeContainer(body, clock));
    this.address = undefined;
  }

  async #live(signal: AbortSignal, state: ProvisioningState = "Creating"): Promise<void> {
    const { clock, host, timings, hostName } = this.#surroundings;
    await clock.sleep(timings.pendingMs, signal);
    await this.#released(signal);
    this.provisioningState = state;
    await clock.sleep(timings.creatingMs, signal);
    await this.#released(signal);
    const volumes = Object.fromEntries((this.body.properties.volumes ?? []).map((volume) => [volume.name, this.#filesOf(volume)]));
    const group = await host.createGroup({ name: `${hostName}-${this.#lives++}`, volumes });
    this.#host = group;
    if (signal.aborted) return this.#removeHost();
    for (const container of this.initContainers) if (!(await this.#initialize(container, group, signal))) return this.#settle(signal);
    for (const container of this.containers) void this.#keep(container, group, signal);
    await Promise.all(this.containers.map(async ({ last }) => last?.started));
    await clock.sleep(timings.addressMs, signal);
    this.address = group.address;
    this.#extensions = await this.#surroundings.startExtensions(this);
    if (signal.aborted) return this.#removeHost();
    this.#settle(signal);
  }

  #settle(signal: AbortSignal): void {
    if (!signal.aborted && this.provisioningState !== "Failed") this.provisioningState = "Succeeded";
  }

  /** Runs a container for initialization until it succeeds. @returns false if it failed and is not restarted */
  async #initialize(container: FakeContainer, group: ContainerGroup, signal: AbortSignal): Promise<boolean> {
    for (;;) {
      await container.run(group, this.body.properties).ended;
      signal.throwIfAborted();
      if (container.exitCode === 0) return true;
      if (this.#policy === "never") return false;
      await this.#backOff(container, signal);
    }
  }

  /** Runs a container, and restarts it according to the group's policy. */
  async #keep(container: FakeContainer, group: ContainerGroup, signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        const run = container.run(group, this.body.properties);
        const probes = new AbortController();
        const until = AbortSignal.any([signal, probes.signal]);
        const { livenessProbe, readinessProbe } = container.body.properties;
        for (const [kind, probe] of [["Liveness", livenessProbe] as const, ["Readiness", readinessProbe] as const])
          if (probe) void runProbe({ kind, probe, run, container, address: group.address, clock: this.#surroundings.clock }, until);
        const end = await run.ended;
        probes.abort(new Error("the run has ended"));
        if (signal.aborted) return;
        const isImage = end.kind === "refused" && end.why === "image";
        const restarts = isImage || this.#policy === "always" || (this.#policy === "onfailure" && container.exitCode !== 0);
        if (!restarts) return;
        await this.#backOff(container, signal);
      }
    } catch (error) {
      if (!signal.aborted) this.fail("InternalServerError", String(error));
    }
  }

  async #backOff(container: FakeContainer, signal: AbortSignal): Promise<void> {
    container.isBackingOff = true;
    container.note("BackOff", "Back-off restarting failed container", "Warning");
    try {
      await this.#surroundings.clock.sleep(this.#surroundings.timings.restartMs(container.restartCount), signal);
    } catch (error) {
      container.isBackingOff = false;
      throw error;
    }
  }

  async #stopRuns(): Promise<void> {
    await Promise.all(this.all.map(async ({ last }) => last?.stop(this.#surroundings.timings.graceMs)));
  }

  get #policy(): string {
    return (this.body.properties.restartPolicy ?? "Always").toLowerCase();
  }

  #filesOf(volume: VolumeBody): readonly HostFile[] {
    const { secret } = volume;
    if (!secret) return this.#surroundings.filesOf(volume);
    return Object.entries(secret).map(([path, content]) => ({ path, content: Buffer.from(content, "base64") }));
  }

  async #released(signal: AbortSignal): Promise<void> {
    if (this.#held) await this.#held.promise;
    signal.throwIfAborted();
  }

  async #endLife(): Promise<void> {
    this.#life.abort(new Error("the group is lost"));
    await this.#removeHost();
  }

  async #removeHost(): Promise<void> {
    const [host, extensions] = [this.#host, this.#extensions];
    this.#host = undefined;
    this.#extensions = undefined;
    await extensions?.[Symbol.asyncDispose]();
    await host?.[Symbol.asyncDispose]();
  }
}
