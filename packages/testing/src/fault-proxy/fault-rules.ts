import { matches, type Fault, type MatchableRequest, type RequestMatch } from "./faults.ts";

/** An injected fault. Disposing it ends it. */
export interface FaultRule extends Disposable {
  readonly fault: Fault;
  /** Number of requests that it was applied to. */
  readonly hits: number;
}

interface ActiveRule extends FaultRule {
  hits: number;
  readonly match: RequestMatch & { readonly times?: number | undefined };
  /** For `expired-credentials`: the refused credentials. */
  refused?: string | undefined;
}

/** Faults for future requests. If several match, the one that was injected first applies. */
export class FaultRules {
  readonly #rules = new Set<ActiveRule>();

  /** @param match - `times`: number of requests that the fault applies to; default: all until it is disposed */
  add(match: RequestMatch & { readonly times?: number | undefined }, fault: Fault): FaultRule {
    const rule: ActiveRule = { match, fault, hits: 0, [Symbol.dispose]: () => void this.#rules.delete(rule) };
    this.#rules.add(rule);
    return rule;
  }

  clear(): void {
    this.#rules.clear();
  }

  /** Returns the fault for this request and counts it as applied; `undefined` if the request is to be forwarded unchanged. */
  take(request: MatchableRequest & { readonly authorization: string }): Fault | undefined {
    for (const rule of this.#rules) {
      if (!matches(rule.match, request) || !isMeant(rule, request.authorization)) continue;
      rule.hits++;
      if (rule.match.times !== undefined && rule.hits >= rule.match.times) this.#rules.delete(rule);
      return rule.fault;
    }
    return undefined;
  }
}

function isMeant(rule: ActiveRule, authorization: string): boolean {
  if (rule.fault.kind !== "expired-credentials") return true;
  rule.refused ??= authorization;
  return rule.refused === authorization;
}
