import { exitCodes } from "./exit-codes.ts";

/** Ends the program with a specific exit code. Only the message is printed, with one line for each problem. */
export class ProgramError extends Error {
  readonly exitCode: number;

  /** @param exitCode - one of {@link exitCodes} */
  constructor(message: string, exitCode: number, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.exitCode = exitCode;
  }
}

/** Invalid command line. */
export class UsageError extends ProgramError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, exitCodes.usage.code, options);
  }
}

/** Invalid setting, from any source. */
export class ConfigError extends ProgramError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, exitCodes.config.code, options);
  }
}
