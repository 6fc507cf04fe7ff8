import { untilAborted } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { abandon, type Answer, type ApiRequest, type ApiResponse } from "../http/api-request.ts";
import { failure } from "../http/respond.ts";
import { WatchStream } from "../storage/watch.ts";
import { FaultRules, type ActiveRule, type WhoIs } from "./fault-rules.ts";
import type { Fault, FaultRule, Faults, RequestFault, RequestMatch, RuleMatch, WatchFault } from "./fault.ts";
import { injectedStatus } from "./injected-status.ts";
import { WatchFilter } from "./watch-filter.ts";

/** Options of {@link FaultInjector}. */
export interface FaultInjectorOptions {
  readonly handle: (request: ApiRequest) => Answer;
  readonly clock: Clock;
  readonly random: Random;
  readonly whoIs: WhoIs;
}

/** Wraps the request handler and injects the faults of the rules. */
export class FaultInjector implements Faults, Disposable {
  readonly #options: FaultInjectorOptions;
  readonly #rules: FaultRules;
  readonly #watches = new Map<WatchStream, ApiRequest>();
  readonly #closed = new AbortController();

  constructor(options: FaultInjectorOptions) {
    this.#options = options;
    this.#rules = new FaultRules(options);
  }

  inject(match: RuleMatch, fault: Fault): FaultRule {
    return this.#rules.inject(match, fault);
  }

  disrupt(match: RequestMatch, fault: WatchFault): FaultRule {
    const rule = this.#rules.add(fault);
    for (const [watch, request] of this.#watches) {
      if (!this.#rules.matches(match, request)) continue;
      rule.hits++;
      this.#break(watch, fault, rule);
    }
    return rule;
  }

  clear(): void {
    this.#rules.clear();
  }

  /** Ends pending delays and dropped requests. */
  [Symbol.dispose](): void {
    this.clear();
    this.#closed.abort(new UnavailableError("wait for a response: the API server was closed"));
  }

  /**
   * Handles a request, synchronously unless a fault prevents that.
   *
   * @throws UnavailableError, from the promise, if the connection should be broken
   */
  handle(request: ApiRequest): Answer {
    const rule = this.#rules.take(request);
    if (rule === undefined || isWatchFault(rule.fault)) return this.#answer(request, rule);
    return this.#fail(request, rule.fault);
  }

  #answer(request: ApiRequest, rule?: ActiveRule): Answer {
    const response = this.#options.handle(request);
    if (response instanceof Promise) return response;
    const { body } = response;
    if (!(body instanceof WatchStream)) return response;
    this.#watches.set(body, request);
    body.onClose(() => this.#watches.delete(body));
    if (rule !== undefined && isWatchFault(rule.fault)) this.#break(body, rule.fault, rule);
    return response;
  }

  async #fail(request: ApiRequest, fault: RequestFault): Promise<ApiResponse> {
    if ("forward" in fault && fault.forward === true) abandon(await this.#options.handle(request));
    switch (fault.kind) {
      case "status":
        return failure(injectedStatus(fault));
      case "delay":
        await this.#options.clock.sleep(fault.ms, this.#closed.signal);
        return this.#answer(request);
      case "reset":
        throw new UnavailableError(`${request.method} ${request.url}: the connection was reset by an injected fault`);
      case "drop":
        return await untilAborted(new Promise<never>(() => {}), this.#closed.signal);
      default:
        return fault satisfies never;
    }
  }

  #break(watch: WatchStream, fault: WatchFault, rule: ActiveRule): void {
    const filter = new WatchFilter(watch, fault, this.#options.clock);
    rule.held.add(filter);
    watch.onClose(() => rule.held.delete(filter));
    watch.setFilter(filter);
  }
}

function isWatchFault(fault: Fault): fault is WatchFault {
  return fault.kind === "cut" || fault.kind === "cut-line" || fault.kind === "error-event" || fault.kind === "hold";
}
