import type { Clock } from "@virtual-kubelet/clock";
import { ConflictError } from "@virtual-kubelet/errdefs";
import { duplexPair } from "node:stream";
import type { ContainerRun, HostSession, HostTerminalSize, LogLine, RunSpec, RunUsage } from "./container-host.ts";
import { hasEnded } from "./container-host.ts";
import { HostRun } from "./host-run.ts";
import type { RunScript } from "./run-script.ts";

/** Exit code after SIGKILL. */
const killedCode = 137;
const unknownCommandCode = 127;
const defaultUsage = { cpuNanosecondsPerSecond: 10_000_000, memoryBytes: 8 * 1024 * 1024 };

/** A run that only goes through the states of its script. */
export class PretendRun extends HostRun implements ContainerRun {
  readonly #script: RunScript;
  readonly #clock: Clock;
  readonly #sessions = new Set<HostSession>();
  #timer: Disposable | undefined;
  #stop: { readonly dueMs: number; readonly timer: Disposable } | undefined;

  constructor(spec: RunSpec, script: RunScript, clock: Clock) {
    super(spec, { kind: "pulling", sinceMs: clock.now() });
    this.#script = script;
    this.#clock = clock;
    this.#after(script.pullMs ?? 0, () => this.#pulled());
  }

  async log(): Promise<readonly LogLine[]> {
    const startedAtMs = this.#startedAtMs();
    if (startedAtMs === undefined) return [];
    const untilMs = hasEnded(this.state) ? this.state.endedAtMs : this.#clock.now();
    const lines = (this.#script.lines ?? []).filter(({ afterMs }) => startedAtMs + afterMs <= untilMs);
    return lines.map(({ afterMs, stream = "stdout", text }, index) => ({ time: nanoTime(startedAtMs + afterMs, index), stream, text }));
  }

  async exec(command: readonly string[], { terminal }: { readonly terminal?: HostTerminalSize | undefined }): Promise<HostSession> {
    this.#requireRunning();
    const [client, inner] = duplexPair();
    let size = terminal;
    const work = this.#script.exec ?? unknownCommand;
    const code = Promise.withResolvers<number>();
    const session: HostSession = {
      stream: client,
      exitCode: code.promise,
      resize: async (changed) => void (size = changed),
      close: () => void client.destroy(),
      kill: () => end(killedCode),
    };
    this.#sessions.add(session);
    const end = (exitCode: number): void => {
      this.#sessions.delete(session);
      if (!inner.writableEnded) inner.end();
      code.resolve(exitCode);
    };
    for (const side of [client, inner]) side.on("error", () => {});
    void this.ended.then(() => end(killedCode));
    void work(command, { stream: inner, size: () => size }).then(end, () => end(1));
    return session;
  }

  async attach(): Promise<HostSession> {
    return this.exec([], {});
  }

  async stop(graceMs: number): Promise<void> {
    if (hasEnded(this.state)) return;
    if (this.state.kind === "running") this.#stopRunning(graceMs);
    else this.#refuse("start", "the container was stopped before it started");
    await this.ended;
  }

  async usage(): Promise<RunUsage | undefined> {
    if (this.state.kind !== "running") return undefined;
    const { cpuNanosecondsPerSecond, memoryBytes } = this.#script.usage ?? defaultUsage;
    const seconds = (this.#clock.now() - this.state.startedAtMs) / 1000;
    return { cpuNanoseconds: Math.round(cpuNanosecondsPerSecond * seconds), memoryBytes };
  }

  /** Ends the run as if its process had exited. */
  exit(exitCode: number, { isOutOfMemory = false }: { readonly isOutOfMemory?: boolean } = {}): void {
    this.#exit(exitCode, isOutOfMemory);
  }

  #pulled(): void {
    const { refused, startMs = 0 } = this.#script;
    if (refused?.why === "image") return this.#refuse("image", refused.message);
    this.add({ kind: "starting", sinceMs: this.#clock.now() });
    this.#after(startMs, () => this.#start());
  }

  #start(): void {
    const { refused, exit } = this.#script;
    if (refused) return this.#refuse(refused.why, refused.message);
    this.add({ kind: "running", startedAtMs: this.#clock.now() });
    if (exit) this.#after(exit.afterMs, () => this.#exit(exit.exitCode, exit.isOutOfMemory));
  }

  /** A second stop can only shorten the first. */
  #stopRunning(graceMs: number): void {
    const { onTerminate = { afterMs: 0, exitCode: 0 } } = this.#script;
    const isKilled = onTerminate === "ignore" || graceMs <= 0 || onTerminate.afterMs > graceMs;
    const [ms, exitCode] = isKilled ? [Math.max(0, graceMs), killedCode] : [onTerminate.afterMs, onTerminate.exitCode];
    if (ms === 0) return this.#exit(exitCode);
    const dueMs = this.#clock.monotonic() + ms;
    if (this.#stop !== undefined && this.#stop.dueMs <= dueMs) return;
    this.#stop?.timer[Symbol.dispose]();
    this.#stop = { dueMs, timer: this.#clock.setTimer(ms, () => this.#exit(exitCode)) };
  }

  #exit(exitCode: number, isOutOfMemory = false): void {
    const startedAtMs = this.#startedAtMs();
    if (startedAtMs === undefined) return this.#refuse("start", `the container ended with ${exitCode} before it started`);
    this.#freeTimers();
    this.add({ kind: "exited", exitCode, startedAtMs, endedAtMs: this.#clock.now(), isOutOfMemory });
  }

  #refuse(why: "image" | "start", message: string): void {
    this.#freeTimers();
    this.add({ kind: "refused", why, message, endedAtMs: this.#clock.now() });
  }

  #freeTimers(): void {
    this.#timer?.[Symbol.dispose]();
    this.#stop?.timer[Symbol.dispose]();
  }

  #startedAtMs(): number | undefined {
    const running = this.history.find(({ kind }) => kind === "running");
    return running?.kind === "running" ? running.startedAtMs : undefined;
  }

  #requireRunning(): void {
    if (this.state.kind !== "running") throw new ConflictError(`use container ${this.spec.name}: it does not run`);
  }

  /** Schedules the run's next own step; without a delay it is taken at once. */
  #after(ms: number, step: () => void): void {
    if (ms <= 0) step();
    else this.#timer = this.#clock.setTimer(ms, step);
  }
}

async function unknownCommand(command: readonly string[], { stream }: { readonly stream: NodeJS.WritableStream }): Promise<number> {
  stream.write(`exec ${command[0] ?? ""}: no such file or directory\r\n`);
  return unknownCommandCode;
}

/** RFC 3339 with nanoseconds. Lines of one millisecond differ in their nanoseconds. */
export function nanoTime(ms: number, sequence: number): string {
  return new Date(ms).toISOString().replace("Z", `${String(sequence % 1_000_000).padStart(6, "0")}Z`);
}
