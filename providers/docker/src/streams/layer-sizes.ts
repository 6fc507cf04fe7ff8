import type { FsStats } from "@virtual-kubelet/core";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { inspectForStreams } from "./inspected-container.ts";

/** A size that was measured. */
interface Measured {
  readonly usedBytes: number | undefined;
  /** On the monotonic clock. */
  readonly nextAtMs: number;
}

/** Shortest time between two measurements. Source: cri-dockerd, one minute to twenty. */
const minAgeMs = 60_000;
const maxAgeMs = 20 * 60_000;

/** A measurement may take no more than that part of the time. */
const timeShare = 100;

/** Measurements under way at once, and containers remembered. */
const maxRunning = 2;
const maxRemembered = 5000;

/**
 * Sizes of containers' writable layers. The engine walks over all files of one, so they are measured aside, a few at once,
 * and the rarer the longer it takes; who asks gets what was measured last.
 */
export class LayerSizes implements AsyncDisposable {
  readonly #engine: DockerEngine;
  readonly #measured = new Map<string, Measured>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #closing = new AbortController();

  constructor(engine: DockerEngine) {
    this.#engine = engine;
  }

  /** The size that was measured last; `undefined` until there is one. */
  get(id: string, time: string): FsStats | undefined {
    const known = this.#measured.get(id);
    const isDue = known === undefined || known.nextAtMs <= this.#engine.clock.monotonic();
    if (isDue && this.#running.size < maxRunning && !this.#running.has(id) && !this.#closing.signal.aborted) {
      const running = this.#measure(id).finally(() => this.#running.delete(id));
      this.#running.set(id, running);
    }
    return known?.usedBytes === undefined ? undefined : { time, usedBytes: known.usedBytes };
  }

  /** Ends what is being measured. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error("nobody measures any more"));
    await Promise.all(this.#running.values());
  }

  /** Never rejects: a size that cannot be had is absent until the next time. */
  async #measure(id: string): Promise<void> {
    const { clock } = this.#engine;
    const beganAtMs = clock.monotonic();
    let usedBytes: number | undefined;
    try {
      ({ layerBytes: usedBytes } = await inspectForStreams(this.#engine, id, this.#closing.signal, { size: true }));
    } catch {
      // It may be gone.
    }
    const endedAtMs = clock.monotonic();
    const ageMs = Math.min(maxAgeMs, Math.max(minAgeMs, (endedAtMs - beganAtMs) * timeShare));
    this.#measured.delete(id);
    this.#measured.set(id, { usedBytes, nextAtMs: endedAtMs + ageMs });
    const [oldest] = this.#measured.keys();
    if (this.#measured.size > maxRemembered && oldest !== undefined) this.#measured.delete(oldest);
  }
}
