import { Api, type ApiAccess } from "./api.ts";

/** How often a node renews its lease: a quarter of the 40 seconds that it lasts. */
export const renewIntervalMs = 10_000;

interface WatchedLease {
  readonly metadata: { readonly name: string };
  readonly spec?: { readonly renewTime?: string };
}

/** Records when nodes renew their leases, as the leases say it. */
export class LeaseWatch implements AsyncDisposable {
  readonly #api: Api;
  readonly #watching: Promise<void>;
  readonly #renewals = new Map<string, number[]>();

  constructor(access: ApiAccess) {
    this.#api = new Api(access, { connections: 1 });
    const path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?watch=1";
    this.#watching = this.#follow(path);
  }

  /** Every gap between two renewals of a lease, in milliseconds. Starts again with the next ones. */
  takeGapsMs(): number[] {
    const gaps = [...this.#renewals.values()].flatMap(gapsOf);
    for (const [name, times] of this.#renewals) this.#renewals.set(name, times.slice(-1));
    return gaps;
  }

  async #follow(path: string): Promise<void> {
    let isOpen = true;
    while (isOpen) {
      try {
        await this.#api.watch(path, (line) => this.#take(JSON.parse(line) as { object: WatchedLease }));
      } catch {
        // The client is closed at the end; the server closes a slow watch with the end of the response.
        isOpen = false;
      }
    }
  }

  #take({ object: { metadata, spec } }: { readonly object: WatchedLease }): void {
    if (spec?.renewTime === undefined) return;
    const time = Date.parse(spec.renewTime);
    const times = this.#renewals.get(metadata.name) ?? [];
    if (times.at(-1) !== time) this.#renewals.set(metadata.name, [...times, time]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#api.close();
    await this.#watching;
  }
}

/** Differences of consecutive numbers. */
export function gapsOf(times: readonly number[]): number[] {
  return times.slice(1).map((time, index) => time - (times[index] ?? time));
}

/** How much later than its interval each renewal came, in milliseconds, at the given share of all; 0 if it was early or there is none. */
export function latenessMs(gapsMs: readonly number[], share: number): number {
  const sorted = gapsMs.toSorted((a, b) => a - b);
  return Math.max(0, (sorted[Math.floor(share * (sorted.length - 1))] ?? 0) - renewIntervalMs);
}

/**
 * Upper bound of the bucket that holds the given share of a histogram's values, over all its series, in the text that Prometheus reads;
 * `undefined` without values.
 */
export function histogramBound(text: string, name: string, share: number): number | undefined {
  const counts = new Map<number, number>();
  for (const [, bound = "", count] of text.matchAll(new RegExp(`^${name}_bucket\\{[^}]*le="([^"]+)"[^}]*\\} (\\S+)$`, "gm"))) {
    const value = bound === "+Inf" ? Infinity : Number(bound);
    counts.set(value, (counts.get(value) ?? 0) + Number(count));
  }
  const total = counts.get(Infinity) ?? 0;
  if (total === 0) return undefined;
  return [...counts].toSorted(([a], [b]) => a - b).find(([, count]) => count >= share * total)?.[0];
}
