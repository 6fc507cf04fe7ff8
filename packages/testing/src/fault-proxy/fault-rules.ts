import { matches, type Fault, type MatchableRequest, type RequestMatch } from "./faults.ts";

/** A fault and the requests it is for. Disposing it ends it. */
export interface FaultRule extends Disposable {
  readonly fault: Fault;
  /** How many requests it was applied to. */
  readonly hits: number;
}

interface ActiveRule extends FaultRule {
  hits: number;
  readonly match: RequestMatch & { readonly times?: number | undefined };
  /** For `expired-credentials`: what is refused. */
  refused?: string | undefined;
}

/** The faults that wait for requests. Of several that match, the one injected first is applied. */
export class FaultRules {
  readonly #rules = new Set<ActiveRule>();

  /** @param match - `times`: how many requests it is for; default all until it is disposed */
  add(match: RequestMatch & { readonly times?: number | undefined }, fault: Fault): FaultRule {
    const rule: ActiveRule = { match, fault, hits: 0, [Symbol.dispose]: () => void this.#rules.delete(rule) };
    this.#rules.add(rule);
    return rule;
  }

  clear(): void {
    this.#rules.clear();
  }

  /** The fault for this request, which counts as applied; `undefined` if it is to go through. */
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
