const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * Parses a duration of Go and Kubernetes into milliseconds: `0`, `500ms`, `2s`, `1m30s`, `1.5h`.
 *
 * @returns `undefined` for anything else, including negative durations and units below a millisecond
 */
export function tryDurationMs(text: string): number | undefined {
  if (text === "0") return 0;
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of text.matchAll(/([\d.]+)(ms|s|m|h)/g)) totalMs += Number(amount) * (unitMs[unit ?? ""] ?? 0);
  return Math.round(totalMs);
}

/** Formats a duration like Go, in whole milliseconds: `0s`, `250ms`, `1.5s`, `1m20.5s`, `4h0m0s`. */
export function goDuration(ms: number): string {
  const whole = Math.round(ms);
  if (whole === 0) return "0s";
  if (whole < 1000) return `${whole}ms`;
  const seconds = (whole % 60_000) / 1000;
  const minutes = Math.floor(whole / 60_000);
  if (minutes === 0) return `${seconds}s`;
  return minutes < 60 ? `${minutes}m${seconds}s` : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}s`;
}
