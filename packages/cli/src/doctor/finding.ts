/** Result of a check. `skip`: it could not be made, because something that it needs is missing. */
export type FindingStatus = "pass" | "warn" | "fail" | "skip";

/** What a check found. */
export interface Finding {
  readonly status: FindingStatus;
  /** Stable name, such as `node.ready`. */
  readonly check: string;
  /** Node that it concerns; `undefined` if it concerns the whole program. */
  readonly node?: string | undefined;
  /** What was found, in one sentence. */
  readonly message: string;
  /** Commands for a shell that repair it, in order; a line that starts with `#` says what no command can do. */
  readonly repair: readonly string[];
}

/** A finding without the name of its check. */
export type Judgement = Omit<Finding, "check" | "node"> & { readonly check?: string | undefined };

/** Everything is in order. */
export function pass(message: string): Judgement {
  return { status: "pass", message, repair: [] };
}

/** Something may cause trouble, but the node works. */
export function warn(message: string, ...repair: readonly string[]): Judgement {
  return { status: "warn", message, repair };
}

/** Something does not work. */
export function fail(message: string, ...repair: readonly string[]): Judgement {
  return { status: "fail", message, repair };
}

/** The check does not apply, or could not be made. */
export function skip(message: string, ...repair: readonly string[]): Judgement {
  return { status: "skip", message, repair };
}
