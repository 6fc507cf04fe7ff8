import type { Clock } from "@virtual-kubelet/clock";
import { isInvalidInput, isNotFound, isQuotaExceeded, isUnauthorized } from "@virtual-kubelet/errdefs";
import type { NomadClient } from "../api/nomad-client.ts";
import type { ArrivalTimes, LogType } from "./arrival-times.ts";
import type { LogChunk } from "./log-lines.ts";

/** Output to follow, and its task. */
export interface FollowedLog {
  readonly allocation: string;
  readonly task: string;
  /** Namespace of the task's pod, whose connection it is. */
  readonly tenant: string;
  readonly type: LogType;
  readonly times: ArrivalTimes;
  /** Whether the task has ended. */
  readonly isOver: () => boolean;
}

const firstPauseMs = 500;
const maxPauseMs = 30_000;
/** Maximum time for a log to appear after its task has started. */
const absentMs = 30_000;
/** Maximum bytes buffered for a slow follower. A follower further behind catches up by reading the log. */
const maxQueuedBytes = 1024 * 1024;

/** Followed logs. All followers of one output share one stream of Nomad. */
export class LogStreams {
  readonly #client: Pick<NomadClient, "followLog">;
  readonly #clock: Clock;
  readonly #shared = new Map<string, SharedStream>();

  constructor({ client, clock }: { readonly client: Pick<NomadClient, "followLog">; readonly clock: Clock }) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Follows an output from an offset on, or from where others have got to: {@link LogFollower.position} says where it begins. */
  follow(log: FollowedLog, offset: number): LogFollower {
    const key = `${log.allocation}/${log.task}/${log.type}`;
    let stream = this.#shared.get(key);
    if (!stream) {
      stream = new SharedStream({ client: this.#client, clock: this.#clock, log, offset });
      this.#shared.set(key, stream);
      const opened = stream;
      void stream.done.then(() => this.#shared.get(key) === opened && this.#shared.delete(key));
    }
    return stream.join(() => void (this.#shared.get(key) === stream && this.#shared.delete(key)));
  }
}

/** A follower of an output. It ends with the output, or when it is too far behind. */
export class LogFollower implements Disposable {
  /** Offset at which its chunks begin. */
  readonly position: number;
  readonly #leave: (follower: LogFollower) => void;
  #queue: LogChunk[] = [];
  #queuedBytes = 0;
  #isLate = false;
  #isOver = false;
  #error: unknown;
  #wake = Promise.withResolvers<void>();

  constructor(position: number, leave: (follower: LogFollower) => void) {
    this.position = position;
    this.#leave = leave;
  }

  /** Whether it was too slow, so that output since then is not buffered for it. */
  get isLate(): boolean {
    return this.#isLate;
  }

  push(chunk: LogChunk): void {
    if (this.#isLate) return;
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.bytes.byteLength;
    if (this.#queuedBytes > maxQueuedBytes) {
      this.#isLate = true;
      this.#queue = [];
    }
    this.#wake.resolve();
  }

  /** Nothing more comes. */
  end(error?: unknown): void {
    this.#isOver = true;
    this.#error = error;
    this.#wake.resolve();
  }

  /** Yields the output as it arrives. @throws what ended the stream, and `signal.reason` */
  async *chunks(signal: AbortSignal): AsyncGenerator<LogChunk, void, undefined> {
    const onAbort = (): void => this.#wake.resolve();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      for (;;) {
        signal.throwIfAborted();
        const chunk = this.#queue.shift();
        if (chunk) {
          this.#queuedBytes -= chunk.bytes.byteLength;
          yield chunk;
          continue;
        }
        if (this.#isLate) return;
        if (this.#isOver) {
          if (this.#error !== undefined) throw this.#error;
          return;
        }
        await this.#wake.promise;
        this.#wake = Promise.withResolvers();
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  [Symbol.dispose](): void {
    this.#leave(this);
  }
}

interface SharedStreamOptions {
  readonly client: Pick<NomadClient, "followLog">;
  readonly clock: Clock;
  readonly log: FollowedLog;
  readonly offset: number;
}

class SharedStream {
  /** Resolves when the stream has ended for all followers. Never rejects. */
  readonly done: Promise<void>;
  readonly #options: SharedStreamOptions;
  readonly #followers = new Set<LogFollower>();
  readonly #abort = new AbortController();
  #position: number;

  constructor(options: SharedStreamOptions) {
    this.#options = options;
    this.#position = options.offset;
    this.done = this.#run(this.#abort.signal).then(
      () => this.#end(),
      (error: unknown) => this.#end(error),
    );
  }

  /** @param onEmpty - called when the last follower has left */
  join(onEmpty: () => void): LogFollower {
    const follower = new LogFollower(this.#position, (left) => {
      this.#followers.delete(left);
      if (this.#followers.size > 0) return;
      onEmpty();
      this.#abort.abort(new Error("nobody follows the log any more"));
    });
    this.#followers.add(follower);
    return follower;
  }

  #end(error?: unknown): void {
    for (const follower of this.#followers) follower.end(error);
  }

  /** Follows the output over broken connections, at growing pauses, until its task has ended. */
  async #run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    let pauseMs = firstPauseMs;
    let absentSinceMs: number | undefined;
    for (;;) {
      const before = this.#position;
      try {
        if (await this.#read(signal)) return;
        absentSinceMs = undefined;
      } catch (error) {
        if (signal.aborted) return;
        if (isUnauthorized(error) || isQuotaExceeded(error)) throw error;
        const isAbsent = isNotFound(error) || isInvalidInput(error);
        if (log.isOver()) {
          if (isAbsent) return;
          throw error;
        }
        absentSinceMs = isAbsent ? (absentSinceMs ?? clock.monotonic()) : undefined;
        if (absentSinceMs !== undefined && clock.monotonic() - absentSinceMs > absentMs) throw error;
      }
      if (this.#position > before) pauseMs = firstPauseMs;
      await clock.sleep(pauseMs, signal).catch(() => {});
      if (signal.aborted) return;
      pauseMs = Math.min(maxPauseMs, pauseMs * 2);
    }
  }

  /**
   * Reads one connection to its end. A followed log never ends by itself: it is over when the task is, and a second has brought nothing
   * more. @returns whether it is over
   */
  async #read(signal: AbortSignal): Promise<boolean> {
    const { client, clock, log } = this.#options;
    const { allocation, task, tenant, type, times, isOver } = log;
    let isQuiet = false;
    for await (const frame of client.followLog(allocation, { task, tenant, type, offset: this.#position }, signal)) {
      const { Data } = frame as { readonly Data?: string | null };
      if (Data) {
        const bytes = Buffer.from(Data, "base64");
        times.note(this.#position + bytes.byteLength, clock.now());
        for (const follower of this.#followers) follower.push({ offset: this.#position, bytes });
        this.#position += bytes.byteLength;
      } else if (isQuiet && isOver()) return true;
      // The last output may still be in transit when the task is reported dead.
      isQuiet = !Data && isOver();
    }
    return false;
  }
}
