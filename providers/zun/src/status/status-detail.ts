/** How a container ended, as Zun's `status_detail` says it. */
export interface EndDetail {
  /** As Docker has it, -1 to 255. */
  readonly exitCode: number;
  /** How long ago, in milliseconds, as exactly as it is told; `undefined` where it is not. */
  readonly agoMs: number | undefined;
}

const unitMs: Readonly<Record<string, number>> = { second: 1000, min: 60_000, hour: 3_600_000, day: 86_400_000 };

/**
 * Reads `Exited(137) 3 seconds ago `, Zun's only word on an exit code.
 * Source: zun 18.0.0 zun/container/docker/driver.py (`_populate_container_state`, `format_status_detail`); within the
 * first second the time is the word None.
 */
export function tryEndDetail(detail: string | null | undefined): EndDetail | undefined {
  const [, code, amount, unit] = /^Exited\((-?\d+)\)\s*(?:(\d+) (second|min|hour|day)s? ago)?/.exec(detail ?? "") ?? [];
  if (code === undefined) return undefined;
  const agoMs = /\)\s*None ago/.test(detail ?? "") ? 0 : amount === undefined ? undefined : Number(amount) * (unitMs[unit ?? ""] ?? 0);
  return { exitCode: Number(code), agoMs };
}

/**
 * For how long a container has run at least, in milliseconds, as Zun's `Up 5 mins` says it: whole units, rounded down. `undefined` where
 * nothing is told, as in the first second.
 */
export function tryUpMs(detail: string): number | undefined {
  const [, amount, unit] = /^Up (\d+) (second|min|hour|day)s?\b/.exec(detail) ?? [];
  return amount === undefined ? undefined : Number(amount) * (unitMs[unit ?? ""] ?? 0);
}
