import type { ContainerLogOptions, ContainerLogs } from "@virtual-kubelet/core";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { inspectContainer } from "../container/inspected-container.ts";
import { framedEntries, terminalEntries } from "./log-entries.ts";
import { endsLine, timeOf, type LogEntry } from "./log-entry.ts";
import { linesSince, logLines } from "./log-lines.ts";
import { logQuery, type LogQuery } from "./log-request.ts";
import { LogWindowFinder, type LogWindow } from "./log-window.ts";

/** Factor by which the number of requested entries grows until they contain the wanted lines. */
const lookback = 8;

/** For more lines the window is not kept: the log is read a second time to count them. */
const maxKeptLines = 100_000;

/**
 * A container's log, each line with its time. Requests start when the log is read, and nothing is read ahead. Applies `tailLines`, in lines
 * where the engine counts parts of lines, then `sinceTime`; the node's server applies `limitBytes`.
 *
 * @throws NotFoundError, UnavailableError
 */
export async function containerLogs(
  engine: DockerEngine,
  id: string,
  options: ContainerLogOptions,
  signal: AbortSignal,
): Promise<ContainerLogs> {
  const { tty } = await inspectContainer(engine, id, signal);
  const source = new LogSource(engine, { id, tty }, signal);
  const entries = linesSince(source.entries(options), options.sinceTime);
  return { data: logLines(entries), timestamps: true, applied: ["tailLines", "sinceTime"] };
}

/** The engine's log of one container. */
class LogSource {
  readonly #engine: DockerEngine;
  readonly #container: { readonly id: string; readonly tty: boolean };
  readonly #signal: AbortSignal;

  constructor(engine: DockerEngine, container: { readonly id: string; readonly tty: boolean }, signal: AbortSignal) {
    this.#engine = engine;
    this.#container = container;
    this.#signal = signal;
  }

  /** The requested entries, with some from before `sinceTime`. */
  async *entries({ follow, sinceTime, tailLines }: ContainerLogOptions): AsyncGenerator<readonly LogEntry[], void, undefined> {
    if (tailLines === undefined) return yield* this.#read(logQuery({ follow, sinceTime }));
    if (tailLines === 0) {
      if (follow) yield* this.#read(logQuery({ follow, tail: 0 }));
      return;
    }
    const window = await this.#find(tailLines);
    if (window === "all") return yield* this.#read(logQuery({ follow, sinceTime }));
    yield* withoutFirst(this.#read(logQuery({ follow, sinceTime, window })), window);
  }

  async #find(lines: number): Promise<LogWindow | "all"> {
    if (lines > maxKeptLines) return this.#findByCounting(lines);
    for (let tail = lines + 1; ; tail *= lookback) {
      const finder = new LogWindowFinder(lines);
      for await (const entries of this.#read(logQuery({ follow: false, tail }))) for (const entry of entries) finder.push(entry);
      const window = finder.end(tail);
      if (window !== undefined) return window;
    }
  }

  async #findByCounting(lines: number): Promise<LogWindow | "all"> {
    let count = 0;
    let last: LogEntry | undefined;
    for await (const entries of this.#read(logQuery({ follow: false })))
      for (const entry of entries) {
        if (last === undefined || endsLine(last)) count++;
        last = entry;
      }
    if (last === undefined || count <= lines) return "all";
    let [left, begins, time, twins] = [count - lines, true, "", 0];
    for await (const entries of this.#read(logQuery({ follow: false })))
      for (const entry of entries) {
        twins = timeOf(entry) === time ? twins + 1 : 0;
        time = timeOf(entry);
        if (begins && left-- === 0) return { since: time, skip: twins, until: timeOf(last) };
        begins = endsLine(entry);
      }
    return "all";
  }

  async *#read(query: LogQuery): AsyncGenerator<readonly LogEntry[], void, undefined> {
    const { id, tty } = this.#container;
    const body = await this.#engine.stream({ method: "GET", path: `/containers/${id}/logs`, query }, this.#signal);
    try {
      yield* tty ? terminalEntries(body) : framedEntries(body);
      // A log that was aborted looks like one that has ended.
      this.#signal.throwIfAborted();
    } catch (error) {
      this.#signal.throwIfAborted();
      throw error;
    } finally {
      body.destroy();
    }
  }
}

/** Drops entries before the window that have the same time as its first entry. */
async function* withoutFirst(
  batches: AsyncIterable<readonly LogEntry[]>,
  { since, skip }: LogWindow,
): AsyncGenerator<readonly LogEntry[], void, undefined> {
  let left = skip;
  for await (const batch of batches) {
    let at = 0;
    for (let entry = batch[at]; left > 0 && entry !== undefined && timeOf(entry) === since; entry = batch[++at]) left--;
    if (at < batch.length) left = 0;
    if (at < batch.length) yield at === 0 ? batch : batch.slice(at);
  }
}
