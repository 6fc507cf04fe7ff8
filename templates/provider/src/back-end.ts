import type { AttachIO, Clock } from "@virtual-kubelet/core";
import { NotFoundError, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { Job, JobSpec } from "./job.ts";
import { Output } from "./output.ts";
import { ProcessGroup } from "./process-group.ts";
import { usageOf, type Usage } from "./usage.ts";

/** A job and its process. */
interface Entry {
  job: Job;
  readonly env: JobSpec["env"];
  readonly group: ProcessGroup;
  readonly output: Output;
  isStopped: boolean;
}

/**
 * A stand-in for your back end, so that this provider runs without one: each job is a process of this machine. Replace it with the client
 * of your back end's API. It ignores images, and its jobs end with the program.
 */
export class BackEnd {
  readonly #clock: Clock;
  readonly #jobs = new Map<string, Entry>();
  readonly #commands = new Set<ProcessGroup>();
  #listener: (job: Job) => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws if the back end does not answer. */
  async ping(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
  }

  /** Sets a listener for future changes of jobs. */
  onChange(listener: (job: Job) => void): void {
    this.#listener = listener;
  }

  create({ command, env, ...spec }: JobSpec): void {
    if (this.#jobs.has(spec.id)) return;
    const group = new ProcessGroup(command, env);
    const output = new Output();
    const entry: Entry = { job: { ...spec, createdAt: this.#time() }, env, group, output, isStopped: false };
    this.#jobs.set(spec.id, entry);
    group.child.stdin.end();
    for (const stream of [group.child.stdout, group.child.stderr]) stream.on("data", (chunk: Buffer) => output.append(chunk));
    void group.exitCode.then((exitCode) => {
      output.end();
      entry.job = { ...entry.job, ended: { exitCode, finishedAt: this.#time() } };
      this.#tell(entry);
    });
    this.#tell(entry);
  }

  /** Stops the job within its grace period, and then removes it. @throws NotFoundError */
  stop(id: string, graceMs: number): void {
    const entry = this.#entry(id);
    entry.isStopped = true;
    if (entry.job.ended) return this.#tell(entry);
    if (graceMs <= 0) return entry.group.signal("SIGKILL");
    entry.group.signal("SIGTERM");
    const timer = this.#clock.setTimer(graceMs, () => entry.group.signal("SIGKILL"));
    void entry.group.exitCode.then(() => timer[Symbol.dispose]());
  }

  /** @throws NotFoundError */
  get(id: string): Job {
    return this.#entry(id).job;
  }

  /** The job that runs the container. @throws NotFoundError */
  find(id: string, container: string): Job {
    const { job } = this.#entry(id);
    if (job.container !== container) throw new NotFoundError(`job ${id} has no container ${container}, only ${job.container}`);
    return job;
  }

  list(): Job[] {
    return Array.from(this.#jobs.values(), ({ job }) => job);
  }

  /** Past and future output of the job. @throws NotFoundError also for a previous instance, since there is none */
  output(id: string, { previous }: { readonly previous: boolean }): ReturnType<Output["read"]> {
    if (previous) throw new NotFoundError(`job ${id} has had only one instance`);
    return this.#entry(id).output.read();
  }

  /** Runs a command beside the job. @returns its exit code, once all its output is written */
  async exec(id: string, command: readonly string[], io: AttachIO, signal: AbortSignal): Promise<number> {
    const { job, env } = this.#entry(id);
    if (job.ended) throw new NotFoundError(`job ${id} has ended`);
    if (io.tty) throw new UnsupportedError("commands cannot have a terminal here; run it without one");
    signal.throwIfAborted();
    const group = new ProcessGroup(command, env);
    this.#commands.add(group);
    try {
      return await group.join(io, signal);
    } finally {
      this.#commands.delete(group);
    }
  }

  /** Resources that the job uses; `undefined` if it does not run. */
  usage(id: string): Usage | undefined {
    const { job, group } = this.#entry(id);
    return job.ended || group.child.pid === undefined ? undefined : usageOf(group.child.pid);
  }

  async close(): Promise<void> {
    this.#listener = () => {};
    const groups = [...this.#commands, ...Array.from(this.#jobs.values(), ({ group }) => group)];
    for (const group of groups) group.signal("SIGKILL");
    await Promise.all(groups.map(({ exitCode }) => exitCode));
  }

  #tell({ job, isStopped }: Entry): void {
    if (isStopped && job.ended) this.#jobs.delete(job.id);
    this.#listener(job);
  }

  #entry(id: string): Entry {
    const entry = this.#jobs.get(id);
    if (!entry) throw new NotFoundError(`there is no job ${id}`);
    return entry;
  }

  #time(): string {
    return new Date(this.#clock.now()).toISOString();
  }
}
