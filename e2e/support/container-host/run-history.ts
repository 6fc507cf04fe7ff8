import { hasEnded, type RunEnd, type RunState } from "./container-host.ts";

/** States of a run in order. After an end, further states are ignored. */
export class RunHistory {
  readonly #states: RunState[];
  readonly #started = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<RunEnd>();

  constructor(first: RunState) {
    this.#states = [first];
  }

  get states(): readonly RunState[] {
    return this.#states;
  }

  get last(): RunState {
    const last = this.#states.at(-1);
    if (last === undefined) throw new Error("a history has at least one state");
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

  add(state: RunState): void {
    if (hasEnded(this.last)) return;
    this.#states.push(state);
    if (state.kind === "running" || hasEnded(state)) this.#started.resolve();
    if (hasEnded(state)) this.#ended.resolve(state);
  }
}
