import type { Clock } from "@virtual-kubelet/clock";
import type { Reaper } from "@virtual-kubelet/testing";
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { spawnCommand, type ProcessGroup } from "../../real-process-provider/spawn-command.ts";
import { clientAttributes, evaluateText, replaceVariables } from "./interpolate.ts";
import { renderTemplate } from "./render-template.ts";
import type { Json } from "./state.ts";
import { TaskLog } from "./task-log.ts";

/** A task of a job as registered. */
export interface FakeTask {
  readonly Name: string;
  readonly Driver: string;
  readonly Config: Readonly<Record<string, unknown>>;
  readonly Env?: Readonly<Record<string, string>> | null;
  readonly Lifecycle?: { readonly Hook: string; readonly Sidecar: boolean } | null;
  readonly RestartPolicy?: RestartPolicy | null;
  readonly KillTimeout?: number;
  readonly KillSignal?: NodeJS.Signals;
  readonly Templates?: readonly { EmbeddedTmpl: string; DestPath: string; Perms?: string; Envvars?: boolean }[] | null;
}

/** Restart policy of a task. Durations are in nanoseconds. */
export interface RestartPolicy {
  readonly Attempts: number;
  readonly Interval: number;
  readonly Delay: number;
  readonly Mode: string;
}

/** Options of a {@link TaskRunner}. */
export interface TaskOptions {
  readonly clock: Clock;
  readonly reaper: Reaper;
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly restartPolicy: RestartPolicy;
  readonly isBatch: boolean;
  readonly variable: (path: string) => Json | undefined;
  /** Returns a promise that resolves when any variable has changed. */
  readonly variableChange: (signal: AbortSignal) => Promise<void>;
  readonly onChange: () => void;
}

const maxEvents = 10;

/** Runs one task: renders its templates, runs its process and restarts it. */
export class TaskRunner {
  readonly task: FakeTask;
  readonly state: Json & { State: "pending" | "running" | "dead"; Failed: boolean; Restarts: number; Events: Json[] } = {
    State: "pending",
    Failed: false,
    Restarts: 0,
    LastRestart: null,
    StartedAt: null,
    FinishedAt: null,
    Events: [],
  };
  readonly logs: { readonly stdout: TaskLog; readonly stderr: TaskLog };
  /** Resolves when the task has ended for good. */
  readonly done: Promise<void>;
  readonly #options: TaskOptions;
  readonly #done = Promise.withResolvers<void>();
  readonly #killed = new AbortController();
  readonly #env: Record<string, string> = {};
  #group: ProcessGroup | undefined;
  #killTimeout: number;
  #isRestarted = false;

  constructor(task: FakeTask, options: TaskOptions) {
    this.task = task;
    this.#options = options;
    this.#killTimeout = task.KillTimeout ?? 5e9;
    this.done = this.#done.promise;
    mkdirSync(options.directory, { recursive: true });
    this.logs = { stdout: new TaskLog(), stderr: new TaskLog() };
    this.event("Received", "Task received by client");
  }

  get group(): ProcessGroup | undefined {
    return this.state.State === "running" ? this.#group : undefined;
  }

