/** Values of a log record, by field name: `pod`, `node`, `uid`, `attempt`, `delayMs`, `err`, … No secrets, no whole objects. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Logger of all packages; a pino logger implements it. The message is constant text, and variable parts are in the fields. */
export interface Logger {
  /** For details that help to follow one pod or request. */
  debug(fields: LogFields, message: string): void;
  /** For changes that the program makes. */
  info(fields: LogFields, message: string): void;
  /** For problems that the program handles. */
  warn(fields: LogFields, message: string): void;
  /** For problems that need somebody to act. */
  error(fields: LogFields, message: string): void;
  /** Returns a logger that adds these fields to every record. */
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
