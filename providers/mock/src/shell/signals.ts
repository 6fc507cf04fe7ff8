/** Ends the shell with an exit code, by `exit` or by a signal (128 + n). */
export class ExitSignal extends Error {
  override readonly name = "ExitSignal";
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`exit ${exitCode}`);
    this.exitCode = exitCode & 255;
  }
}

/** Leaves loops, by `break` or `continue`. */
export class LoopSignal extends Error {
  override readonly name = "LoopSignal";
  readonly kind: "break" | "continue";
  readonly levels: number;

  constructor(kind: "break" | "continue", levels: number) {
    super(kind);
    this.kind = kind;
    this.levels = levels;
  }
}

const signalNumbers: Readonly<Record<string, number>> = {
  HUP: 1,
  INT: 2,
  QUIT: 3,
  ABRT: 6,
  KILL: 9,
  USR1: 10,
  USR2: 12,
  PIPE: 13,
  TERM: 15,
};

/** Number of a signal by name or number; `undefined` if unknown. */
export function signalNumber(text: string): number | undefined {
  const name = text.toUpperCase().replace(/^SIG/, "");
  return signalNumbers[name] ?? (/^\d+$/.test(name) && Number(name) < 65 ? Number(name) : undefined);
}
