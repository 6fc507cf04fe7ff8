import type { Clock } from "@virtual-kubelet/clock";
import { codeOf, messageOf } from "@virtual-kubelet/errdefs";
import type { LogFields, Logger } from "@virtual-kubelet/kube-client";
import { redact } from "../config/redact.ts";
import type { LogLevel } from "../config/settings.ts";
import type { Output } from "../context.ts";

/** A redacted record. */
export interface LogRecord {
  readonly level: LogLevel;
  /** Milliseconds since the epoch. */
  readonly timeMs: number;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface LoggerOptions {
  /** Lowest level that is written. */
  readonly level: LogLevel;
  readonly output: Output;
  readonly clock: Clock;
  /** Formats a record as one line without a newline. */
  format(record: LogRecord): string;
}

const levels: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/**
 * Creates a logger that writes each record as one line. Secrets are removed from all fields. Errors are written as their messages, at level
 * `debug` with their stacks.
 */
export function createLogger(options: LoggerOptions, bound: LogFields = {}): Logger {
  const least = levels.indexOf(options.level);
  const log = (level: LogLevel) => {
    if (levels.indexOf(level) < least) return () => {};
    return (fields: LogFields, message: string): void => {
      const record = { level, timeMs: options.clock.now(), message, fields: toPlainFields({ ...bound, ...fields }, least === 0) };
      options.output.write(`${options.format(record)}\n`);
    };
  };
  return {
    debug: log("debug"),
    info: log("info"),
    warn: log("warn"),
    error: log("error"),
    child: (fields) => createLogger(options, { ...bound, ...fields }),
  };
}

function toPlainFields(fields: LogFields, withStacks: boolean): Record<string, unknown> {
  const plain: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (!(value instanceof Error)) {
      plain[name] = redact(value, name);
      continue;
    }
    plain[name] = redact(messageOf(value));
    const code = codeOf(value);
    if (code !== undefined) plain["code"] ??= code;
    if (withStacks && value.stack !== undefined) plain["stack"] ??= redact(value.stack);
  }
  return plain;
}
