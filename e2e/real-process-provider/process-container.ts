import { once } from "node:events";
import { join } from "node:path";
import type { Writable } from "node:stream";
import type { Clock, Container, ContainerStatus, DeepReadonly } from "@virtual-kubelet/core";
import type { ProbeStanding } from "@virtual-kubelet/pod-runtime/probes";
import type { Reaper } from "@virtual-kubelet/testing";
import { groupUse, type GroupUse } from "./group-use.ts";
import { LogFile } from "./log-file.ts";
import { spawnCommand, type ProcessGroup } from "./spawn-command.ts";

/** Options of a container. */
export interface ContainerOptions {
  readonly clock: Clock;
  readonly reaper: Reaper;
  readonly directory: string;
  /** Its state has changed. */
  readonly onChange: () => void;
}

/** What a container runs. */
export interface ContainerPlan {
  readonly spec: DeepReadonly<Container>;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly restarts: "Always" | "OnFailure" | "Never";
}

/** One run of a container. */
interface Run {
  readonly id: string;
  readonly group: ProcessGroup;
  readonly log: LogFile;
  readonly startedAt: string;
  readonly attached: Set<Writable>;
  ended?: { readonly exitCode: number; readonly finishedAt: string };
}

/** First wait before a restart, and the longest; as a kubelet's. */
const firstBackOffMs = 10_000;
const maxBackOffMs = 300_000;

/** A container: a process group, started again as its policy says. */
export class ProcessContainer {
  readonly plan: ContainerPlan;
  /** Resolves when it has ended for good. */
  readonly done: Promise<void>;
  readonly #options: ContainerOptions;
  readonly #done = Promise.withResolvers<void>();
  #current: Run | undefined;
  #last: Run | undefined;
  #restartCount = 0;
  #backOffMs = 0;
  #stopping = false;
  #killTimer: Disposable | undefined;
  #restartTimer: Disposable | undefined;
  #spentNanoSeconds = 0;

  constructor(plan: ContainerPlan, options: ContainerOptions) {
    this.plan = plan;
    this.#options = options;
    this.done = this.#done.promise;
  }

  /** Its process; `undefined` if it does not run. */
  get running(): Omit<Run, "log" | "ended"> | undefined {
    return this.#current && !this.#current.ended ? this.#current : undefined;
  }

  get hasStarted(): boolean {
    return this.#current !== undefined;
  }

  /** How it ended for good; `undefined` if it has not. */
  get exitCode(): number | undefined {
    return this.#restartTimer || this.running ? undefined : this.#current?.ended?.exitCode;
  }

  /** Output of the current run or the last, or of the one before. */
  log(previous: boolean): LogFile | undefined {
    return previous ? this.#last?.log : this.#current?.log;
  }

