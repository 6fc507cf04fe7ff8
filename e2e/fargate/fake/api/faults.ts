import type { AwsError } from "./aws-error.ts";

/**
 * What happens to a request in place of its usual answer.
 *
 * - `error`: an error, before or, with `afterCommit`, after the request was carried out.
 * - `lost`: the connection is cut, before or, with `afterCommit`, after the request was carried out.
 * - `garbage`: status 200 with a body that is no JSON; the request is carried out.
 * - `hang`: no answer, until the fake is disposed or the client gives up; before or, with `afterCommit`, after the request was carried out.
 * - `answer`: status 200 with this body; the request is not carried out.
 * - `alter`: the request is carried out, and its answer changed.
 */
export type FaultEffect =
  | { readonly kind: "error"; readonly error: AwsError; readonly afterCommit?: boolean }
  | { readonly kind: "lost"; readonly afterCommit?: boolean }
  | { readonly kind: "garbage"; readonly body?: string }
  | { readonly kind: "hang"; readonly afterCommit?: boolean }
  | { readonly kind: "answer"; readonly body: object }
  | { readonly kind: "alter"; readonly alter: (answer: Readonly<Record<string, unknown>>) => object };

/** A fault that a test scripts. */
export interface Fault {
  /** Operation, such as `RunTask`; a pattern for several. */
  readonly operation: string | RegExp;
  /** Which of its requests; default: all. */
  readonly when?: (input: Readonly<Record<string, unknown>>) => boolean;
  /** Number of requests; default: 1. */
  readonly times?: number;
  readonly effect: FaultEffect;
}

/** Faults that are yet to happen. */
export class Faults {
  readonly #pending: { readonly fault: Fault; left: number }[] = [];

  /** Adds a fault. Disposing removes what is left of it. */
  add(fault: Fault): Disposable & AsyncDisposable {
    const entry = { fault, left: fault.times ?? 1 };
    this.#pending.push(entry);
    const remove = (): void => void (entry.left = 0);
    return { [Symbol.dispose]: remove, [Symbol.asyncDispose]: async () => remove() };
  }

  /** The fault of this request, if there is one; it counts as used. */
  take(operation: string, input: Readonly<Record<string, unknown>>): FaultEffect | undefined {
    const entry = this.#pending.find(
      ({ fault, left }) =>
        left > 0 &&
        (typeof fault.operation === "string" ? fault.operation === operation : fault.operation.test(operation)) &&
        (fault.when?.(input) ?? true),
    );
    if (entry === undefined) return undefined;
    entry.left--;
    return entry.fault.effect;
  }
}
