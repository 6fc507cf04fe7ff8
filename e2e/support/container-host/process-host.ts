import { ConflictError } from "@virtual-kubelet/errdefs";
import { startReaper, type Reaper } from "@virtual-kubelet/testing";
import { constants } from "node:os";
import { PassThrough, type Writable } from "node:stream";
import { groupUse } from "../../real-process-provider/group-use.ts";
import { ContainerProcess } from "../../zun/fake/container-process.ts";
import type {
  ContainerGroup,
  ContainerHost,
  ContainerRun,
  GroupSpec,
  HostSession,
  HostTerminalSize,
  LogLine,
  RunSpec,
  RunUsage,
} from "./container-host.ts";
import { pairStreams } from "./pair-streams.ts";
import { nanoTime } from "./pretend-run.ts";
import { HostRun } from "./host-run.ts";

/** A run as a process of this machine. Images are ignored: the entry point and command are programs of the machine. */
class ProcessRun extends HostRun implements ContainerRun {
  readonly #process: ContainerProcess;

  constructor(spec: RunSpec, group: GroupSpec, reaper: Reaper) {
    const { entrypoint = [], command = [], environment = {}, hasInput = false, mounts = [] } = spec;
    const files = mounts.flatMap(({ volume, path }) =>
      (group.volumes?.[volume] ?? []).map((file) => ({ path: `${path}/${file.path}`, content: file.content })),
    );
    const process = new ContainerProcess({ command: [...entrypoint, ...command], env: environment, files, hasInput }, reaper);
    const { startedMs: startedAtMs } = process;
    super(spec, { kind: "pulling", sinceMs: startedAtMs });
    this.#process = process;
    this.add({ kind: "starting", sinceMs: startedAtMs });
    this.add({ kind: "running", startedAtMs });
    void this.#process.exited.then((exitCode) =>
      this.add({
        kind: "exited",
        exitCode,
        startedAtMs,
        endedAtMs: this.#process.ended?.atMs ?? startedAtMs,
        isOutOfMemory: false,
      }),
    );
  }

  async log(): Promise<readonly LogLine[]> {
    return this.#process.log.map(({ timeMs, sequence, text }) => ({
      time: nanoTime(timeMs, sequence),
      stream: "stdout",
      text: `${text}\n`,
    }));
  }

  async exec(command: readonly string[], { terminal }: { readonly terminal?: HostTerminalSize | undefined }): Promise<HostSession> {
    this.#requireRunning();
    const child = this.#process.openTerminal(command, terminal);
    const resize = async ({ rows, columns }: HostTerminalSize): Promise<void> => {
      (child.stdio[3] as Writable | null | undefined)?.write(`${rows} ${columns}\n`);
    };
    const exitCode = new Promise<number>((resolve) => {
      child.once("error", () => resolve(127));
      child.once("close", (code, name) => resolve(code ?? 128 + (name === null ? 0 : constants.signals[name])));
    });
    // The command goes on without a client, and its output is lost.
    const { stdout, stdin } = child;
    if (stdout === null) throw new Error("a terminal has an output");
    const stream = pairStreams(stdout, stdin ?? undefined, () => void stdout.removeAllListeners("data").resume());
    return { stream, exitCode, resize, close: () => void stream.destroy(), kill: () => void child.kill("SIGTERM") };
  }

  async attach(): Promise<HostSession> {
    this.#requireRunning();
    const { child, exited } = this.#process;
    const output = new PassThrough();
    const pass = (chunk: Buffer): void => void (output.writable && output.write(chunk));
    const sources = [child.stdout, child.stderr];
    for (const source of sources) source?.on("data", pass);
    void exited.then(() => output.end());
    const stream = pairStreams(output, child.stdin ?? undefined, () => {
      for (const source of sources) source?.off("data", pass);
    });
    return { stream, exitCode: exited, resize: async () => {}, close: () => void stream.destroy() };
  }

  async stop(graceMs: number): Promise<void> {
    if (graceMs > 0) this.#process.signal("SIGTERM");
    const timer = setTimeout(() => this.#process.signal("SIGKILL"), Math.max(0, graceMs));
    await this.ended;
    clearTimeout(timer);
  }

  async usage(): Promise<RunUsage | undefined> {
    const { pid } = this.#process.child;
    if (this.state.kind !== "running" || pid === undefined) return undefined;
    const { cpuNanoSeconds, rssBytes } = groupUse(pid);
    return { cpuNanoseconds: cpuNanoSeconds, memoryBytes: rssBytes };
  }

  /** Kills the process and removes its files. */
  async remove(): Promise<void> {
    await this.stop(0);
    this.#process.remove();
  }

  #requireRunning(): void {
    if (this.state.kind !== "running") throw new ConflictError(`use container ${this.spec.name}: it does not run`);
  }
}

class ProcessGroup implements ContainerGroup {
  readonly name: string;
  readonly address: string;
  readonly #spec: GroupSpec;
  readonly #reaper: Reaper;
  readonly #forget: () => void;
  readonly #runs: ProcessRun[] = [];

  constructor(spec: GroupSpec, address: string, reaper: Reaper, forget: () => void) {
    this.name = spec.name;
    this.address = address;
    this.#spec = spec;
    this.#reaper = reaper;
    this.#forget = forget;
  }

  run(spec: RunSpec): ProcessRun {
    const run = new ProcessRun(spec, this.#spec, this.#reaper);
    this.#runs.push(run);
    return run;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#forget();
    await Promise.all(this.#runs.map((run) => run.remove()));
  }
}

/**
 * Host whose containers are processes of this machine, for the provider suite without an engine. Files of volumes are written only for mounts
 * below `/tmp/suite-`, and all commands have terminals, so that python3 is needed.
 */
export class ProcessHost implements ContainerHost {
  readonly #reaper = startReaper();
  readonly #groups = new Map<string, ProcessGroup>();
  /** Processes that run tests at the same time give their groups other addresses. */
  #addresses = (process.pid & 0x3fff) << 10;

  async createGroup(spec: GroupSpec): Promise<ContainerGroup> {
    if (this.#groups.has(spec.name)) throw new ConflictError(`create group ${spec.name}: it exists`);
    const number = ++this.#addresses;
    const address = `127.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
    const group = new ProcessGroup(spec, address, this.#reaper, () => void this.#groups.delete(spec.name));
    this.#groups.set(spec.name, group);
    return group;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#groups.values()].map((group) => group[Symbol.asyncDispose]()));
    this.#reaper[Symbol.dispose]();
  }
}
