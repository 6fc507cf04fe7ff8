/** A duration as Go prints it, in whole milliseconds: `0s`, `250ms`, `1.5s`, `1m20.5s`. */
export function goDuration(ms: number): string {
  const whole = Math.round(ms);
  if (whole === 0) return "0s";
  if (whole < 1000) return `${whole}ms`;
  const seconds = (whole % 60_000) / 1000;
  const minutes = Math.floor(whole / 60_000);
  if (minutes === 0) return `${seconds}s`;
  return minutes < 60 ? `${minutes}m${seconds}s` : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}s`;
}