  start(): void {
    const { directory, clock, reaper } = this.#options;
    const { spec, command, env } = this.plan;
    const id = `${spec.name}-${this.#restartCount}`;
    const log = new LogFile(join(directory, `${id}.log`), () => clock.now());
    const terminal = spec.tty ? { width: 80, height: 24 } : undefined;
    const group = spawnCommand({ command, env, cwd: directory, stdin: spec.stdin ?? false, terminal }, reaper);
    const run: Run = { id, group, log, startedAt: this.#time(), attached: new Set() };
    this.#current = run;
    void this.#watch(run);
    this.#options.onChange();
  }

  /** Asks it to end, and kills it when the grace is over. It is not started again. */
  stop(graceMs: number): void {
    this.#stopping = true;
    if (this.#restartTimer) {
      this.#restartTimer[Symbol.dispose]();
      this.#restartTimer = undefined;
      this.#finish();
    }
    if (!this.running) return void (this.hasStarted || this.#finish());
    this.end(graceMs);
  }

  /** Asks its process to end, and kills it when the grace is over. Its policy says whether it is started again. */
  end(graceMs: number): void {
    const run = this.running;
    if (!run) return;
    run.group.signal(graceMs > 0 ? "SIGTERM" : "SIGKILL");
    this.#killTimer?.[Symbol.dispose]();
    this.#killTimer = this.#options.clock.setTimer(graceMs, () => run.group.signal("SIGKILL"));
  }

  /** Resource usage since its start. */
  use(): GroupUse | undefined {
    const pid = this.running?.group.child.pid;
    if (pid === undefined) return undefined;
    const use = groupUse(pid);
    // A process that ends takes its time with it until its parent has looked after it.
    this.#spentNanoSeconds = Math.max(this.#spentNanoSeconds, use.cpuNanoSeconds);
    return { ...use, cpuNanoSeconds: this.#spentNanoSeconds };
  }

  /** @param standing - results of its probes; default: it has no probes */
  status(waitingReason: string, { isReady, isStarted }: ProbeStanding = { isReady: true, isStarted: true }): ContainerStatus {
    const { name, image = "" } = this.plan.spec;
    const run = this.#current;
    const common = { name, image, imageID: image, restartCount: this.#restartCount };
    if (!run) return { ...common, ready: false, started: false, state: { waiting: { reason: waitingReason } }, lastState: {} };
    const containerID = `process://${run.id}`;
    const before = this.#last?.ended && { terminated: toTerminated(this.#last, this.#last.ended) };
    if (!run.ended)
      return {
        ...common,
        containerID,
        ready: isReady,
        started: isStarted,
        state: { running: { startedAt: run.startedAt } },
        lastState: before ?? {},
      };
    const terminated = toTerminated(run, run.ended);
    if (this.#restartTimer)
      return {
        ...common,
        containerID,
        ready: false,
        started: false,
        state: { waiting: { reason: "CrashLoopBackOff" } },
        lastState: { terminated },
      };
    return { ...common, containerID, ready: false, started: false, state: { terminated }, lastState: {} };
  }

  async #watch(run: Run): Promise<void> {
    const { child, exited } = run.group;
    const drained = (["stdout", "stderr"] as const).map(async (name) => {
      try {
        for await (const chunk of child[name] ?? []) {
          run.log.append(name, chunk as Buffer);
          for (const target of run.attached) await writeTo(target, chunk as Buffer);
        }
      } catch {
        // It was destroyed with the process.
      }
    });
    const exitCode = await exited;
    await Promise.all(drained);
    run.log.end();
    run.ended = { exitCode, finishedAt: this.#time() };
    this.#killTimer?.[Symbol.dispose]();
    this.#spentNanoSeconds = 0;
    const { restarts } = this.plan;
    if (this.#stopping || restarts === "Never" || (restarts === "OnFailure" && exitCode === 0)) return this.#finish();
    this.#restartTimer = this.#options.clock.setTimer(this.#backOffMs, () => {
      this.#restartTimer = undefined;
      this.#last = run;
      this.#restartCount++;
      this.start();
    });
    this.#backOffMs = Math.min(maxBackOffMs, Math.max(firstBackOffMs, this.#backOffMs * 2));
    this.#options.onChange();
  }

  #finish(): void {
    this.#done.resolve();
    this.#options.onChange();
  }

  #time(): string {
    return new Date(this.#options.clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
  }
}

function toTerminated(run: Run, ended: NonNullable<Run["ended"]>): NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]> {
  return { ...ended, startedAt: run.startedAt, reason: ended.exitCode === 0 ? "Completed" : "Error", containerID: `process://${run.id}` };
}

/** Writes, and waits until the reader has room: a slow client slows the container, as with a real runtime. */
async function writeTo(target: Writable, chunk: Buffer): Promise<void> {
  if (target.destroyed || target.writableEnded || target.write(chunk)) return;
  const over = new AbortController();
  await Promise.race([once(target, "drain", over), once(target, "close", over)]).catch(() => {});
  over.abort();
}
