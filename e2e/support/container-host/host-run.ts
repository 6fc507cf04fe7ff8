import { hasEnded, type ContainerRun, type RunEnd, type RunSpec, type RunState } from "./container-host.ts";

/** What every run has, whatever its host is: its specification, and its states in order. After an end, further states are ignored. */
export abstract class HostRun implements Pick<ContainerRun, "spec" | "state" | "history" | "started" | "ended"> {
  readonly spec: RunSpec;
  readonly #states: RunState[];
  readonly #started = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<RunEnd>();

  constructor(spec: RunSpec, first: RunState) {
    this.spec = spec;
    this.#states = [first];
  }

  get history(): readonly RunState[] {
    return this.#states;
  }

  get state(): RunState {
    const last = this.#states.at(-1);
    if (last === undefined) throw new Error("a run has at least one state");
    return last;
  }

  /** Resolves when the run has started, or never will. */
  get started(): Promise<void> {
    return this.#started.promise;
  }

  /** Resolves with the end. */
  get ended(): Promise<RunEnd> {
    return this.#ended.promise;
  }

  protected add(state: RunState): void {
    if (hasEnded(this.state)) return;
    this.#states.push(state);
    if (state.kind === "running" || hasEnded(state)) this.#started.resolve();
    if (hasEnded(state)) this.#ended.resolve(state);
  }
}
