import { systemClock } from "@virtual-kubelet/clock";
import { ConflictError, isConflict, isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import { z } from "zod";
import type { DockerEngine } from "../../../providers/docker/src/engine/docker-engine.ts";
import type { ContainerRun, HostSession, HostTerminalSize, LogLine, RunSpec, RunUsage } from "./container-host.ts";
import { openDockerSession } from "./docker-session.ts";
import { readLogLines } from "./log-lines.ts";
import { HostRun } from "./host-run.ts";

/** Names of a run's objects on the engine. */
export interface DockerRunPlace {
  readonly containerName: string;
  /** Container whose network the run shares. */
  readonly pauseId: string;
  readonly cgroupParent: string | undefined;
  volumeName(volume: string): string;
}

const createdSchema = z.object({ Id: z.string() });
const inspectedSchema = z.object({
  State: z.object({ ExitCode: z.number(), OOMKilled: z.boolean(), StartedAt: z.string(), FinishedAt: z.string() }),
});
const statsSchema = z.object({
  cpu_stats: z.object({ cpu_usage: z.object({ total_usage: z.number() }) }),
  memory_stats: z.object({ usage: z.number().optional() }),
});

/** A run as a container of a Docker engine. */
export class DockerRun extends HostRun implements ContainerRun {
  readonly #engine: DockerEngine;
  readonly #place: DockerRunPlace;
  readonly #over = new AbortController();
  readonly #life: Promise<void>;
  #id: string | undefined;
  #stopGraceMs: number | undefined;

  constructor(engine: DockerEngine, spec: RunSpec, place: DockerRunPlace) {
    super(spec, { kind: "pulling", sinceMs: systemClock.now() });
    this.#engine = engine;
    this.#place = place;
    this.#life = this.#live().catch((error: unknown) => this.#refuse("start", messageOf(error)));
  }

  async log(): Promise<readonly LogLine[]> {
    if (this.#id === undefined) return [];
    const hasTerminal = this.spec.hasTerminal === true;
    const path = `/containers/${this.#id}/logs`;
    // A terminal has one stream, which the engine stores as standard output.
    const streams = hasTerminal ? (["stdout"] as const) : (["stdout", "stderr"] as const);
    const lines = await Promise.all(
      streams.map(async (stream) => {
        const request = { method: "GET", path, query: { [stream]: true, timestamps: true } } as const;
        return readLogLines(await this.#engine.stream(request, this.#over.signal), { stream, hasTerminal });
      }),
    );
    return lines.flat().toSorted((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
  }

  async exec(command: readonly string[], { terminal }: { readonly terminal?: HostTerminalSize | undefined }): Promise<HostSession> {
    const id = this.#running();
    const signal = this.#over.signal;
    const body = { Cmd: command, AttachStdin: true, AttachStdout: true, AttachStderr: true, Tty: terminal !== undefined };
    const { Id } = createdSchema.parse(await this.#engine.json({ method: "POST", path: `/containers/${id}/exec`, body }, signal));
    const start = { method: "POST", path: `/exec/${Id}/start`, body: { Detach: false, Tty: terminal !== undefined } } as const;
    const session = await openDockerSession(this.#engine, start, { execId: Id, isRaw: terminal !== undefined }, signal);
    if (terminal) await session.resize(terminal).catch(() => undefined);
    return session;
  }

  async attach(): Promise<HostSession> {
    const id = this.#running();
    const query = { stream: true, stdin: this.spec.hasInput === true, stdout: true, stderr: true };
    const start = { method: "POST", path: `/containers/${id}/attach`, query } as const;
    const exitCode = this.ended.then((end) => (end.kind === "exited" ? end.exitCode : 1));
    const isRaw = this.spec.hasTerminal === true;
    return openDockerSession(this.#engine, start, { containerId: id, isRaw, exitCode }, this.#over.signal);
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopGraceMs = graceMs;
    if (this.state.kind === "running" && this.#id !== undefined) {
      const [path, method] = [`/containers/${this.#id}`, "POST"] as const;
      const query = { t: Math.ceil(graceMs / 1000) };
      // A stop without grace sends SIGTERM first, to which the container may answer.
      const request = graceMs > 0 ? { method, path: `${path}/stop`, query, timeoutMs: graceMs + 60_000 } : { method, path: `${path}/kill` };
      await this.#engine.json(request, this.#over.signal).catch(ignoreEnded);
    }
    await this.ended;
  }

  async usage(): Promise<RunUsage | undefined> {
    if (this.state.kind !== "running" || this.#id === undefined) return undefined;
    const query = { stream: false, "one-shot": true };
    const answer = await this.#engine.json({ method: "GET", path: `/containers/${this.#id}/stats`, query }, this.#over.signal);
    const { cpu_stats, memory_stats } = statsSchema.parse(answer);
    return { cpuNanoseconds: cpu_stats.cpu_usage.total_usage, memoryBytes: memory_stats.usage ?? 0 };
  }

  /** Kills the container and removes it with its log. */
  async remove(): Promise<void> {
    this.#stopGraceMs = 0;
    if (this.#id !== undefined) await this.#delete(this.#id);
    await this.#life;
    // The container may have been created meanwhile.
    if (this.#id !== undefined) await this.#delete(this.#id);
    this.#over.abort(new Error(`container ${this.spec.name} is removed`));
  }

  async #live(): Promise<void> {
    const { signal } = this.#over;
    try {
      await this.#engine.json({ method: "GET", path: `/images/${this.spec.image}/json` }, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return this.#refuse("image", `image ${this.spec.image} is not on the engine, and is not pulled`);
    }
    this.add({ kind: "starting", sinceMs: systemClock.now() });
    const path = "/containers/create";
    const query = { name: this.#place.containerName };
    const created = await this.#engine.json({ method: "POST", path, query, body: this.#body() }, signal);
    const id = createdSchema.parse(created).Id;
    this.#id = id;
    if (this.#stopGraceMs !== undefined) return this.#refuse("start", "the container was stopped before it started");
    await this.#engine.json({ method: "POST", path: `/containers/${id}/start` }, signal);
    this.add({ kind: "running", startedAtMs: systemClock.now() });
    // The wait has no deadline, as a stream has none.
    const waiting = await this.#engine.stream({ method: "POST", path: `/containers/${id}/wait` }, signal);
    if (this.#stopGraceMs !== undefined) void this.stop(this.#stopGraceMs);
    for await (const _chunk of waiting);
    await this.#end(id);
  }

  async #end(id: string): Promise<void> {
    const removed = {
      kind: "exited",
      exitCode: 137,
      startedAtMs: systemClock.now(),
      endedAtMs: systemClock.now(),
      isOutOfMemory: false,
    } as const;
    const answer = await this.#engine.json({ method: "GET", path: `/containers/${id}/json` }, this.#over.signal).catch(ignoreMissing);
    if (answer === undefined) return this.add(removed);
    const { ExitCode, OOMKilled, StartedAt, FinishedAt } = inspectedSchema.parse(answer).State;
    const [startedAtMs, endedAtMs] = [Date.parse(StartedAt), Date.parse(FinishedAt)];
    this.add({ kind: "exited", exitCode: ExitCode, startedAtMs, endedAtMs, isOutOfMemory: OOMKilled });
  }

  #body(): object {
    const { image, entrypoint, command, environment = {}, workingDirectory, user, mounts = [], memoryBytes, cpus } = this.spec;
    const { pauseId, cgroupParent, volumeName } = this.#place;
    return {
      Image: image,
      ...(entrypoint && { Entrypoint: entrypoint, Cmd: command ?? [] }),
      ...(!entrypoint && command && { Cmd: command }),
      Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
      ...(workingDirectory !== undefined && { WorkingDir: workingDirectory }),
      ...(user !== undefined && { User: user }),
      OpenStdin: this.spec.hasInput === true,
      Tty: this.spec.hasTerminal === true,
      HostConfig: {
        NetworkMode: `container:${pauseId}`,
        Binds: mounts.map(({ volume, path, isReadOnly }) => `${volumeName(volume)}:${path}${isReadOnly === true ? ":ro" : ""}`),
        ...(memoryBytes !== undefined && { Memory: memoryBytes, MemorySwap: memoryBytes }),
        ...(cpus !== undefined && { NanoCpus: Math.round(cpus * 1e9) }),
        ...(cgroupParent !== undefined && { CgroupParent: cgroupParent }),
      },
    };
  }

  async #delete(id: string): Promise<void> {
    const query = { force: true, v: true };
    await this.#engine.json({ method: "DELETE", path: `/containers/${id}`, query }, this.#over.signal).catch(ignoreMissing);
  }

  #refuse(why: "image" | "start", message: string): void {
    this.add({ kind: "refused", why, message, endedAtMs: systemClock.now() });
  }

  #running(): string {
    if (this.state.kind !== "running" || this.#id === undefined)
      throw new ConflictError(`use container ${this.spec.name}: it does not run`);
    return this.#id;
  }
}

/** A container that has ended meanwhile is missing, or is no longer running. */
function ignoreEnded(error: unknown): undefined {
  if (!isConflict(error)) return ignoreMissing(error);
}

function ignoreMissing(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}
