import { readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Systemctl } from "../cgroup/systemd-slices.ts";
import type { FakeCgroups } from "./fake-cgroups.ts";

/** A command that a real systemd was given, its answer, and what held after it. */
export interface RecordedAnswer {
  /** Arguments of systemctl. `@boot`, `@process` and `@end` are steps of the recording: systemd, and a process in a slice. */
  readonly command: readonly string[];
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Paths of the cgroups of slices and of the process. */
  readonly cgroups: readonly string[];
  /** Properties of the slice that the command names, as `systemctl show` prints them. */
  readonly shown?: Readonly<Record<string, string>>;
}

/** What tools/record-systemd/record.ts has recorded. */
export const recordedSystemd = JSON.parse(readFileSync(new URL("./fixtures/systemd.json", import.meta.url), "utf8")) as {
  readonly systemd: string;
  readonly manager: string;
  readonly answers: Readonly<Record<string, readonly RecordedAnswer[]>>;
};

/** The answers of a scenario. @throws an Error for an unknown scenario */
export function recordedAnswers(scenario: string): readonly RecordedAnswer[] {
  const answers = recordedSystemd.answers[scenario];
  if (!answers)
    throw new Error(`no scenario "${scenario}" is recorded: expected one of ${Object.keys(recordedSystemd.answers).join(", ")}`);
  return answers;
}

/**
 * Replays a scenario: each command must be the one that was recorded next. Slices come and go in the machine's cgroups as they did for
 * systemd. The recording had no controllers, so the files with the limits are written here as the kernel would.
 */
export class RecordedSystemd {
  readonly #machine: FakeCgroups;
  readonly #rest: RecordedAnswer[];
  readonly #made = new Set<string>();

  constructor(scenario: string, machine: FakeCgroups) {
    this.#machine = machine;
    this.#rest = [...recordedAnswers(scenario)];
  }

  /** Commands that were not replayed yet. */
  get rest(): readonly string[] {
    return this.#rest.map(({ command }) => command.join(" "));
  }

  /** Replays the step of the recording that begins with `@`. */
  async step(name: "@boot" | "@process" | "@end"): Promise<void> {
    const next = this.#rest.shift();
    if (next?.command[0] !== name) throw new Error(`step ${name}: ${next?.command.join(" ") ?? "nothing"} was recorded here`);
    await this.#apply(next);
  }

  readonly systemctl: Systemctl = async (args) => {
    const next = this.#rest.shift();
    const [recorded, given] = [next?.command.join(" ") ?? "nothing", args.join(" ")];
    if (!next || recorded !== given) throw new Error(`systemctl ${given}: systemd was asked ${recorded} here`);
    await this.#apply(next);
    return { exitCode: next.exitCode, stdout: next.stdout, stderr: next.stderr };
  };

  async #apply({ command: [verb, , slice, ...properties], exitCode, cgroups }: RecordedAnswer): Promise<void> {
    const { root, version } = this.#machine;
    const hierarchies = version === 2 ? [""] : ["cpu,cpuacct", "memory", "pids"];
    for (const path of this.#made)
      if (!cgroups.includes(path))
        for (const hierarchy of hierarchies) await rm(join(root, hierarchy, path), { recursive: true, force: true });
    for (const path of cgroups) for (const hierarchy of hierarchies) await mkdir(join(root, hierarchy, path), { recursive: true });
    for (const path of cgroups) this.#made.add(path);
    const changed = verb === "set-property" && exitCode === 0 ? cgroups.find((path) => basename(path) === slice) : undefined;
    if (changed === undefined) return;
    for (const property of properties) {
      const [name = "", value = ""] = property.split("=");
      const file = files[version][name];
      if (file) await this.#machine.put(changed, file, version === 2 && name === "CPUQuota" ? `${quotaOf(value)} 100000` : quotaOf(value));
    }
  }
}

/** Files of the kernel for properties of systemd. */
const files: Record<1 | 2, Readonly<Record<string, string>>> = {
  1: { CPUShares: "cpu.shares", CPUQuota: "cpu.cfs_quota_us", MemoryLimit: "memory.limit_in_bytes", TasksMax: "pids.max" },
  2: { CPUWeight: "cpu.weight", CPUQuota: "cpu.max", MemoryMax: "memory.max", TasksMax: "pids.max" },
};

/** Microseconds per 100 ms for a percentage; other values as they are. */
function quotaOf(value: string): string {
  return value.endsWith("%") ? String(Number(value.slice(0, -1)) * 1_000) : value;
}