  get env(): Readonly<Record<string, string>> {
    const ours = this.#options.env;
    const own = Object.entries(this.task.Env ?? {}).map(([name, value]) => [name, replaceVariables(value, clientAttributes, ours)]);
    return { ...ours, ...(Object.fromEntries(own) as Record<string, string>), ...this.#env, NOMAD_TASK_NAME: this.task.Name };
  }

  set killTimeout(nanoseconds: number) {
    this.#killTimeout = nanoseconds;
  }

  event(Type: string, DisplayMessage: string, fields: Json = {}): void {
    this.state.Events.push({
      Type,
      Time: this.#options.clock.now() * 1e6,
      DisplayMessage,
      Message: "",
      Details: {},
      ExitCode: 0,
      Signal: 0,
      ...fields,
    });
    if (this.state.Events.length > maxEvents) this.state.Events.shift();
    this.#options.onChange();
  }

  /** Runs the task until it has ended for good. As in Nomad, a task that fails is dead only after its siblings. */
  async run(onFailure: () => Promise<void>): Promise<void> {
    const { signal } = this.#killed;
    this.event("Task Setup", "Building Task Directory");
    const attempts: number[] = [];
    for (;;) {
      if (!(await this.#render(signal))) break;
      const end = await this.#once();
      if (signal.aborted) break;
      if (this.#isRestarted) {
        this.#isRestarted = false;
        Object.assign(this.state, { State: "pending", Restarts: this.state.Restarts + 1, LastRestart: this.#time() });
        this.event("Restarting", "Task restarting in 0s", { Details: { start_delay: "0" } });
        continue;
      }
      const isPrestart = this.task.Lifecycle?.Hook === "prestart" && !this.task.Lifecycle.Sidecar;
      if (end === 0 && (isPrestart || (this.#options.isBatch && !this.task.Lifecycle))) break;
      const { Attempts, Interval, Delay, Mode } = this.task.RestartPolicy ?? this.#options.restartPolicy;
      const now = this.#options.clock.monotonic();
      const recent = attempts.filter((at) => now - at < Interval / 1e6);
      if (end === "unrecoverable" || (recent.length >= Attempts && Mode === "fail")) {
        this.state.Failed = true;
        this.event("Not Restarting", whyNotAgain(end, Attempts), { FailsTask: true });
        await onFailure();
        break;
      }
      const delayMs = recent.length >= Attempts ? Interval / 1e6 - (now - (recent[0] ?? now)) : Delay / 1e6;
      attempts.push(now);
      Object.assign(this.state, { State: "pending", Restarts: this.state.Restarts + 1, LastRestart: this.#time() });
      this.event("Restarting", `Task restarting in ${Math.round(delayMs)}ms`, { Details: { start_delay: String(delayMs * 1e6) } });
      await this.#options.clock.sleep(delayMs, signal).catch(() => {});
      if (signal.aborted) break;
    }
    this.#end();
  }

  /** Ends the process and starts another under any policy. @returns after the process has ended: whether the task was running */
  async restart(): Promise<boolean> {
    const { group } = this;
    if (!group) return false;
    this.#isRestarted = true;
    this.event("Restart Signaled", "User requested task to restart");
    await this.#endProcess(group);
    return true;
  }

  /** Ends the task: sends its kill signal, waits for the kill time-out, then sends SIGKILL. */
  async kill(
    reason: readonly [type: string, message: string] = ["Killing", "Sent interrupt. Waiting 5s before force killing"],
  ): Promise<void> {
    if (this.state.State === "dead") return;
    this.#killed.abort(new Error("killed"));
    if (reason[0] !== "Killing") this.event(...reason);
    const group = this.#group;
    if (!group || this.state.State !== "running") {
      this.#end();
      return;
    }
    this.event("Killing", "Sent interrupt.", { Details: { kill_timeout: `${this.#killTimeout / 1e9}s` } });
    await this.#endProcess(group);
    await this.done;
  }

  async #endProcess(group: ProcessGroup): Promise<void> {
    group.signal(this.task.KillSignal ?? (this.task.Driver === "docker" ? "SIGTERM" : "SIGINT"));
    using _timer = this.#options.clock.setTimer(this.#killTimeout / 1e6, () => group.signal("SIGKILL"));
    await group.exited;
  }

  /** Marks a task as dead that never ran, because its allocation has ended. */
  #end(): void {
    if (this.state.State === "dead") return;
    this.state.State = "dead";
    if (this.state["StartedAt"] !== null) this.state["FinishedAt"] = this.#time();
    if (this.#killed.signal.aborted && this.state["StartedAt"] !== null) this.event("Killed", "Task successfully killed");
    this.logs.stdout.end();
    this.logs.stderr.end();
    this.#options.onChange();
    this.#done.resolve();
  }

  /** Waits until all templates can be written. @returns false if the task was killed first */
  async #render(signal: AbortSignal): Promise<boolean> {
    let told = "";
    while (!signal.aborted) {
      const missing = this.#tryRender();
      if (missing === undefined) return true;
      if (missing !== told) this.event("Template", `Missing: nomad.var.block(${missing}@default.global)`);
      told = missing;
      await this.#options.variableChange(signal).catch(() => {});
    }
    return false;
  }

  /** Writes the templates' files. @returns the missing variable, or `undefined` if all were written */
  #tryRender(): string | undefined {
    for (const { EmbeddedTmpl, DestPath, Perms = "0644", Envvars } of this.task.Templates ?? []) {
      const rendered = renderTemplate(EmbeddedTmpl, this.#options.variable);
      if ("missing" in rendered) return rendered.missing;
      const path = join(this.#options.directory, DestPath);
      mkdirSync(dirname(path), { recursive: true });
      // Replaces the file, because it may be read-only.
      writeFileSync(`${path}.new`, rendered.text, { mode: Number.parseInt(Perms, 8) });
      renameSync(`${path}.new`, path);
      if (!Envvars) continue;
      for (const line of rendered.text.toString().split("\n")) {
        const [, name, value] = /^([A-Za-z_][\w./]*)=(.*)$/.exec(line) ?? [];
        if (name !== undefined && value !== undefined) this.#env[name] = JSON.parse(value) as string;
      }
    }
    return undefined;
  }

  /** Writes the files again after variables have changed. */
  refresh(): void {
    if (this.state.State === "running") this.#tryRender();
  }

  /** Words of a command, with variables replaced and paths in mounts mapped to the real folders. */
  words(raw: readonly string[]): string[] {
    const binds = ((this.task.Config["volumes"] ?? []) as readonly string[]).map((bind) => bind.split(":"));
    return raw.map((word) => {
      for (const [source = "", target = ""] of binds)
        if (word === target || word.startsWith(`${target}/`)) return join(this.#options.directory, source) + word.slice(target.length);
      return word;
    });
  }

  /**
   * Runs the process once. A failed start is repeated according to the policy unless the driver considers the error unrecoverable.
   * Source: Nomad 2.0, `RestartTracker.GetState`.
   *
   * @returns the exit code, or the kind of the start error
   */
  async #once(): Promise<number | "recoverable" | "unrecoverable"> {
    const { reaper, directory } = this.#options;
    const image = this.task.Config["image"];
    if (typeof image === "string" && image.startsWith("missing/")) {
      const text = `Failed to pull \`${image}\`: API error (404): pull access denied`;
      this.event("Driver Failure", text, { Details: { driver_error: text } });
      return "recoverable";
    }
    const { Config } = this.task;
    const interpolate = (text: string): string => evaluateText(text, this.env);
    const list = (key: string): string[] => ((Config[key] ?? []) as string[]).map(interpolate);
    const command = typeof Config["command"] === "string" ? [interpolate(Config["command"])] : [];
    const words = this.words([...list("entrypoint"), ...command, ...list("args")]);
    const [program = ""] = words;
    if (isAbsolute(program) && !existsSync(program)) {
      const text = `Failed to start container ${this.task.Name}: exec: "${program}": stat ${program}: no such file or directory`;
      this.event("Driver Failure", text, { Details: { driver_error: text } });
      return "unrecoverable";
    }
    const group = spawnCommand({ command: words, env: this.env, cwd: directory, stdin: false }, reaper);
    this.#group = group;
    this.state.State = "running";
    this.state["StartedAt"] = this.#time();
    this.event("Started", "Task started by client");
    const copied = (["stdout", "stderr"] as const).map(async (name) => {
      for await (const chunk of group.child[name] ?? []) this.logs[name].append(chunk as Buffer);
    });
    const exitCode = await group.exited;
    await Promise.allSettled(copied);
    this.event("Terminated", `Exit Code: ${exitCode}`, {
      ExitCode: exitCode,
      Details: { exit_code: String(exitCode), oom_killed: "false" },
    });
    return exitCode;
  }

  #time(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }
}

function whyNotAgain(end: unknown, attempts: number): string {
  if (attempts === 0) return "Policy allows no restarts";
  return end === "unrecoverable" ? "Error was unrecoverable" : "Exceeded allowed attempts";
}
