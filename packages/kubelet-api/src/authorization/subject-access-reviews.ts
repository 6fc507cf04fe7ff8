import type { Clock, Random } from "@virtual-kubelet/clock";
import { createHash } from "node:crypto";
import { resources, type KubeClient, type Metrics } from "@virtual-kubelet/kube-client";
import type { AccessAttributes, AccessDecision, User } from "../access-control/access-control.ts";
import { ReviewCache, type Review } from "../reviews/review-cache.ts";
import { callReview } from "../reviews/review-call.ts";

/** How long an allowed access is cached. Source: kubelet's default of authorization.webhook.cacheAuthorizedTTL. */
const defaultAllowedTtlMs = 300_000;

/** How long a denied access is cached. Source: kubelet's default of authorization.webhook.cacheUnauthorizedTTL. */
const defaultDeniedTtlMs = 30_000;

/**
 * Maximum number of cached decisions, and the maximum length of a review spec that is cached. Source: kubernetes v1.36.3 apiserver plugin
 * authorizer/webhook.
 */
const capacity = 8192;
const maxKeptLength = 10_000;

/** Maximum number of reviews in progress. */
const maxPending = 100;

export interface SubjectAccessReviewsOptions {
  readonly client: Pick<KubeClient, "create">;
  readonly clock: Clock;
  readonly random: Random;
  /** Counts `apiserver_delegated_authz_request_total` and observes `…_request_duration_seconds`, by `code`. */
  readonly metrics: Metrics;
  /** How long an allowed access is cached, in milliseconds. Default: {@link defaultAllowedTtlMs}. */
  readonly allowedTtlMs?: number | undefined;
  /** How long a denied access is cached, in milliseconds. Default: {@link defaultDeniedTtlMs}. */
  readonly deniedTtlMs?: number | undefined;
  /** Aborts reviews in progress. */
  readonly lifetime: AbortSignal;
}

/** Asks the API server what a user may do with the node. */
export class SubjectAccessReviews {
  readonly #options: SubjectAccessReviewsOptions;
  readonly #decisions: ReviewCache<AccessDecision>;

  constructor(options: SubjectAccessReviewsOptions) {
    this.#options = options;
    this.#decisions = new ReviewCache({ ...options, capacity, maxPending });
  }

  /**
   * Asks for each sub-resource in turn until one is allowed.
   *
   * @throws UnavailableError if the API server cannot be asked; `signal.reason` when aborted
   */
  async authorize(user: User, attributes: AccessAttributes, signal: AbortSignal): Promise<AccessDecision> {
    let refusal: AccessDecision = { allowed: false };
    for (const subresource of attributes.subresources) {
      const decision = await this.#decide(user, attributes, subresource, signal);
      if (decision.allowed) return decision;
      if (decision.reason) refusal = decision;
    }
    return refusal;
  }

  async #decide(
    { name: user, uid, groups, extra }: User,
    { verb, nodeName }: AccessAttributes,
    subresource: string,
    signal: AbortSignal,
  ): Promise<AccessDecision> {
    const resourceAttributes = { verb, version: "v1", resource: "nodes", subresource, name: nodeName };
    const spec = { user, uid, groups: [...groups], extra: copyOf(extra), resourceAttributes };
    const question = JSON.stringify(spec);
    const key = createHash("sha256").update(question).digest("base64");
    return this.#decisions.get(key, (lifetime) => this.#review(spec, question.length <= maxKeptLength, lifetime), signal);
  }

  async #review(spec: Spec, mayKeep: boolean, lifetime: AbortSignal): Promise<Review<AccessDecision>> {
    const { client, allowedTtlMs = defaultAllowedTtlMs, deniedTtlMs = defaultDeniedTtlMs } = this.#options;
    const { status } = await callReview((signal) => client.create(resources.subjectAccessReviews, { spec }, { signal }), {
      ...this.#options,
      what: `review the access of user ${JSON.stringify(spec.user)} to node ${spec.resourceAttributes.name}`,
      metric: "authz",
      signal: lifetime,
    });
    const isAllowed = status?.allowed === true && status.denied !== true;
    if (isAllowed) return { answer: { allowed: true }, ttlMs: mayKeep ? allowedTtlMs : 0 };
    return { answer: { allowed: false, reason: status?.reason || undefined }, ttlMs: mayKeep ? deniedTtlMs : 0 };
  }
}

interface Spec {
  readonly user: string;
  readonly uid: string | undefined;
  readonly groups: string[];
  readonly extra: Record<string, string[]> | undefined;
  readonly resourceAttributes: {
    readonly verb: string;
    readonly version: string;
    readonly resource: string;
    readonly subresource: string;
    readonly name: string;
  };
}

function copyOf(extra: User["extra"]): Spec["extra"] {
  return extra && Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]]));
}
