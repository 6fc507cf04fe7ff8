import { isNotFound } from "@virtual-kubelet/errdefs";
import type { RuntimeContainer, RuntimeInventory, RuntimeSandbox } from "@virtual-kubelet/pod-runtime";
import type { ContainerInfo, ContainerInspectInfo } from "dockerode";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { inspectContainer, listContainers } from "../engine/engine-queries.ts";
import type { EngineLog } from "../logs/log-links.ts";
import {
  isContainer,
  readContainer,
  readInspectedSandbox,
  readListedSandbox,
  type AddressReading,
  type MainFamily,
} from "./container-reading.ts";

/** Maximum number of inspections at once. */
const inspectConcurrency = 8;

/** Maximum number of remembered containers, far more than one engine runs. */
const maxRemembered = 10_000;

export interface EngineInventoryOptions {
  /** IP family of the main address of dual-stack pods. Default: IPv4. */
  readonly mainFamily?: MainFamily | undefined;
  /** Called with the log of each inspected container that was started, before the container is returned; must not reject. */
  readonly onLog?: ((log: EngineLog) => Promise<void>) | undefined;
  /** Called with each inspection. Returns at once. */
  readonly onInspected?: ((answer: ContainerInspectInfo) => void) | undefined;
  /** Addresses of a sandbox without a network of the engine. Default: none. */
  readonly addressesOf?: ((sandboxId: string) => Promise<readonly string[]>) | undefined;
}

/**
 * The node's objects at an engine. The engine's list lacks start times and exit codes, so each container is inspected when it runs and when
 * it has ended, and remembered.
 */
export class EngineInventory {
  readonly #engine: DockerEngine;
  readonly #options: EngineInventoryOptions;
  readonly #known = new Map<string, RuntimeContainer>();

  constructor(engine: DockerEngine, options: EngineInventoryOptions = {}) {
    this.#engine = engine;
    this.#options = options;
  }

  /** As `ContainerRuntime.list`. */
  async list(labels: Readonly<Record<string, string>>, signal: AbortSignal): Promise<RuntimeInventory> {
    const listed = await this.listed(labels, signal);
    const containers = await this.#readAll(
      listed.filter(({ Labels }) => isContainer(Labels)),
      signal,
    );
    return { sandboxes: await this.#readSandboxes(listed, signal), containers };
  }

  async #readSandboxes(listed: readonly ContainerInfo[], signal: AbortSignal): Promise<RuntimeSandbox[]> {
    const sandboxes = listed.filter(({ Labels }) => !isContainer(Labels));
    const read = sandboxes.map(async (entry) => {
      // podman's list lacks networks.
      if (!isWhole(entry)) return this.#trySandbox(entry.Id, signal);
      return readListedSandbox(entry, await this.#reading(entry.Id, entry.HostConfig.NetworkMode));
    });
    return (await Promise.all(read)).filter((sandbox) => sandbox !== undefined);
  }

  /** The engine's list of containers with these labels, running or not. */
  async listed(labels: Readonly<Record<string, string>>, signal: AbortSignal): Promise<readonly ContainerInfo[]> {
    const filters = { label: Object.entries(labels).map(([name, value]) => `${name}=${value}`) };
    return listContainers(this.#engine, filters, signal);
  }

  /** As `ContainerRuntime.inspectContainer`. */
  async container(id: string, signal: AbortSignal): Promise<RuntimeContainer> {
    const inspected = await this.inspect(id, signal);
    const container = readContainer(inspected);
    if (container.state.kind !== "created")
      await this.#options.onLog?.({ id: container.id, labels: container.labels, logPath: inspected.LogPath });
    return this.#remember(container);
  }

  /** As `ContainerRuntime.inspectSandbox`. */
  async sandbox(id: string, signal: AbortSignal): Promise<RuntimeSandbox> {
    return await this.sandboxIn(await this.inspect(id, signal));
  }

  /** A sandbox from an inspection. */
  async sandboxIn(inspected: ContainerInspectInfo): Promise<RuntimeSandbox> {
    return readInspectedSandbox(inspected, await this.#reading(inspected.Id, inspected.HostConfig.NetworkMode));
  }

  async #reading(id: string, networkMode: string | undefined): Promise<AddressReading> {
    const { mainFamily: family = 4, addressesOf } = this.#options;
    return { family, others: (networkMode === "none" && (await addressesOf?.(id))) || [] };
  }

  /** Inspects a container, by id or name. @throws NotFoundError */
  async inspect(id: string, signal: AbortSignal): Promise<ContainerInspectInfo> {
    const inspected = await inspectContainer(this.#engine, id, signal);
    this.#options.onInspected?.(inspected);
    return inspected;
  }

  /** Forgets a container after a change. */
  forget(id: string): void {
    this.#known.delete(id);
  }

  /** Forgets all containers, after events were lost. */
  forgetAll(): void {
    this.#known.clear();
  }

  async #readAll(listed: readonly ContainerInfo[], signal: AbortSignal): Promise<RuntimeContainer[]> {
    const found: (RuntimeContainer | undefined)[] = listed.map((entry) => this.#recall(entry));
    const missing = [...found.keys()].filter((index) => found[index] === undefined);
    const work = async (): Promise<void> => {
      for (let index = missing.pop(); index !== undefined; index = missing.pop()) {
        found[index] = await this.#tryContainer(listed[index]?.Id ?? "", signal);
      }
    };
    await Promise.all(Array.from({ length: Math.min(inspectConcurrency, missing.length) }, work));
    return found.filter((container) => container !== undefined);
  }

  /** The remembered container, if its state has not changed. */
  #recall({ Id, State }: ContainerInfo): RuntimeContainer | undefined {
    const known = this.#known.get(Id);
    if (known?.state.kind === "exited") return State === "running" ? undefined : known;
    return known?.state.kind === "running" && State === "running" ? known : undefined;
  }

  #tryContainer(id: string, signal: AbortSignal): Promise<RuntimeContainer | undefined> {
    return this.container(id, signal).catch(undefinedIfGone);
  }

  #trySandbox(id: string, signal: AbortSignal): Promise<RuntimeSandbox | undefined> {
    return this.sandbox(id, signal).catch(undefinedIfGone);
  }

  #remember(container: RuntimeContainer): RuntimeContainer {
    this.#known.delete(container.id);
    if (container.state.kind !== "created") this.#known.set(container.id, container);
    const [oldest] = this.#known.size > maxRemembered ? this.#known.keys() : [];
    if (oldest !== undefined) this.#known.delete(oldest);
    return container;
  }
}

/** For containers that were removed since the list. */
function undefinedIfGone(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

/** Whether an entry of a list contains networks. */
function isWhole({ HostConfig, NetworkSettings }: Partial<Pick<ContainerInfo, "HostConfig" | "NetworkSettings">>): boolean {
  return HostConfig !== undefined && NetworkSettings !== undefined;
}
