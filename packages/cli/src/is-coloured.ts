import type { Context, Output } from "./context.ts";

/** Whether an output shows colors: only a terminal does, unless `NO_COLOR` or `TERM` says otherwise. Source: no-color.org. */
export function isColoured({ isTTY }: Output, env: Context["env"]): boolean {
  return isTTY && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}
