const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * The milliseconds in a duration as Go and Kubernetes write it: `0`, `500ms`, `2s`, `1m30s`, `1.5h`.
 *
 * @returns `undefined` for anything else, negative durations and units below a millisecond among it
 */
export function tryDurationMs(text: string): number | undefined {
  if (text === "0") return 0;
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of text.matchAll(/([\d.]+)(ms|s|m|h)/g)) totalMs += Number(amount) * (unitMs[unit ?? ""] ?? 0);
  return Math.round(totalMs);
}
