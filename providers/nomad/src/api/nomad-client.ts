import { ConflictError, InvalidInputError, isConflict, isNotFound, UnavailableError } from "@virtual-kubelet/errdefs";
import type { WebSocket } from "ws";
import type { z } from "zod";
import { jsonObjects } from "./json-objects.ts";
import type { NomadAnswer, NomadHttp, NomadRequest } from "./nomad-http.ts";
import { idOf, type ObjectKind, type ObjectReader } from "./object-reader.ts";
import {
  allocationSchema,
  evaluationSchema,
  eventSchema,
  frameSchema,
  jobSchema,
  nodePoolSchema,
  nodeSchema,
  registerSchema,
  schedulerSchema,
  statsSchema,
  variableSchema,
} from "./object-schemas.ts";
import type {
  Allocation,
  AllocationStats,
  Evaluation,
  JobStub,
  NomadEvent,
  NomadJob,
  NomadNode,
  NomadVariable,
  VariableStub,
} from "./types.ts";

/** Entries per page of a list. */
const pageSize = 1000;
/** Maximum pages read of one list, so that a faulty agent or proxy cannot fill the memory. */
const maxPages = 200;

/** A list and the index at which it was read. */
export interface IndexedList<T> {
  readonly items: readonly T[];
  readonly index: number;
  /** IDs of listed objects that could not be parsed; `undefined` for an object whose ID could not be parsed either. */
  readonly skipped: readonly (string | undefined)[];
}

/** A job as Nomad stores it, with its defaults filled in. */
export type JobSpec = Readonly<Record<string, unknown>> & { readonly ID: string };

/** Part of a log to read. */
export interface LogRequest {
  readonly task: string;
  /** Namespace of Kubernetes whose user reads it. */
  readonly tenant: string;
  readonly type: "stdout" | "stderr";
  /** Bytes from the beginning. */
  readonly offset: number;
}

/** A command in a task; its words are JSON. */
export interface ExecQuery {
  readonly task: string;
  readonly tty: boolean;
  readonly command: string;
}

/** Maximum duration of a restart beyond the kill time-out, in milliseconds. */
const restartMarginMs = 30_000;

/**
 * Calls of Nomad's API in one namespace of Nomad. They throw the errors of {@link NomadHttp}. A call that names an allocation
 * finds it in every namespace that the token may use.
 */
export class NomadClient {
  readonly #http: NomadHttp;
  readonly #reader: ObjectReader;
  /** Namespace of Nomad that the calls are about. */
  readonly namespace: string;

  constructor(http: NomadHttp, reader: ObjectReader, namespace: string) {
    this.#http = http;
    this.#reader = reader;
    this.namespace = namespace;
  }

  /** The same calls over the same connections, in another namespace of Nomad. */
  in(namespace: string): NomadClient {
    return new NomadClient(this.#http, this.#reader, namespace);
  }

  /**
   * Registers a job that must not exist yet, or, with the index it was read at, changes it.
   *
   * @returns the index of the write
   * @throws ConflictError if it exists, or was changed since
   */
  async registerJob(
    job: NomadJob | JobSpec,
    modifyIndex: number,
    signal: AbortSignal,
  ): Promise<{ readonly index: number; readonly warnings: string }> {
    const { body } = await this.#json<unknown>(
      {
        method: "PUT",
        path: "/jobs",
        body: { Job: job, EnforceIndex: true, JobModifyIndex: modifyIndex },
        what: `register job ${job.ID}`,
      },
      signal,
    );
    const { data } = registerSchema.safeParse(body);
    if (!data) throw new UnavailableError(`register job ${job.ID}: Nomad's answer has no JobModifyIndex`);
    return { index: data.JobModifyIndex, warnings: data.Warnings ?? "" };
  }

  /** @throws NotFoundError; InvalidInputError if it cannot be read */
  async readJob(id: string, signal: AbortSignal): Promise<JobStub> {
    return this.#object({ path: `/job/${encodeURIComponent(id)}`, what: `read job ${id}` }, "job", jobSchema, signal);
  }

  /** The whole job as Nomad keeps it, to be registered again. @throws NotFoundError; InvalidInputError if it cannot be read */
  async readJobSpec(id: string, signal: AbortSignal): Promise<{ readonly spec: JobSpec; readonly stub: JobStub }> {
    const request = { path: `/job/${encodeURIComponent(id)}`, what: `read job ${id}` };
    const { body } = await this.#json<JobSpec>(request, signal);
    const stub = this.#reader.read("job", jobSchema, body);
    if (!stub) throw unreadable(request);
    return { spec: body, stub };
  }

