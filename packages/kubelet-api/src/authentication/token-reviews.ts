import type { Clock, Random } from "@virtual-kubelet/clock";
import { createHmac, randomBytes } from "node:crypto";
import { resources, type KubeClient, type Metrics, type TokenReview } from "@virtual-kubelet/kube-client";
import type { User } from "../access-control/access-control.ts";
import { ReviewCache, type Review } from "../reviews/review-cache.ts";
import { callReview } from "../reviews/review-call.ts";

/** How long a TokenReview's result is cached. Source: kubelet's default of authentication.webhook.cacheTTL. */
const defaultTokenTtlMs = 120_000;

/** Maximum number of cached results. */
const capacity = 8192;

/** Maximum number of reviews in progress. */
const maxPending = 100;

export interface TokenReviewsOptions {
  readonly client: Pick<KubeClient, "create">;
  readonly clock: Clock;
  readonly random: Random;
  /** Counts `authentication_token_cache_request_total` and `…_fetch_total` (by `status`), and `apiserver_delegated_authn_…`. */
  readonly metrics: Metrics;
  /** How long a result is cached, in milliseconds. Default: {@link defaultTokenTtlMs}. */
  readonly ttlMs?: number | undefined;
  /** Aborts reviews in progress. */
  readonly lifetime: AbortSignal;
}

/** Asks the API server which user a token belongs to. Positive and negative results are cached under a keyed hash of the token. */
export class TokenReviews {
  readonly #options: TokenReviewsOptions;
  readonly #hashKey: Buffer = randomBytes(32);
  readonly #verdicts: ReviewCache<User | undefined>;

  constructor(options: TokenReviewsOptions) {
    this.#options = options;
    this.#verdicts = new ReviewCache({ ...options, capacity, maxPending });
  }

  /**
   * Returns the token's user, or `undefined` if the API server rejects the token.
   *
   * @throws UnavailableError if the API server cannot be asked; `signal.reason` when aborted
   */
  async authenticate(token: string, signal: AbortSignal): Promise<User | undefined> {
    const key = createHmac("sha256", this.#hashKey).update(token).digest("base64");
    const status = this.#verdicts.has(key) ? "hit" : "miss";
    this.#options.metrics.count("authentication_token_cache_request_total", { status });
    return this.#verdicts.get(key, (lifetime) => this.#review(token, lifetime), signal);
  }

  async #review(token: string, lifetime: AbortSignal): Promise<Review<User | undefined>> {
    const { client, metrics, ttlMs = defaultTokenTtlMs } = this.#options;
    let status = "error";
    try {
      const review = await callReview((signal) => client.create(resources.tokenReviews, { spec: { token } }, { signal }), {
        ...this.#options,
        what: "review a bearer token",
        metric: "authn",
        signal: lifetime,
      });
      status = "ok";
      return { answer: userOf(review), ttlMs };
    } finally {
      metrics.count("authentication_token_cache_fetch_total", { status });
    }
  }
}

function userOf({ status }: TokenReview): User | undefined {
  const { username, uid, groups, extra } = status?.user ?? {};
  if (!status?.authenticated || !username) return undefined;
  return { name: username, uid: uid || undefined, groups: groups ?? [], extra: extra as User["extra"] };
}
