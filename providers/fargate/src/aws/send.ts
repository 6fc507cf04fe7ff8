import type { BudgetedCall, CallBudget } from "@virtual-kubelet/remote-pods";
import { toError } from "./api-error.ts";

/** The part of a budget that clients use. */
export type Budget = Pick<CallBudget, "run">;

/**
 * Sends a request within the budget, and translates its errors.
 *
 * `attempted` is for messages, and `secrets` are values of the request that no message may hold.
 * @throws errdefs errors; `signal.reason`
 */
export function send<T>(
  budget: Budget,
  { attempted, secrets = [], ...call }: BudgetedCall & { readonly attempted: string; readonly secrets?: readonly string[] | undefined },
  request: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  return budget.run(call, signal, async (attemptSignal) => {
    try {
      return await request(attemptSignal);
    } catch (error) {
      attemptSignal.throwIfAborted();
      throw toError(error, attempted, secrets);
    }
  });
}
