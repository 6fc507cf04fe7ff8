import type { BudgetedCall, CallBudget } from "@virtual-kubelet/remote-pods";
import { toError } from "./api-error.ts";
import type { CredentialRenewal, Identity } from "./credential-renewal.ts";

/** The part of a budget that clients use. */
export type Budget = Pick<CallBudget, "run">;

/** A request to AWS. */
export interface AwsCall extends BudgetedCall {
  /** The attempt and its object, for messages. */
  readonly attempted: string;
  /** Values of the request that no message may hold. */
  readonly secrets?: readonly string[] | undefined;
}

/**
 * Sends a request within the budget, and translates its errors. A request with expired credentials is sent again, once, if there are others.
 *
 * @throws errdefs errors; `signal.reason`
 */
export async function send<T>(
  { budget, renewal }: { readonly budget: Budget; readonly renewal?: Pick<CredentialRenewal, "current" | "cures"> | undefined },
  { attempted, secrets = [], ...call }: AwsCall,
  request: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  let used: Identity | undefined;
  let refusal: unknown;
  const attempt = (): Promise<T> =>
    budget.run(call, signal, async (attemptSignal) => {
      used = await renewal?.current();
      try {
        return await request(attemptSignal);
      } catch (error) {
        attemptSignal.throwIfAborted();
        refusal = error;
        throw toError(error, attempted, secrets);
      }
    });
  try {
    return await attempt();
  } catch (error) {
    if (signal.aborted || !(await renewal?.cures(refusal, used, signal))) throw error;
  }
  return attempt();
}
