import type { LogFields, Logger } from "@virtual-kubelet/kube-client";

/** Keeps the log, one line each: level and message. */
export class RecordingLogger implements Logger {
  readonly lines: string[] = [];
  readonly fields: LogFields[] = [];

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

  child(): Logger {
    return this;
  }

  /** Messages of the warnings. */
  get warnings(): string[] {
    return this.lines.filter((line) => line.startsWith("warn ")).map((line) => line.slice(5));
  }

  #log(level: string, fields: LogFields, message: string): void {
    this.lines.push(`${level} ${message}`);
    this.fields.push(fields);
  }
}
