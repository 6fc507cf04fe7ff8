import type { Random } from "@virtual-kubelet/clock";
import { accessOf, isResourceAccess, type Access } from "../authorization/access-request.ts";
import type { ApiRequest } from "../http/api-request.ts";
import type { UserInfo } from "../authentication/user-info.ts";
import { parseResourcePath } from "../http/request-target.ts";
import type { Fault, FaultRule, RequestMatch, RuleMatch } from "./fault.ts";

/** Identifies the sender of a request; `undefined` if unknown. */
export type WhoIs = (request: ApiRequest) => UserInfo | undefined;

/** An active rule. */
export interface ActiveRule extends FaultRule {
  hits: number;
  /** Resources that are disposed with the rule. */
  readonly held: Set<Disposable>;
}

/** Active fault rules. If several match, the one injected first applies. */
export class FaultRules {
  readonly #waiting = new Map<ActiveRule, RuleMatch>();
  readonly #all = new Set<ActiveRule>();
  readonly #random: Random;
  readonly #whoIs: WhoIs;

  constructor(options: { readonly random: Random; readonly whoIs: WhoIs }) {
    this.#random = options.random;
    this.#whoIs = options.whoIs;
  }

  /** Adds a rule for future requests. */
  inject(match: RuleMatch, fault: Fault): ActiveRule {
    const rule = this.add(fault);
    this.#waiting.set(rule, match);
    return rule;
  }

  /** Adds a rule that is not matched against requests. */
  add(fault: Fault): ActiveRule {
    const held = new Set<Disposable>();
    const rule: ActiveRule = {
      fault,
      hits: 0,
      held,
      [Symbol.dispose]: () => {
        this.#waiting.delete(rule);
        this.#all.delete(rule);
        for (const each of held) each[Symbol.dispose]();
        held.clear();
      },
    };
    this.#all.add(rule);
    return rule;
  }

  clear(): void {
    for (const rule of this.#all) rule[Symbol.dispose]();
  }

  /** Finds the rule for a request and counts the hit; `undefined` if none applies. */
  take(request: ApiRequest): ActiveRule | undefined {
    for (const [rule, match] of this.#waiting) {
      const { times, probability = 1 } = match;
      if (!this.matches(match, request) || (probability < 1 && this.#random.next() >= probability)) continue;
      rule.hits++;
      if (times !== undefined && rule.hits >= times) this.#waiting.delete(rule);
      return rule;
    }
    return undefined;
  }

  /** Whether the request matches. */
  matches(match: RequestMatch, request: ApiRequest): boolean {
    const { verb, user, path } = match;
    const { pathname, searchParams: query } = new URL(request.url, "https://localhost");
    const access = accessOf(request.method, { path: pathname, query, target: parseResourcePath(pathname) });
    return (
      (verb === undefined || [verb].flat().some((each) => each === access.verb)) &&
      (path === undefined || path.test(request.url)) &&
      matchesResource(match, access, request) &&
      (user === undefined || user === this.#whoIs(request)?.username)
    );
  }
}

function matchesResource({ resource, group, namespace, name }: RequestMatch, access: Access, { body }: ApiRequest): boolean {
  if (!isResourceAccess(access)) return [resource, group, namespace, name].every((part) => part === undefined);
  return (
    (resource === undefined || resource === (access.subresource === "" ? access.resource : `${access.resource}/${access.subresource}`)) &&
    (group === undefined || group === access.group) &&
    (namespace === undefined || namespace === access.namespace) &&
    (name === undefined || name === (access.name === "" ? nameIn(body) : access.name))
  );
}

/** Name in an object's JSON; `undefined` if the body is not an object. */
function nameIn(body: Uint8Array): string | undefined {
  try {
    const object = JSON.parse(Buffer.from(body).toString()) as { metadata?: { name?: string } } | null;
    return object?.metadata?.name;
  } catch {
    return undefined;
  }
}
