import { exitCodes } from "./exit-codes.ts";

/** Ends the program with an exit code of its own. The message is all that is printed, one line for each problem. */
export class ProgramError extends Error {
  readonly exitCode: number;

  /** @param exitCode - one of {@link exitCodes} */
  constructor(message: string, exitCode: number, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.exitCode = exitCode;
  }
}

/** The command line cannot be read. */
export class UsageError extends ProgramError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, exitCodes.usage.code, options);
  }
}

/** A setting is wrong, wherever it was made. */
export class ConfigError extends ProgramError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, exitCodes.config.code, options);
  }
}
