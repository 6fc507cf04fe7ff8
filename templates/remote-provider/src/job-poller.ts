import type { PodUpdate, ProviderHost, ProviderPod } from "@virtual-kubelet/core";

/** Maximum delay between attempts to reach the API, in milliseconds. */
const maxDelayMs = 60_000;

/** All pods, or the ones that could be listed. */
export interface PodListing {
  readonly pods: readonly ProviderPod[];
  /** Why the list may be incomplete; empty if it is complete. */
  readonly problems: readonly string[];
}

export interface JobPollerOptions {
  readonly host: Pick<ProviderHost, "clock" | "random" | "logger">;
  readonly intervalMs: number;
  list(signal: AbortSignal): Promise<PodListing>;
  onUpdate(update: PodUpdate): void;
}

/** Lists the pods at an interval, and reports changes. Backs off while the API is unreachable. */
export class JobPoller implements AsyncDisposable {
  readonly #options: JobPollerOptions;
  readonly #over = new AbortController();
  readonly #run: Promise<void>;
  /** Last reported state, by UID. */
  readonly #reported = new Map<string, { readonly ref: ProviderPod["ref"]; readonly text: string }>();
  /** Problems of the last list, so that each is logged once. */
  #problems = "";
  #kicked = new AbortController();

  /** Starts polling immediately. */
  constructor(options: JobPollerOptions) {
    this.#options = options;
    this.#run = this.#poll(this.#over.signal);
  }

  /** Polls without waiting for the interval, because something has just been changed. */
  kick(): void {
    this.#kicked.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#run;
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { host, list } = this.#options;
    for (let failures = 0; !signal.aborted;) {
      this.#kicked = new AbortController();
      try {
        this.#report(await list(signal));
        if (failures > 0) host.logger.info({ failures }, "the API answers again");
        failures = 0;
      } catch (error) {
        // Logged once for each outage.
        if (!signal.aborted && failures++ === 0) host.logger.warn({ err: error }, "cannot list the jobs; trying again with back-off");
      }
      const wake = failures > 0 ? signal : AbortSignal.any([signal, this.#kicked.signal]);
      await host.clock.sleep(this.#delayMs(failures), wake).catch(() => {});
    }
  }

  /** Exponential back-off, with jitter so that many nodes do not poll at the same time. */
  #delayMs(failures: number): number {
    const { host, intervalMs } = this.#options;
    if (failures === 0) return intervalMs;
    return Math.min(intervalMs * 2 ** Math.min(failures, 10), maxDelayMs) * (0.5 + host.random.next() / 2);
  }

  #report({ pods, problems }: PodListing): void {
    const { onUpdate, host } = this.#options;
    const said = problems.join("; ");
    if (said !== this.#problems && said !== "") host.logger.warn({ problems }, "the list of jobs is incomplete");
    this.#problems = said;
    for (const { ref, status } of pods) {
      const text = JSON.stringify(status);
      if (this.#reported.get(ref.uid)?.text === text) continue;
      this.#reported.set(ref.uid, { ref, text });
      onUpdate({ ref, status });
    }
    // Pods that an incomplete list lacks are unknown, not gone.
    if (said !== "") return;
    const listed = new Set(pods.map(({ ref }) => ref.uid));
    for (const [uid, { ref }] of this.#reported) {
      if (listed.has(uid)) continue;
      this.#reported.delete(uid);
      onUpdate({ ref, gone: true });
    }
  }
}
