/** Figures of one contender in one phase, as the guide shows them. */
export interface ShownSide {
  readonly podsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuSeconds: number;
  readonly peakRssMiB: number;
}

/** A contender with its figures while pods are created (`up`) and deleted (`down`). */
export interface ShownRow {
  readonly name: string;
  readonly up: ShownSide;
  readonly down: ShownSide;
}

/** One line of the table of ratios. */
interface Measure {
  readonly name: string;
  readonly better: "more" | "less";
  readonly of: (row: ShownRow) => number;
  /** Aim of the ratio to the contender of that name. */
  readonly aims: Readonly<Record<string, string>>;
}

/** Rounds the figures as the guide shows them, so that readers can check the ratios. */
export function shownSide({ podsPerSecond, p50Ms, p99Ms, cpuSeconds, peakRssMiB }: ShownSide): ShownSide {
  return {
    podsPerSecond: Math.round(podsPerSecond),
    p50Ms: Math.round(p50Ms),
    p99Ms: Math.round(p99Ms),
    cpuSeconds: Number(cpuSeconds.toFixed(2)),
    peakRssMiB: Math.round(peakRssMiB),
  };
}

const measures: readonly Measure[] = [
  ...measuresOf("up", "create→Running", {
    podsPerSecond: { "bare loop": "≥ 0.97" },
    p50Ms: { "bare loop": "≤ 2", kwok: "≤ 0.33" },
    p99Ms: { "bare loop": "≤ 2", kwok: "≤ 0.33" },
    cpuSeconds: { "bare loop": "≤ 1.4", kwok: "≤ 1" },
    peakRssMiB: { "bare loop": "≤ 1.2" },
  }),
  ...measuresOf("down", "delete→gone", { podsPerSecond: { kwok: "≥ 1" }, cpuSeconds: { kwok: "≤ 1.3" } }),
  {
    name: "peak RSS of both phases",
    better: "less",
    of: ({ up, down }) => Math.max(up.peakRssMiB, down.peakRssMiB),
    aims: { "bare loop": "≤ 1.4" },
  },
];

/** Table with every ratio of the first row to each of the others, favourable or not. */
export function ratioTable([ours, ...others]: readonly ShownRow[]): string[] {
  if (!ours) return [];
  return [
    `| ratio | better is | ${others.map(({ name }) => `to ${name} | aim`).join(" | ")} |`,
    `|---|---|${others.map(() => "---|---|").join("")}`,
    ...measures.map(({ name, better, of, aims }) => {
      const cells = others.map((other) => `${(of(ours) / of(other)).toFixed(2)} | ${aims[other.name] ?? ""}`);
      return `| ${name} | ${better} | ${cells.join(" | ")} |`;
    }),
  ];
}

function measuresOf(
  phase: "up" | "down",
  latency: string,
  aims: Readonly<Partial<Record<keyof ShownSide, Measure["aims"]>>>,
): readonly Measure[] {
  const measure = (name: string, better: Measure["better"], key: keyof ShownSide): Measure => ({
    name,
    better,
    of: (row) => row[phase][key],
    aims: aims[key] ?? {},
  });
  return [
    measure(`pods/s ${phase}`, "more", "podsPerSecond"),
    measure(`${latency} p50`, "less", "p50Ms"),
    measure(`${latency} p99`, "less", "p99Ms"),
    measure(`CPU seconds ${phase}`, "less", "cpuSeconds"),
    measure(`peak RSS ${phase}`, "less", "peakRssMiB"),
  ];
}
