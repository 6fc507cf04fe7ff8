/** Values of a log record, by field name: `pod`, `node`, `uid`, `attempt`, `delayMs`, `err`, … No secrets, no whole objects. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Where the packages log to; a pino logger is one. The message is constant text, what varies is in the fields. */
export interface Logger {
  /** Everything that helps to follow one pod or request. */
  debug(fields: LogFields, message: string): void;
  /** We changed something. */
  info(fields: LogFields, message: string): void;
  /** Something went wrong, and we coped. */
  warn(fields: LogFields, message: string): void;
  /** Somebody must act. */
  error(fields: LogFields, message: string): void;
  /** A logger that adds these fields to every record. */
  child(fields: LogFields): Logger;
}

/** Logs nothing. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};