  /** Stops a job, or with `purge` forgets it with its allocations; one that is not there is no error. */
  async stopJob(id: string, { purge }: { readonly purge: boolean }, signal: AbortSignal): Promise<void> {
    const path = `/job/${encodeURIComponent(id)}`;
    await this.#json({ method: "DELETE", path, query: { purge }, what: `${purge ? "purge" : "stop"} job ${id}` }, signal);
  }

  /** The namespace's jobs with their meta, those that have no allocation among them. */
  listJobs(filter: string, signal: AbortSignal): Promise<IndexedList<JobStub>> {
    return this.#list({ path: "/jobs", query: { meta: true, filter }, what: "list jobs" }, "job", jobSchema, signal);
  }

  /** Allocations with the states of their tasks. */
  listAllocations(filter: string, signal: AbortSignal): Promise<IndexedList<Allocation>> {
    const request = { path: "/allocations", query: { task_states: true, filter }, what: "list allocations" };
    return this.#list(request, "allocation", allocationSchema, signal);
  }

  /** Waits until any allocation has changed since the index, or the time is over. @returns the current index */
  async waitForAllocations(index: number, waitMs: number, signal: AbortSignal): Promise<number> {
    const wait = `${Math.ceil(waitMs / 1000)}s`;
    const request: NomadRequest = {
      path: "/allocations",
      // One entry is enough: the query returns when any allocation has changed.
      query: { index, wait, per_page: 1 },
      what: "wait for allocations to change",
      // Nomad adds up to a sixteenth at random.
      timeoutMs: waitMs * 1.2 + 30_000,
    };
    return (await this.#json<unknown>(request, signal)).index;
  }

  async jobAllocations(id: string, signal: AbortSignal): Promise<readonly Allocation[]> {
    const request = { path: `/job/${encodeURIComponent(id)}/allocations`, what: `list allocations of job ${id}` };
    return this.#read(await this.#json<unknown>(request, signal), request, "allocation", allocationSchema).items;
  }

  /** An allocation with its network. @throws NotFoundError; InvalidInputError if it cannot be read */
  async readAllocation(id: string, signal: AbortSignal): Promise<Allocation> {
    return this.#object({ path: `/allocation/${id}`, what: `read allocation ${id}` }, "allocation", allocationSchema, signal);
  }

  blockedEvaluations(filter: string, signal: AbortSignal): Promise<IndexedList<Evaluation>> {
    return this.#list(
      { path: "/evaluations", query: { filter: `Status == "blocked" and (${filter})` }, what: "list blocked evaluations" },
      "evaluation",
      evaluationSchema,
      signal,
    );
  }

