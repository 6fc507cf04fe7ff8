import type * as Expressions from "./expressions.ts";

let loaded: typeof Expressions | undefined;

/**
 * Loads what evaluates expressions. Most servers never need it, so it is loaded with the first object that has an expression; loading takes
 * about 20 ms.
 */
export async function loadExpressions(): Promise<void> {
  loaded ??= await import("./expressions.ts");
}

/** Whether {@link loadExpressions} has finished. */
export function areExpressionsLoaded(): boolean {
  return loaded !== undefined;
}

/**
 * What evaluates expressions.
 *
 * @throws Error before {@link loadExpressions} has finished
 */
export function expressions(): typeof Expressions {
  if (loaded === undefined) throw new Error("evaluate an expression: loadExpressions was not called before");
  return loaded;
}
