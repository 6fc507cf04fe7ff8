import type { ArmAnswer } from "./arm-request.ts";

/** A fault that a test puts in front of the fake. */
export interface FaultRule {
  readonly method?: string | undefined;
  /** Matches the path with its query. */
  readonly path?: RegExp | undefined;
  /** Requests that the fault hits. Default: all until the rule is disposed. */
  readonly times?: number | undefined;
  /** `before`: the request is not carried out. `after`: it is carried out, and its answer is lost or replaced. Default: `before`. */
  readonly when?: "before" | "after" | undefined;
  /** Milliseconds on the fake's clock until the answer is sent. Default: 0. */
  readonly delayMs?: number | undefined;
  /**
   * Answer that is sent instead; `drop`: the connection is closed without an answer; `never`: the connection stays open, and no answer comes; a
   * function changes the real answer.
   */
  readonly answer: ArmAnswer | "drop" | "never" | ((real: ArmAnswer) => ArmAnswer | Promise<ArmAnswer>);
}

/** Faults in the order in which tests added them; the first that matches is used. */
export class FaultRules {
  readonly #rules: { readonly rule: FaultRule; left: number }[] = [];

  /** Adds a fault until the result is disposed. */
  add(rule: FaultRule): Disposable {
    const entry = { rule, left: rule.times ?? Infinity };
    this.#rules.push(entry);
    return { [Symbol.dispose]: () => void (entry.left = 0) };
  }

  /** Takes the fault for a request. */
  take(method: string, pathAndQuery: string): FaultRule | undefined {
    const found = this.#rules.find(
      ({ rule, left }) => left > 0 && (rule.method ?? method) === method && (rule.path?.test(pathAndQuery) ?? true),
    );
    if (found) found.left--;
    return found?.rule;
  }
}

/** Answers of the faults that users of the original have met. */
export const faultAnswers: Readonly<Record<"serverError" | "serverTimeout" | "unavailable" | "garbage" | "html", ArmAnswer>> = {
  serverError: { status: 500, body: { error: { code: "InternalServerError", message: "Encountered internal server error." } } },
  /** Seen although the container group had been created: virtual-kubelet/azure-aci#132. */
  serverTimeout: {
    status: 503,
    body: { error: { code: "ServerTimeout", message: "The request timed out. Diagnostic information: timestamp '20261128T000000Z'." } },
  },
  unavailable: { status: 503, body: { error: { code: "ServiceUnavailable", message: "Service is unavailable." } } },
  garbage: { status: 200, body: '{"value": [{"id"' },
  html: { status: 502, headers: { "content-type": "text/html" }, body: "<html><body>502 Bad Gateway</body></html>" },
};

/** Answer to a request that comes too soon. */
export function throttled(retryAfterSeconds: number): ArmAnswer {
  const body = { error: { code: "TooManyRequests", message: "The request is being throttled." } };
  return { status: 429, headers: { "retry-after": String(retryAfterSeconds) }, body };
}