  /** Reads a variable and the index of its last change. @throws NotFoundError */
  async readVariable(path: string, signal: AbortSignal): Promise<NomadVariable & { readonly ModifyIndex: number }> {
    const request = { path: variablePath(path), what: `read variable ${path}` };
    return (await this.#json<NomadVariable & { ModifyIndex: number }>(request, signal)).body;
  }

  /**
   * Writes a variable, overwriting any earlier value.
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
      await this.#json(request, signal);
    } catch (error) {
      // The answer to a conflict is the variable, which may hold a secret.
      if (isConflict(error)) throw new ConflictError(`write variable ${Path}: it was changed meanwhile`);
      throw error;
    }
  }

  /** Paths of the variables that begin with a prefix, with the index each was last changed at. */
  async listVariables(prefix: string, signal: AbortSignal): Promise<readonly VariableStub[]> {
    return (await this.#list({ path: "/vars", query: { prefix }, what: "list variables" }, "variable", variableSchema, signal)).items;
  }

  /**
   * Deletes a variable; one that is not there is no error.
   *
   * @param cas - only if it was last changed at that index
   * @throws ConflictError if it was changed since
   */
  async deleteVariable(path: string, signal: AbortSignal, cas?: number): Promise<void> {
    try {
      await this.#json({ method: "DELETE", path: variablePath(path), query: { cas }, what: `delete variable ${path}` }, signal);
    } catch (error) {
      if (isConflict(error)) throw new ConflictError(`delete variable ${path}: it was changed meanwhile`);
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
    await this.#json(request, signal);
  }

  /**
   * Ends a task's process within its kill time-out and starts it again, regardless of its restart policy. Returns once the process has ended.
   *
   * @param killTimeoutMs - kill time-out of the task; the answer may take as long
   */
  async restartTask(allocation: string, task: string, killTimeoutMs: number, signal: AbortSignal): Promise<void> {
    const request = {
      method: "PUT",
      path: `/client/allocation/${allocation}/restart`,
      body: { TaskName: task },
      what: `restart task ${task} of allocation ${allocation}`,
      timeoutMs: killTimeoutMs + restartMarginMs,
    } as const;
    await this.#json(request, signal);
  }

  /** @throws NotFoundError; InvalidInputError if they cannot be read */
  async stats(allocation: string, signal: AbortSignal): Promise<AllocationStats> {
    const request = { path: `/client/allocation/${allocation}/stats`, what: `measure allocation ${allocation}` };
    return this.#object(request, "stats", statsSchema, signal, allocation);
  }

  async listNodes(signal: AbortSignal): Promise<readonly NomadNode[]> {
    const request = { path: "/nodes", query: { resources: true }, what: "list the clients of Nomad" };
    return this.#read(await this.#json<unknown>(request, signal), request, "node", nodeSchema).items;
  }

  /** IDs of the clients that have this value of an attribute. Lists do not show attributes. */
  async listNodesWith(attribute: string, value: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const filter = `Attributes[${JSON.stringify(attribute)}] == ${JSON.stringify(value)}`;
    const request = { path: "/nodes", query: { filter }, what: `list the clients of Nomad whose ${attribute} is ${value}` };
    const { body } = await this.#json<unknown>(request, signal);
    return new Set((Array.isArray(body) ? (body as readonly unknown[]) : []).flatMap((node) => idOf(node) ?? []));
  }

  /** Whether tasks in a node pool may use more memory than is reserved for them. @throws UnauthorizedError without the right to read it */
  async readMemoryOversubscription(pool: string, signal: AbortSignal): Promise<boolean> {
    const what = "read whether Nomad allows memory oversubscription";
    const own = await this.#json<unknown>({ path: `/node/pool/${encodeURIComponent(pool)}`, what }, signal);
    const { SchedulerConfiguration } = nodePoolSchema.safeParse(own.body).data ?? {};
    if (typeof SchedulerConfiguration?.MemoryOversubscriptionEnabled === "boolean")
      return SchedulerConfiguration.MemoryOversubscriptionEnabled;
    const all = await this.#json<unknown>({ path: "/operator/scheduler/configuration", what }, signal);
    return schedulerSchema.safeParse(all.body).data?.SchedulerConfig?.MemoryOversubscriptionEnabled ?? false;
  }

  /** Answers if there is a leader and the token may list the namespace's jobs. */
  async ping(signal: AbortSignal): Promise<void> {
    const what = `list jobs in namespace ${this.namespace} of Nomad at ${this.#http.address}`;
    await this.#json({ path: "/jobs", query: { per_page: 1 }, what }, signal);
  }

  /** Reads the namespace itself. @throws NotFoundError */
  async readNamespace(signal: AbortSignal): Promise<void> {
    const request = { path: `/namespace/${encodeURIComponent(this.namespace)}`, what: `read namespace ${this.namespace} of Nomad` };
    await this.#json(request, signal);
  }

  /** What a task has written until now. */
  async log(
    allocation: string,
    { task, tenant, type, offset }: LogRequest,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array> & { destroy(): unknown }> {
    const query = { task, type, origin: "start", offset, plain: true };
    const request = { path: `/client/fs/logs/${allocation}`, query, what: `read the ${type} of task ${task}`, tenant };
    return this.#stream(request, signal);
  }

  /** Frames of what a task has written and writes: `{Data, File, Offset}`, and a `{}` each second. */
  async *followLog(
    allocation: string,
    { task, tenant, type, offset }: LogRequest,
    signal: AbortSignal,
  ): AsyncGenerator<unknown, void, undefined> {
    const query = { task, type, origin: "start", offset, follow: true };
    const request = { path: `/client/fs/logs/${allocation}`, query, what: `follow the ${type} of task ${task}`, tenant };
    const body = await this.#stream(request, signal);
    try {
      yield* jsonObjects(body);
    } finally {
      body.destroy();
    }
  }

  /** Events from an index on, frame by frame, until the stream breaks off; a heartbeat is a frame without any. */
  async events(
    topics: readonly string[],
    index: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<readonly NomadEvent[]> & { destroy(): unknown }> {
    const body = await this.#stream({ path: "/event/stream", query: { topic: topics, index }, what: "open the event stream" }, signal);
    return { [Symbol.asyncIterator]: () => this.#eventsOf(jsonObjects(body)), destroy: () => body.destroy() };
  }

  /**
   * The socket of a command in a task; see `exec-frames`.
   *
   * @param tenant - namespace of Kubernetes whose user, or whose pod's hook, runs it
   */
  exec(allocation: string, query: ExecQuery, tenant: string): Promise<WebSocket> {
    return this.#http.webSocket({ ...this.#execRequest(allocation, query), tenant });
  }

  /** As {@link exec}, for a probe: the connection does not count as a user's. */
  execProbe(allocation: string, query: ExecQuery): Promise<WebSocket> {
    return this.#http.webSocket(this.#execRequest(allocation, query));
  }

  #execRequest(allocation: string, { task, tty, command }: ExecQuery): NomadRequest {
    const query = { task, tty, command };
    return { path: `/client/allocation/${allocation}/exec`, query, namespace: this.namespace, what: `run a command in task ${task}` };
  }

  #json<Body>(request: NomadRequest, signal: AbortSignal): Promise<NomadAnswer<Body>> {
    return this.#http.json<Body>({ ...request, namespace: this.namespace }, signal);
  }

  #stream(request: NomadRequest, signal: AbortSignal): ReturnType<NomadHttp["stream"]> {
    return this.#http.stream({ ...request, namespace: this.namespace }, signal);
  }

  async *#eventsOf(frames: AsyncIterable<unknown>): AsyncGenerator<readonly NomadEvent[], void, undefined> {
    for await (const frame of frames) {
      const { Events } = this.#reader.read("event", frameSchema, frame, "frame") ?? {};
      yield (Events ?? []).flatMap((event) => this.#reader.read("event", eventSchema, event, "in a frame") ?? []);
    }
  }

  async #object<T>(request: NomadRequest, kind: ObjectKind, schema: z.ZodType<T>, signal: AbortSignal, id?: string): Promise<T> {
    const object = this.#reader.read(kind, schema, (await this.#json<unknown>(request, signal)).body, id);
    if (object === undefined) throw unreadable(request);
    return object;
  }

  /** All pages of a list. @throws UnavailableError also for pages without end */
  async #list<T>(request: NomadRequest, kind: ObjectKind, schema: z.ZodType<T>, signal: AbortSignal): Promise<IndexedList<T>> {
    const items: T[] = [];
    const skipped: (string | undefined)[] = [];
    let index: number | undefined;
    let nextToken: string | undefined;
    const tokens = new Set<string>();
    for (;;) {
      const query = { ...request.query, per_page: pageSize, next_token: nextToken };
      const page: NomadAnswer<unknown> = await this.#json<unknown>({ ...request, query }, signal);
      const read = this.#read(page, request, kind, schema);
      items.push(...read.items);
      skipped.push(...read.skipped);
      // Changes made while the pages were read have indexes after the first page's.
      index ??= page.index;
      nextToken = page.nextToken;
      if (nextToken === undefined) return { items, index, skipped };
      if (tokens.has(nextToken)) throw new UnavailableError(`${request.what}: Nomad returned the same next page twice`);
      if (tokens.add(nextToken).size === maxPages)
        throw new UnavailableError(`${request.what}: Nomad's list has more than ${maxPages} pages of ${pageSize} entries`);
    }
  }

  /** The objects of a list that can be read. @throws UnavailableError for an answer that is no list */
  #read<T>(
    { body }: NomadAnswer<unknown>,
    { what }: NomadRequest,
    kind: ObjectKind,
    schema: z.ZodType<T>,
  ): Pick<IndexedList<T>, "items" | "skipped"> {
    // Nomad writes an empty list as null at times.
    const objects = body ?? [];
    if (!Array.isArray(objects)) throw new UnavailableError(`${what}: Nomad's answer is not a list`);
    const items: T[] = [];
    const skipped: (string | undefined)[] = [];
    for (const object of objects as readonly unknown[]) {
      const item = this.#reader.read(kind, schema, object);
      if (item === undefined) skipped.push(idOf(object));
      else items.push(item);
    }
    return { items, skipped };
  }
}

function unreadable({ what }: NomadRequest): InvalidInputError {
  return new InvalidInputError(`${what}: Nomad's answer cannot be read; the log says why`);
}

function variablePath(path: string): string {
  return `/var/${path.split("/").map(encodeURIComponent).join("/")}`;
}
