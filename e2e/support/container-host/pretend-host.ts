import type { Clock } from "@virtual-kubelet/clock";
import { ConflictError } from "@virtual-kubelet/errdefs";
import type { ContainerGroup, ContainerHost, GroupSpec, RunSpec } from "./container-host.ts";
import { PretendRun } from "./pretend-run.ts";
import type { ChooseScript } from "./run-script.ts";

/** Options of a {@link PretendHost}. */
export interface PretendHostOptions {
  readonly clock: Clock;
  /** Default: every container starts at once and runs until it is stopped. */
  readonly script?: ChooseScript | undefined;
}

/** A group whose runs only pretend. */
export class PretendGroup implements ContainerGroup {
  readonly name: string;
  readonly address: string;
  readonly spec: GroupSpec;
  /** All runs, in the order of their start. */
  readonly runs: PretendRun[] = [];
  readonly #options: PretendHostOptions;
  readonly #forget: () => void;

  constructor(spec: GroupSpec, address: string, options: PretendHostOptions, forget: () => void) {
    this.spec = spec;
    this.name = spec.name;
    this.address = address;
    this.#options = options;
    this.#forget = forget;
  }

  run(spec: RunSpec): PretendRun {
    const { clock, script } = this.#options;
    const run = new PretendRun(spec, script?.(spec, this.name) ?? {}, clock);
    this.runs.push(run);
    return run;
  }

  /** Last run of a container. @throws Error if it has none */
  last(container: string): PretendRun {
    const run = this.runs.findLast(({ spec }) => spec.name === container);
    if (run === undefined) throw new Error(`container ${container} of group ${this.name} has not run`);
    return run;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#forget();
    await Promise.all(this.runs.map((run) => run.stop(0)));
  }
}

/** Host that runs nothing: its containers go through the states of their scripts on an injected clock. */
export class PretendHost implements ContainerHost {
  readonly groups: Map<string, PretendGroup> = new Map<string, PretendGroup>();
  readonly #options: PretendHostOptions;
  #addresses = 0;

  constructor(options: PretendHostOptions) {
    this.#options = options;
  }

  async createGroup(spec: GroupSpec): Promise<PretendGroup> {
    if (this.groups.has(spec.name)) throw new ConflictError(`create group ${spec.name}: it exists`);
    const number = ++this.#addresses;
    const address = `10.240.${(number >> 8) & 255}.${number & 255}`;
    const group = new PretendGroup(spec, address, this.#options, () => void this.groups.delete(spec.name));
    this.groups.set(spec.name, group);
    return group;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.groups.values()].map((group) => group[Symbol.asyncDispose]()));
  }
}
