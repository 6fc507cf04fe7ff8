import { ConflictError, isConflict, isNotFound } from "@virtual-kubelet/errdefs";
import type { WebSocket } from "ws";
import { jsonObjects } from "./json-objects.ts";
import type { NomadAnswer, NomadHttp, NomadRequest } from "./nomad-http.ts";
import type { Allocation, AllocationStats, Evaluation, EventFrame, JobStub, NomadJob, NomadNode, NomadVariable } from "./types.ts";

/** How many entries of a list are asked for at once. */
const pageSize = 1000;

/** A list, and the index from which on it has changed. */
export interface IndexedList<T> {
  readonly items: readonly T[];
  readonly index: number;
}

/** Which part of a log is wanted. */
export interface LogRequest {
  readonly task: string;
  readonly type: "stdout" | "stderr";
  /** Bytes from the beginning. */
  readonly offset: number;
}

/** The calls of Nomad's API that the provider makes; what they throw is {@link NomadHttp}'s. */
export class NomadClient {
  readonly #http: NomadHttp;

  constructor(http: NomadHttp) {
    this.#http = http;
  }

  /**
   * Registers a job that must not exist yet, or, with the index it was read at, changes it.
   *
   * @returns the index of the write
   * @throws ConflictError if it exists, or was changed since
   */
  async registerJob(
    job: NomadJob,
    modifyIndex: number,
    signal: AbortSignal,
  ): Promise<{ readonly index: number; readonly warnings: string }> {
    const { body } = await this.#http.json<{ Index?: number; JobModifyIndex?: number; Warnings?: string }>(
      {
        method: "PUT",
        path: "/jobs",
        body: { Job: job, EnforceIndex: true, JobModifyIndex: modifyIndex },
        what: `register job ${job.ID}`,
      },
      signal,
    );
    return { index: body.JobModifyIndex ?? body.Index ?? 0, warnings: body.Warnings ?? "" };
  }

  /** @throws NotFoundError */
  async readJob(id: string, signal: AbortSignal): Promise<JobStub & NomadJob> {
    const request = { path: `/job/${encodeURIComponent(id)}`, what: `read job ${id}` };
    return (await this.#http.json<JobStub & NomadJob>(request, signal)).body;
  }

  /** Stops a job, or with `purge` forgets it with its allocations; one that is not there is no error. */
  async stopJob(id: string, { purge }: { readonly purge: boolean }, signal: AbortSignal): Promise<void> {
    const path = `/job/${encodeURIComponent(id)}`;
    await this.#http.json({ method: "DELETE", path, query: { purge }, what: `${purge ? "purge" : "stop"} job ${id}` }, signal);
  }

  /** Jobs with their meta, those that have no allocation among them. */
  listJobs(filter: string, signal: AbortSignal): Promise<IndexedList<JobStub>> {
    return this.#list({ path: "/jobs", query: { meta: true, filter }, what: "list jobs" }, signal);
  }

  /** Allocations with the states of their tasks. */
  listAllocations(filter: string, signal: AbortSignal): Promise<IndexedList<Allocation>> {
    return this.#list({ path: "/allocations", query: { task_states: true, filter }, what: "list allocations" }, signal);
  }

  /** Waits until any allocation has changed since the index, or the time is over. @returns the index now */
  async waitForAllocations(index: number, waitMs: number, signal: AbortSignal): Promise<number> {
    const wait = `${Math.ceil(waitMs / 1000)}s`;
    const request: NomadRequest = {
      path: "/allocations",
      // One is enough to be woken by all.
      query: { index, wait, per_page: 1 },
      what: "wait for allocations to change",
      // Nomad adds a sixteenth by chance.
      timeoutMs: waitMs * 1.2 + 30_000,
    };
    return (await this.#http.json<unknown>(request, signal)).index;
  }

  async jobAllocations(id: string, signal: AbortSignal): Promise<readonly Allocation[]> {
    const request = { path: `/job/${encodeURIComponent(id)}/allocations`, what: `list allocations of job ${id}` };
    return (await this.#http.json<Allocation[] | null>(request, signal)).body ?? [];
  }

  /** An allocation with its network. @throws NotFoundError */
  async readAllocation(id: string, signal: AbortSignal): Promise<Allocation> {
    return (await this.#http.json<Allocation>({ path: `/allocation/${id}`, what: `read allocation ${id}` }, signal)).body;
  }

  blockedEvaluations(filter: string, signal: AbortSignal): Promise<IndexedList<Evaluation>> {
    return this.#list(
      { path: "/evaluations", query: { filter: `Status == "blocked" and (${filter})` }, what: "list blocked evaluations" },
      signal,
    );
  }

  /** A variable, with the index it was last changed at. @throws NotFoundError */
  async readVariable(path: string, signal: AbortSignal): Promise<NomadVariable & { readonly ModifyIndex: number }> {
    const request = { path: variablePath(path), what: `read variable ${path}` };
    return (await this.#http.json<NomadVariable & { ModifyIndex: number }>(request, signal)).body;
  }

  /**
   * Writes a variable, whatever it was.
   *
   * @param cas - only if it was last changed at that index
   * @throws ConflictError if it was changed since
   */
  async writeVariable({ Path, Items }: NomadVariable, signal: AbortSignal, cas?: number): Promise<void> {
    const request = {
      method: "PUT",
      path: variablePath(Path),
      query: { cas },
      body: { Path, Items },
      what: `write variable ${Path}`,
    } as const;
    try {
      await this.#http.json(request, signal);
    } catch (error) {
      // The answer to a conflict is the variable, which may hold a secret.
      if (isConflict(error)) throw new ConflictError(`write variable ${Path}: it was changed meanwhile`);
      throw error;
    }
  }

  /** Deletes a variable; one that is not there is no error. */
  async deleteVariable(path: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#http.json({ method: "DELETE", path: variablePath(path), what: `delete variable ${path}` }, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async signalTask(allocation: string, task: string, name: string, signal: AbortSignal): Promise<void> {
    const request = {
      method: "PUT",
      path: `/client/allocation/${allocation}/signal`,
      body: { Task: task, Signal: name },
      what: `send ${name} to task ${task} of allocation ${allocation}`,
    } as const;
    await this.#http.json(request, signal);
  }

  async stats(allocation: string, signal: AbortSignal): Promise<AllocationStats> {
    const request = { path: `/client/allocation/${allocation}/stats`, what: `measure allocation ${allocation}` };
    return (await this.#http.json<AllocationStats>(request, signal)).body;
  }

  async listNodes(signal: AbortSignal): Promise<readonly NomadNode[]> {
    const request = { path: "/nodes", query: { resources: true }, what: "list the clients of Nomad" };
    return (await this.#http.json<NomadNode[] | null>(request, signal)).body ?? [];
  }

  /** Answers if there is a leader and the token may list jobs. */
  async ping(signal: AbortSignal): Promise<void> {
    await this.#http.json({ path: "/jobs", query: { per_page: 1 }, what: `ask Nomad at ${this.#http.address}` }, signal);
  }

  /** @throws NotFoundError */
  async readNamespace(name: string, signal: AbortSignal): Promise<void> {
    await this.#http.json({ path: `/namespace/${encodeURIComponent(name)}`, what: `read namespace ${name} of Nomad` }, signal);
  }

  /** What a task has written until now. */
  async log(
    allocation: string,
    { task, type, offset }: LogRequest,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array> & { destroy(): unknown }> {
    const query = { task, type, origin: "start", offset, plain: true };
    return this.#http.stream({ path: `/client/fs/logs/${allocation}`, query, what: `read the ${type} of task ${task}` }, signal);
  }

  /** Frames of what a task has written and writes: `{Data, File, Offset}`, and a `{}` each second. */
  async *followLog(allocation: string, { task, type, offset }: LogRequest, signal: AbortSignal): AsyncGenerator<unknown, void, undefined> {
    const query = { task, type, origin: "start", offset, follow: true };
    const body = await this.#http.stream(
      { path: `/client/fs/logs/${allocation}`, query, what: `follow the ${type} of task ${task}` },
      signal,
    );
    try {
      yield* jsonObjects(body);
    } finally {
      body.destroy();
    }
  }

  /** Frames of the event stream from an index on, heartbeats among them, until it breaks off. */
  async events(topics: readonly string[], index: number, signal: AbortSignal): Promise<AsyncIterable<EventFrame> & { destroy(): unknown }> {
    const body = await this.#http.stream({ path: "/event/stream", query: { topic: topics, index }, what: "open the event stream" }, signal);
    return { [Symbol.asyncIterator]: () => jsonObjects(body) as AsyncGenerator<EventFrame>, destroy: () => body.destroy() };
  }

  /** The socket of a command in a task; see `exec-frames`. */
  exec(allocation: string, query: { readonly task: string; readonly tty: boolean; readonly command: string }): Promise<WebSocket> {
    return this.#http.webSocket(`/client/allocation/${allocation}/exec`, query);
  }

  async #list<T>(request: NomadRequest, signal: AbortSignal): Promise<IndexedList<T>> {
    const items: T[] = [];
    let index: number | undefined;
    let nextToken: string | undefined;
    do {
      const query = { ...request.query, per_page: pageSize, next_token: nextToken };
      const page: NomadAnswer<T[] | null> = await this.#http.json<T[] | null>({ ...request, query }, signal);
      items.push(...(page.body ?? []));
      // What changed while the pages were read is after the first.
      index ??= page.index;
      nextToken = page.nextToken;
    } while (nextToken !== undefined);
    return { items, index };
  }
}

function variablePath(path: string): string {
  return `/var/${path.split("/").map(encodeURIComponent).join("/")}`;
}
