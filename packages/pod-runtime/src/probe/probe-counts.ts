import type { MetricFamily, MetricSample, PodRef } from "@virtual-kubelet/core";
import type { ProbeKind, ProbeOutcome } from "./probe-schedule.ts";

/** One attempt of a probe. */
export interface CountedProbe {
  readonly container: string;
  readonly kind: ProbeKind;
  readonly outcome: ProbeOutcome;
  readonly seconds: number;
}

/** Upper bounds of the histogram's buckets. Source: DefBuckets of Prometheus, which a kubelet uses. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** A kubelet's label values. */
const types: Readonly<Record<ProbeKind, string>> = { liveness: "Liveness", readiness: "Readiness", startup: "Startup" };

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly uid: string;
  successful: number;
  failed: number;
  /** Successful attempts by bucket. The last bucket has no bound. */
  readonly within: number[];
  seconds: number;
}

/**
 * Counts probe attempts of existing pods.
 *
 * Source: kubernetes v1.36.3 pkg/kubelet/prober: an attempt that could not be made is not counted, and only successful attempts have a
 * duration.
 */
export class ProbeCounts {
  readonly #series = new Map<string, Series>();

  /** Counts one attempt, unless it could not be made. */
  count(pod: PodRef, { container, kind, outcome, seconds }: CountedProbe): void {
    if (outcome === "error") return;
    const key = `${pod.uid}/${container}/${kind}`;
    const series = this.#series.get(key) ?? {
      labels: { probe_type: types[kind], container, pod: pod.name, namespace: pod.namespace },
      uid: pod.uid,
      successful: 0,
      failed: 0,
      within: Array.from({ length: buckets.length + 1 }, () => 0),
      seconds: 0,
    };
    this.#series.set(key, series);
    if (outcome === "failure") {
      series.failed++;
      return;
    }
    series.successful++;
    series.seconds += seconds;
    const bucket = buckets.findIndex((bound) => seconds <= bound);
    const index = bucket < 0 ? buckets.length : bucket;
    series.within[index] = (series.within[index] ?? 0) + 1;
  }

  /** Removes the counts of a pod that is gone. */
  forget({ uid }: PodRef): void {
    for (const [key, series] of this.#series) if (series.uid === uid) this.#series.delete(key);
  }

  /** Metric families of a kubelet's `/metrics/probes`. */
  families(): readonly MetricFamily[] {
    const all = [...this.#series.values()];
    const families: readonly MetricFamily[] = [
      {
        name: "prober_probe_total",
        help: "[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.",
        type: "counter",
        samples: all.flatMap(({ labels, uid, successful, failed }) => [
          ...(successful > 0 ? [{ labels: { ...labels, pod_uid: uid, result: "successful" }, value: successful }] : []),
          ...(failed > 0 ? [{ labels: { ...labels, pod_uid: uid, result: "failed" }, value: failed }] : []),
        ]),
      },
      {
        name: "prober_probe_duration_seconds",
        help: "[ALPHA] Duration in seconds for a probe response.",
        type: "histogram",
        samples: byLabels(all.filter(({ successful }) => successful > 0)).flatMap(histogram),
      },
    ];
    return families.filter(({ samples }) => samples.length > 0);
  }
}

type Durations = Pick<Series, "labels" | "successful" | "within" | "seconds">;

/** Adds up durations of pods with the same name, such as an ending pod and its successor, because a kubelet's histogram has no UID. */
function byLabels(all: readonly Series[]): readonly Durations[] {
  const sums = new Map<string, Durations>();
  for (const { labels, successful, within, seconds } of all) {
    const key = JSON.stringify(labels);
    const sum = sums.get(key);
    sums.set(key, {
      labels,
      successful: successful + (sum?.successful ?? 0),
      within: within.map((count, index) => count + (sum?.within[index] ?? 0)),
      seconds: seconds + (sum?.seconds ?? 0),
    });
  }
  return [...sums.values()];
}

function histogram({ labels, successful, within, seconds }: Durations): readonly MetricSample[] {
  let sum = 0;
  const bounds = within.map((count, index): MetricSample => {
    const bound = buckets[index];
    sum += count;
    return { suffix: "_bucket", labels: { ...labels, le: bound === undefined ? "+Inf" : String(bound) }, value: sum };
  });
  return [...bounds, { suffix: "_sum", labels, value: seconds }, { suffix: "_count", labels, value: successful }];
}
