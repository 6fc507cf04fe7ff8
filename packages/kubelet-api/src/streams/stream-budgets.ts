import { SharedBudget, type StreamingShare } from "@virtual-kubelet/streaming";
import type { KubeletRequest } from "../routes/route.ts";
import type { ThrottledLog } from "../server/throttled-log.ts";

/** What {@link StreamBudgets} share out. */
export interface StreamBudgetsOptions {
  readonly maxSharedStreams: number;
  readonly maxSharedBytes: number;
  readonly maxForwards: number;
  readonly maxForwardsPerSession: number;
  readonly throttledLog: ThrottledLog;
}

/** What all execs, attaches and port-forwards of the server have together. */
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

  /** The share of a request's caller. Streams are counted for port-forwards: a command has a few, and its slot stands for them. */
  shareOf(request: Pick<KubeletRequest, "user" | "params">, { isForward }: { readonly isForward: boolean }): StreamingShare {
    const caller = callerOf(request);
    return {
      streams: isForward ? this.#streams.share(caller) : undefined,
      bytes: this.#bytes.share(caller),
      onLimit: (limit) => this.tellLimit(limit, request),
    };
  }

  /**
   * Takes a call of the provider's `portForward`.
   *
   * @param inSession - how many the session has already
   * @returns what gives it back, when the call has returned; `undefined` if there may be no more
   */
  takeForward(request: Pick<KubeletRequest, "user" | "params">, inSession: number): Disposable | undefined {
    const share = this.#forwards.share(callerOf(request));
    if (inSession < this.#maxForwardsPerSession && share.tryTake(1)) return { [Symbol.dispose]: () => share.add(-1) };
    this.tellLimit(inSession < this.#maxForwardsPerSession ? "maxForwards" : "maxForwardsPerSession", request);
    return undefined;
  }

  /** Says in the log, once a minute, that somebody met a limit. */
  tellLimit(limit: string, { user, params }: Pick<KubeletRequest, "user" | "params">): void {
    const { namespace, pod } = params;
    this.#throttledLog.log(
      "warn",
      limit,
      { limit, user: user.name, pod: `${namespace}/${pod}` },
      "a caller met a limit of the node's server",
    );
  }
}

/** Who shares a budget: kube-apiserver is one user for everybody, so that the namespace tells tenants apart. */
export function callerOf({ user, params }: Pick<KubeletRequest, "user" | "params">): string {
  return `${user.name}\n${params["namespace"]}`;
}
