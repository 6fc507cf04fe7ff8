import { SharedBudget, type StreamingShare } from "@virtual-kubelet/streaming";
import type { KubeletRequest } from "../routes/route.ts";
import type { ThrottledLog } from "../server/throttled-log.ts";

export interface StreamBudgetsOptions {
  readonly maxSharedStreams: number;
  readonly maxSharedBytes: number;
  readonly maxForwards: number;
  readonly maxForwardsPerSession: number;
  readonly throttledLog: ThrottledLog;
}

/** Budgets that all execs, attaches and port-forwards of the server share. */
export class StreamBudgets {
  readonly #streams: SharedBudget;
  readonly #bytes: SharedBudget;
  readonly #forwards: SharedBudget;
  readonly #maxForwardsPerSession: number;
  readonly #throttledLog: ThrottledLog;

  constructor({ maxSharedStreams, maxSharedBytes, maxForwards, maxForwardsPerSession, throttledLog }: StreamBudgetsOptions) {
    this.#streams = new SharedBudget(maxSharedStreams);
    this.#bytes = new SharedBudget(maxSharedBytes);
    this.#forwards = new SharedBudget(maxForwards);
    this.#maxForwardsPerSession = maxForwardsPerSession;
    this.#throttledLog = throttledLog;
  }

  /**
   * Budget share of a request's caller. SPDY streams are counted for port-forwards only, because a command has only a few, and its slot limits them.
   */
  shareOf(request: Pick<KubeletRequest, "user" | "params">, { isForward }: { readonly isForward: boolean }): StreamingShare {
    const caller = callerOf(request);
    return {
      streams: isForward ? this.#streams.share(caller) : undefined,
      bytes: this.#bytes.share(caller),
      onLimit: (limit) => this.logLimit(limit, request),
    };
  }

  /**
   * Reserves a call of the provider's `portForward`.
   *
   * @param inSession - number of calls that the session already has
   * @returns reservation to dispose when the call has returned; `undefined` if a limit is reached
   */
  takeForward(request: Pick<KubeletRequest, "user" | "params">, inSession: number): Disposable | undefined {
    const share = this.#forwards.share(callerOf(request));
    if (inSession < this.#maxForwardsPerSession && share.tryTake(1)) return { [Symbol.dispose]: () => share.add(-1) };
    this.logLimit(inSession < this.#maxForwardsPerSession ? "maxForwards" : "maxForwardsPerSession", request);
    return undefined;
  }

  /** Logs, at most once a minute, that a caller has reached a limit. */
  logLimit(limit: string, { user, params }: Pick<KubeletRequest, "user" | "params">): void {
    const { namespace, pod } = params;
    this.#throttledLog.log(
      "warn",
      limit,
      { limit, user: user.name, pod: `${namespace}/${pod}` },
      "a caller reached a limit of the node's server",
    );
  }
}

/** Key of the caller that a budget is shared by. It includes the namespace, because kube-apiserver is one user for all tenants. */
export function callerOf({ user, params }: Pick<KubeletRequest, "user" | "params">): string {
  return `${user.name}\n${params["namespace"]}`;
}
