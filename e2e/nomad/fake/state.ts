import { randomUUID } from "node:crypto";

/** A JSON object in Nomad's format, as in the recorded responses. */
export type Json = Record<string, unknown>;

/** An event of the stream. */
export interface FakeEvent {
  readonly Topic: string;
  readonly Type: string;
  readonly Key: string;
  readonly Namespace: string;
  readonly FilterKeys: readonly string[] | null;
  readonly Index: number;
  readonly Payload: Json;
}

/** Number of writes whose events are kept. Source: Nomad, `event_buffer_size`. */
const eventBufferSize = 100;

type Table = "jobs" | "allocs" | "evals" | "vars" | "nodes";

/** Namespace of everything that names none. */
export const defaultNamespace = "default";

/** Key of a job or variable: its name, prefixed with its namespace unless that is the default namespace. */
export function keyOf(name: string, namespace: string = defaultNamespace): string {
  return namespace === defaultNamespace ? name : `${namespace}:${name}`;
}

/** State of Nomad's servers. Every write has an index, wakes the queries that wait for its tables, and emits events. */
export class FakeState {
  readonly namespaces: Set<string> = new Set([defaultNamespace]);
  /** By {@link keyOf}. */
  readonly jobs: Map<string, Json> = new Map();
  readonly allocs: Map<string, Json> = new Map();
  readonly evals: Map<string, Json> = new Map();
  /** By {@link keyOf}. */
  readonly variables: Map<string, Json> = new Map();
  /** Whether tasks may use more memory than is reserved for them. */
  memoryOversubscription = false;
  /** Clients in addition to the one that runs allocations. */
  readonly otherNodes: Json[] = [];
  /** The highest index of each table. */
  readonly indexes: Record<Table, number> = { jobs: 1, allocs: 1, evals: 1, vars: 1, nodes: 8 };
  readonly #frames: { readonly Index: number; readonly Events: readonly FakeEvent[] }[] = [];
  readonly #listeners = new Set<(frame: { readonly Index: number; readonly Events: readonly FakeEvent[] }) => void>();
  #index = 10;

  get index(): number {
    return this.#index;
  }

  /** Performs a write. */
  write(tables: readonly Table[], change: (index: number) => readonly Omit<FakeEvent, "Index">[]): number {
    const index = ++this.#index;
    for (const table of tables) this.indexes[table] = index;
    const Events = structuredClone(change(index)).map((event) => ({ ...event, Index: index }));
    if (Events.length > 0) {
      this.#frames.push({ Index: index, Events });
      if (this.#frames.length > eventBufferSize) this.#frames.shift();
    }
    for (const listener of this.#listeners) listener({ Index: index, Events });
    return index;
  }

  /** Calls the listener for every write, beginning with the kept writes from an index on. */
  listen(from: number, listener: (frame: { readonly Index: number; readonly Events: readonly FakeEvent[] }) => void): () => void {
    for (const frame of this.#frames) if (frame.Index >= from) listener(frame);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resets the indexes, as after a restore from a backup. */
  goBack(): void {
    this.#index = 10;
    for (const table of Object.keys(this.indexes) as Table[]) this.indexes[table] = 5;
    for (const each of [...this.jobs.values(), ...this.allocs.values()])
      for (const field of ["CreateIndex", "ModifyIndex", "JobModifyIndex"]) if (each[field] !== undefined) each[field] = 4;
    this.#frames.length = 0;
  }

  /**
   * Clears all state and sets the indexes of all tables to 0, as in a new installation. Source: Nomad, `state.Index` of a table never
   * written.
   */
  beginAnew(): void {
    for (const table of [this.jobs, this.allocs, this.evals, this.variables]) table.clear();
    for (const table of Object.keys(this.indexes) as Table[]) this.indexes[table] = 0;
    this.#index = 0;
    this.#frames.length = 0;
  }

  /** Number of listeners. */
  get listeners(): number {
    return this.#listeners.size;
  }

  newEvaluation({ ID, Namespace }: Json, fields: Json): Json {
    const evaluation: Json = { ID: randomUUID(), JobID: ID, Namespace, Priority: 50, Status: "pending", ...fields };
    this.evals.set(String(evaluation["ID"]), evaluation);
    return evaluation;
  }
}

/** Event for an evaluation. */
export function evaluationEvent(evaluation: Json, type: string): Omit<FakeEvent, "Index"> {
  return {
    Topic: "Evaluation",
    Type: type,
    Key: String(evaluation["ID"]),
    Namespace: String(evaluation["Namespace"]),
    FilterKeys: [String(evaluation["JobID"]), ""],
    Payload: { Evaluation: evaluation },
  };
}

/** Event for an allocation, without its job. */
export function allocationEvent(allocation: Json, type: string): Omit<FakeEvent, "Index"> {
  const { Job: _, ...shown } = allocation;
  return {
    Topic: "Allocation",
    Type: type,
    Key: String(allocation["ID"]),
    Namespace: String(allocation["Namespace"]),
    FilterKeys: [String(allocation["JobID"]), ""],
    Payload: { Allocation: shown },
  };
}

/** Event for a job. */
export function jobEvent(job: Json, type: string): Omit<FakeEvent, "Index"> {
  const Namespace = String(job["Namespace"]);
  return { Topic: "Job", Type: type, Key: String(job["ID"]), Namespace, FilterKeys: null, Payload: { Job: job } };
}
