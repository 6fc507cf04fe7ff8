import { SingleFlight } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import { ForbiddenError, isForbidden, messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import { backoffMs, statusOf, type Backoff, type DeepReadonly, type KubeClient, type Logger, type Pod } from "@virtual-kubelet/kube-client";
import { requestToken, type IssuedToken, type TokenWish } from "./token-request.ts";

/** Source: maxTTL and maxJitter in kubernetes v1.36.3 pkg/kubelet/token/token_manager.go. */
const maxAgeMs = 24 * 3_600_000;
const maxJitterMs = 10_000;
/** Remaining fraction of a token's lifetime at which it is renewed. */
const refreshShare = 0.2;

/** Back-off after a failed renewal. */
const refreshBackoff: Backoff = { initialMs: 1_000, maxMs: 60_000 };

export interface ServiceAccountTokensOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** A token, and the time of its renewal. */
export interface HeldToken extends Pick<IssuedToken, "token" | "expirationTimestamp"> {
  /** Monotonic time from which it has to be renewed. */
  readonly refreshAtMs: number;
}

interface Held {
  readonly token: HeldToken;
  readonly expiresAtMs: number;
  failures: number;
  retryAtMs: number;
}

/**
 * Tokens of pods' service accounts, each bound to its pod. A token is requested at its first use, cached, and
 * renewed after 80 % of its lifetime or a day, whichever is first, minus up to ten random seconds. If that
 * fails, the old token is used while it is valid. Lifetimes are measured on the monotonic clock, so it does not
 * matter whether the node's time is the API server's.
 * Source: kubernetes v1.36.3 pkg/kubelet/token/token_manager.go.
 */
export class ServiceAccountTokens {
  readonly #options: ServiceAccountTokensOptions;
  /** By pod UID, then by request. */
  readonly #pods = new Map<string, Map<string, Held>>();
  readonly #requests = new SingleFlight<Held>();

  constructor(options: ServiceAccountTokensOptions) {
    this.#options = options;
  }

  /**
   * Returns a token for the pod.
   *
   * @throws UnavailableError or ForbiddenError, with a kubelet's wording, if there is no valid token; `signal.reason`
   */
  async get(pod: DeepReadonly<Pod>, wish: TokenWish, signal: AbortSignal): Promise<HeldToken> {
    const uid = pod.metadata?.uid ?? "";
    const id = `${wish.expirationSeconds} ${wish.audience ?? ""}`;
    const nowMs = this.#options.clock.monotonic();
    const held = this.#pods.get(uid)?.get(id);
    if (held && nowMs < held.token.refreshAtMs) return held.token;
    if (held && nowMs < held.retryAtMs && nowMs < held.expiresAtMs) return { ...held.token, refreshAtMs: held.retryAtMs };
    try {
      return (await this.#requests.run(`${uid} ${id}`, (inner) => this.#request(pod, wish, inner), signal)).token;
    } catch (error) {
      signal.throwIfAborted();
      return this.#afterFailure(pod, held, error);
    }
  }

  /** Caches tokens of that pod from now on. */
  hold(uid: string): void {
    if (!this.#pods.has(uid)) this.#pods.set(uid, new Map());
  }

  /** Returns the cached tokens of the pod. */
  heldBy(uid: string): string[] {
    return Array.from(this.#pods.get(uid)?.values() ?? [], ({ token }) => token.token);
  }

  /** Drops the tokens of a pod that is gone, which are invalid. */
  release(uid: string): void {
    this.#pods.delete(uid);
  }

  async #request(pod: DeepReadonly<Pod>, wish: TokenWish, signal: AbortSignal): Promise<Held> {
    const { client, clock, random } = this.#options;
    const startedMs = clock.monotonic();
    const { token, expirationTimestamp, expirationSeconds } = await requestToken(client, pod, wish, signal);
    const lifeMs = expirationSeconds * 1000;
    // However short its lifetime, the token is not requested continuously.
    const jitterMs = random.next() * Math.min(maxJitterMs, lifeMs / 10);
    const ageMs = Math.min(lifeMs * (1 - refreshShare), maxAgeMs) - jitterMs;
    const held: Held = {
      token: { token, expirationTimestamp, refreshAtMs: startedMs + ageMs },
      expiresAtMs: startedMs + lifeMs,
      failures: 0,
      retryAtMs: 0,
    };
    this.#pods.get(pod.metadata?.uid ?? "")?.set(`${wish.expirationSeconds} ${wish.audience ?? ""}`, held);
    return held;
  }

  /** Returns the old token if it is still valid; the renewal is retried after a while. */
  #afterFailure(pod: DeepReadonly<Pod>, held: Held | undefined, error: unknown): HeldToken {
    const { clock, random, logger } = this.#options;
    const { namespace = "", name = "", uid } = pod.metadata ?? {};
    const nowMs = clock.monotonic();
    const reason = statusOf(error)?.message ?? messageOf(error);
    if (held && nowMs < held.expiresAtMs) {
      // The first of the callers that shared the request has done this.
      if (held.retryAtMs <= nowMs) {
        held.retryAtMs = nowMs + backoffMs(refreshBackoff, ++held.failures, random);
        const fields = { pod: `${namespace}/${name}`, uid, attempt: held.failures, err: reason };
        logger.warn(fields, "service account token not refreshed; the old one is used");
      }
      return { ...held.token, refreshAtMs: held.retryAtMs };
    }
    const message = held ? `token expired and refresh failed: ${reason}` : `failed to fetch token: ${reason}`;
    throw isForbidden(error) ? new ForbiddenError(message, { cause: error }) : new UnavailableError(message, { cause: error });
  }
}
