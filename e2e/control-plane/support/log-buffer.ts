import { inspect } from "node:util";
import type { LogFields, Logger } from "@virtual-kubelet/kube-client";

/** Keeps log records for the output of a failed test. */
export class LogBuffer implements Logger {
  readonly lines: string[];
  readonly #bound: LogFields;

  constructor(lines: string[] = [], bound: LogFields = {}) {
    this.lines = lines;
    this.#bound = bound;
  }

  debug(fields: LogFields, message: string): void {
    this.#log("debug", fields, message);
  }

  info(fields: LogFields, message: string): void {
    this.#log("info", fields, message);
  }

  warn(fields: LogFields, message: string): void {
    this.#log("warn", fields, message);
  }

  error(fields: LogFields, message: string): void {
    this.#log("error", fields, message);
  }

  child(fields: LogFields): Logger {
    return new LogBuffer(this.lines, { ...this.#bound, ...fields });
  }

  #log(level: string, fields: LogFields, message: string): void {
    const text = inspect({ ...this.#bound, ...fields }, { breakLength: Infinity, depth: 2, compact: true });
    this.lines.push(`${new Date().toISOString()} ${level} ${message} ${text}`);
  }
}
