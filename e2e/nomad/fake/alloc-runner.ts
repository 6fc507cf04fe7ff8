import type { Clock } from "@virtual-kubelet/clock";
import type { Reaper } from "@virtual-kubelet/testing";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { metaVariables } from "./interpolate.ts";
import type { Json } from "./state.ts";
import { TaskRunner, type FakeTask, type RestartPolicy } from "./task-runner.ts";

/** Options of an {@link AllocRunner}. */
export interface AllocOptions {
  readonly clock: Clock;
  readonly reaper: Reaper;
  readonly directory: string;
  readonly variable: (path: string) => Json | undefined;
  readonly variableChange: (signal: AbortSignal) => Promise<void>;
  /** Called when the allocation's states have changed. */
  readonly onUpdate: (fields: Json) => void;
}

/** Interval at which the client updates its servers. Nomad's interval is 200 ms. */
const syncMs = 20;

/** Runs an allocation's tasks in the order of their life cycle, like a Nomad client. */
export class AllocRunner {
  readonly tasks: readonly TaskRunner[];
  /** Resolves when all tasks of the allocation are dead. */
  readonly done: Promise<void>;
  readonly #options: AllocOptions;
  readonly #directory: string;
  #failed = false;
  #over = false;
  #sync: Disposable | undefined;
  #silent = false;

  constructor(id: string, job: Json, options: AllocOptions) {
    this.#options = options;
    this.#directory = join(options.directory, id);
    const [group] = job["TaskGroups"] as readonly { RestartPolicy: RestartPolicy; Tasks: readonly FakeTask[] }[];
    mkdirSync(join(this.#directory, "alloc", "data"), { recursive: true });
    const variables = { NOMAD_ALLOC_ID: id, NOMAD_JOB_ID: String(job["ID"]), NOMAD_ALLOC_DIR: join(this.#directory, "alloc") };
    const env = { ...variables, ...metaVariables((job["Meta"] ?? {}) as Record<string, string>, variables) };
    this.tasks = (group?.Tasks ?? []).map(
      (task) =>
        new TaskRunner(task, {
          ...options,
          directory: join(this.#directory, task.Name),
          env,
          restartPolicy: group?.RestartPolicy ?? { Attempts: 2, Interval: 1.8e12, Delay: 15e9, Mode: "fail" },
          isBatch: job["Type"] === "batch",
          onChange: () => this.#changed(),
        }),
    );
    this.done = this.#run();
  }

  task(name: string): TaskRunner | undefined {
    return this.tasks.find(({ task }) => task.Name === name);
  }

  folderOf(name: string): string {
    return join(this.#directory, name);
  }

  /** Ends all tasks. */
  async stop(): Promise<void> {
    this.#over = true;
    await Promise.all(this.tasks.map((task) => task.kill()));
    await this.done;
  }

  /** Simulates the loss of the client: all tasks end, and nothing is reported. */
  async lose(): Promise<void> {
    this.#silent = true;
    this.#over = true;
    for (const { group } of this.tasks) group?.signal("SIGKILL");
    await this.stop();
  }

  removeFiles(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #run(): Promise<void> {
    const prestart = this.tasks.filter(({ task }) => task.Lifecycle?.Hook === "prestart");
    const mains = this.tasks.filter(({ task }) => !task.Lifecycle);
    const sidecars = prestart.filter(({ task }) => task.Lifecycle?.Sidecar);
    const start = (runner: TaskRunner): Promise<void> => runner.run(() => this.#fail(runner));
    const running = prestart.map(start);
    await this.#until(() => prestart.every((runner) => isThrough(runner)));
    if (!this.#over && !this.#failed) running.push(...mains.map(start));
    else for (const main of mains) void main.kill();
    await Promise.all(mains.map(({ done }) => done));
    await Promise.all(sidecars.map((runner) => runner.kill(["Main Tasks Dead", "Main tasks in the group died"])));
    await Promise.all(running);
    this.#over = true;
    this.#flush();
  }

  /** Called when a task has failed for good: its siblings are killed before the task is reported as dead. */
  async #fail(failed: TaskRunner): Promise<void> {
    this.#failed = true;
    this.#changed();
    await Promise.all(
      this.tasks
        .filter((each) => each !== failed)
        .map((sibling) => sibling.kill(["Sibling Task Failed", `Task's sibling "${failed.task.Name}" failed`])),
    );
  }

  #until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (condition() || this.#over || this.#failed) resolve();
        else this.#options.clock.setTimer(5, look);
      };
      look();
    });
  }

  #changed(): void {
    // A task already reports its state while it is being created.
    this.#sync ??= this.#options.clock.setTimer(syncMs, () => this.#flush());
  }

  #flush(): void {
    this.#sync?.[Symbol.dispose]();
    this.#sync = undefined;
    if (this.#silent) return;
    const TaskStates = Object.fromEntries(this.tasks.map(({ task, state }) => [task.Name, structuredClone(state)]));
    this.#options.onUpdate({ TaskStates, ...this.#status() });
  }

  #status(): Json {
    const states = this.tasks.map(({ state }) => state);
    if (states.every(({ State }) => State === "dead"))
      return this.#failed
        ? { ClientStatus: "failed", ClientDescription: "Failed tasks" }
        : { ClientStatus: "complete", ClientDescription: "All tasks have completed" };
    if (states.some(({ State, StartedAt }) => State === "running" || StartedAt !== null))
      return { ClientStatus: "running", ClientDescription: "Tasks are running" };
    return { ClientStatus: "pending", ClientDescription: "No tasks have started" };
  }
}

function isThrough({ task, state }: TaskRunner): boolean {
  return task.Lifecycle?.Sidecar ? state.State === "running" : state.State === "dead" && !state.Failed;
}
