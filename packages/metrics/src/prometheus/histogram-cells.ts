/** Observations under one set of labels. */
interface Cell {
  readonly labels: Readonly<Record<string, string>>;
  /** Observations in each bucket, and above all of them; not cumulative. */
  readonly counts: number[];
  sum: number;
}

/** One line of a histogram, as prom-client's registry takes it. */
export interface HistogramLine {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** Prometheus's own. Source: client_golang, `DefBuckets`. */
const defaultBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * A histogram whose observations cost an addition each. prom-client's own finds a bucket by the text of its bound, and was a fortieth of
 * all that a node spent on a pod.
 */
export class HistogramCells {
  readonly #name: string;
  readonly #labelNames: readonly string[];
  readonly #bounds: readonly number[];
  readonly #cells = new Map<string, Cell>();
  /** The cell of the labels that came last: a caller often keeps its labels. */
  #last: { readonly given: Readonly<Record<string, string>>; readonly cell: Cell } | undefined;

  /** @param bounds - upper bounds of the buckets, ascending; default: Prometheus's own */
  constructor(name: string, labelNames: readonly string[], bounds: readonly number[] = defaultBuckets) {
    this.#name = name;
    this.#labelNames = labelNames;
    this.#bounds = bounds;
  }

  /** @throws TypeError for other labels than the first observation had, and for a value that is no number */
  observe(labels: Readonly<Record<string, string>>, value: number): void {
    if (!Number.isFinite(value)) throw new TypeError(`${this.#name}: ${value} is no value of a histogram`);
    const cell = this.#cell(labels);
    const bucket = this.#bounds.findIndex((bound) => value <= bound);
    const index = bucket < 0 ? this.#bounds.length : bucket;
    cell.counts[index] = (cell.counts[index] ?? 0) + 1;
    cell.sum += value;
  }

  /** All lines: for each set of labels its buckets, cumulative, then sum and count. */
  lines(): HistogramLine[] {
    return [...this.#cells.values()].flatMap(({ labels, counts, sum }) => {
      let count = 0;
      const buckets = [...this.#bounds, "+Inf"].map((le, index) => {
        count += counts[index] ?? 0;
        return { metricName: `${this.#name}_bucket`, labels: { le, ...labels }, value: count };
      });
      return [
        ...buckets,
        { metricName: `${this.#name}_sum`, labels, value: sum },
        { metricName: `${this.#name}_count`, labels, value: count },
      ];
    });
  }

  #cell(given: Readonly<Record<string, string>>): Cell {
    if (this.#last?.given === given) return this.#last.cell;
    const key = this.#keyOf(given);
    let cell = this.#cells.get(key);
    if (!cell) {
      cell = { labels: { ...given }, counts: [...this.#bounds, Infinity].map(() => 0), sum: 0 };
      this.#cells.set(key, cell);
    }
    this.#last = { given, cell };
    return cell;
  }

  #keyOf(labels: Readonly<Record<string, string>>): string {
    for (const name in labels) if (!this.#labelNames.includes(name)) throw new TypeError(`${this.#name}: there is no label ${name}`);
    return this.#labelNames.map((name) => labels[name] ?? "").join("\0");
  }
}
