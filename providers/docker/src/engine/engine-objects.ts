import { isConflict, isNotFound } from "@virtual-kubelet/errdefs";
import type { ContainerCreateOptions } from "dockerode";
import type { DockerEngine } from "./docker-engine.ts";
import { inspectContainer } from "./engine-queries.ts";

/** Source: deadline of a container's start in cri-dockerd, four minutes. */
const startTimeoutMs = 240_000;
const removalPollMs = 100;
/** Number of checks for the end of a removal that another caller started. */
const removalPolls = 300;

/** Number of logged warnings of the engine that are remembered. */
const maxWarnings = 100;

/** Calls for the steps of a container's life. All are idempotent, as pod-runtime requires. */
export class EngineObjects {
  readonly #engine: DockerEngine;
  readonly #onRemoved: ((id: string) => Promise<void>) | undefined;
  readonly #warned = new Set<string>();

  /** @param onRemoved - called with the id of each removed container, before the removal resolves; must not reject */
  constructor(engine: DockerEngine, onRemoved?: (id: string) => Promise<void>) {
    this.#engine = engine;
    this.#onRemoved = onRemoved;
  }

  /** Creates a container; without a name the engine chooses one. @returns its id @throws ConflictError if the name is taken */
  async create(name: string | undefined, body: ContainerCreateOptions, what: string, signal: AbortSignal): Promise<string> {
    const request = { method: "POST", path: "/containers/create", query: { name }, body, what } as const;
    const { Id, Warnings } = (await this.#engine.json(request, signal)) as {
      readonly Id: string;
      readonly Warnings?: readonly string[] | null;
    };
    for (const warning of Warnings ?? []) this.#warnOnce(warning);
    return Id;
  }

  /** Starts its process. */
  async start(id: string, what: string, signal: AbortSignal): Promise<void> {
    await this.#engine.json({ method: "POST", path: `/containers/${id}/start`, what, timeoutMs: startTimeoutMs }, signal);
  }

  /** Sends a signal. @returns whether the container was running */
  async signal(id: string, name: string, signal: AbortSignal): Promise<boolean> {
    const request = {
      method: "POST",
      path: `/containers/${id}/kill`,
      query: { signal: name },
      what: `send ${name} to container ${id}`,
    } as const;
    try {
      await this.#engine.json(request, signal);
      return true;
    } catch (error) {
      // 409 if it does not run, 404 if it is gone.
      if (isNotFound(error) || isConflict(error)) return false;
      throw error;
    }
  }

  /** Resolves when the container does not run, or is gone. */
  async ended(id: string, signal: AbortSignal): Promise<void> {
    const request = {
      method: "POST",
      path: `/containers/${id}/wait`,
      query: { condition: "not-running" },
      what: `wait for container ${id}`,
    } as const;
    try {
      const body = await this.#engine.stream(request, signal);
      for await (const _ of body);
    } catch (error) {
      signal.throwIfAborted();
      if (!isNotFound(error)) throw error;
    }
  }

  /** Sends SIGKILL; resolves when it has ended. */
  async kill(id: string, signal: AbortSignal): Promise<void> {
    if (await this.signal(id, "SIGKILL", signal)) await this.ended(id, signal);
  }

  /** Removes the container with its logs and anonymous volumes, running or not. */
  async remove(id: string, signal: AbortSignal): Promise<void> {
    await this.#remove(id, signal);
    await this.#onRemoved?.(id);
  }

  async #remove(id: string, signal: AbortSignal): Promise<void> {
    const request = {
      method: "DELETE",
      path: `/containers/${id}`,
      query: { force: true, v: true },
      what: `remove container ${id}`,
    } as const;
    try {
      await this.#engine.json(request, signal);
    } catch (error) {
      if (isNotFound(error)) return;
      // Another caller removes it: wait for the end of that.
      if (!isConflict(error) || !(await this.#isRemoved(id, signal))) throw error;
    }
  }

  async #isRemoved(id: string, signal: AbortSignal): Promise<boolean> {
    for (let polls = 0; polls < removalPolls; polls++) {
      await this.#engine.clock.sleep(removalPollMs, signal);
      try {
        const { State } = await inspectContainer(this.#engine, id, signal);
        if (State.Status !== "removing") return false;
      } catch (error) {
        if (isNotFound(error)) return true;
        throw error;
      }
    }
    return false;
  }

  #warnOnce(warning: string): void {
    if (this.#warned.has(warning) || this.#warned.size >= maxWarnings) return;
    this.#warned.add(warning);
    this.#engine.logger.warn({ warning }, "the Docker engine warns; logged once");
  }
}
