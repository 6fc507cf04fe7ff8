import { SingleFlight } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";

/** Credentials, as far as they are compared. */
export interface Identity {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** The part of an SDK client that gives its credentials. */
export interface CredentialSource {
  readonly config: { readonly credentials: (options?: { readonly forceRefresh: boolean }) => Promise<Identity> };
}

/** Errors that other credentials may cure. Sources: ECS and CloudWatch Logs API references, "Common Errors" of both. */
const curable: ReadonlySet<unknown> = new Set([
  "ExpiredToken",
  "ExpiredTokenException",
  "RequestExpired",
  "UnrecognizedClientException",
  "InvalidClientTokenId",
]);

/** Errors of a wrong clock. Source: @smithy/service-error-classification, CLOCK_SKEW_ERROR_CODES. */
const ofClock: ReadonlySet<unknown> = new Set([
  "AuthFailure",
  "InvalidSignatureException",
  "RequestExpired",
  "RequestInTheFuture",
  "RequestTimeTooSkewed",
  "SignatureDoesNotMatch",
]);

/** Shortest time between two readings of the chain, so that a service of tokens is not asked for each refused request. */
const minIntervalMs = 10_000;

/**
 * Tells whether a request that AWS has refused because of its signature may be sent again: with other credentials, if the chain has some by now, or with
 * the clock's difference, which the SDK learns from the refusal. By itself the SDK keeps credentials that do not say when they expire, such as those of a
 * file, for as long as the process runs.
 */
export class CredentialRenewal {
  readonly #source: CredentialSource;
  readonly #clock: Clock;
  readonly #flights = new SingleFlight<void>();
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(source: CredentialSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  /** Credentials of the next request; `undefined` if the chain has none, of which the request tells the reason. */
  current(): Promise<Identity | undefined> {
    return this.#source.config.credentials().catch(() => undefined);
  }

  /**
   * Whether a refused request may be sent again.
   *
   * @param error - what the SDK has thrown
   * @param used - {@link current} before the request
   */
  async cures(error: unknown, used: Identity | undefined, signal: AbortSignal): Promise<boolean> {
    if (hasCorrectedClock(error)) return true;
    if (!curable.has(nameOf(error))) return false;
    if (isOther(await this.current(), used)) return true;
    await this.#flights.run("read", () => this.#read(), signal).catch(() => {});
    return isOther(await this.current(), used);
  }

  async #read(): Promise<void> {
    if (this.#clock.monotonic() - this.#readMs < minIntervalMs) return;
    this.#readMs = this.#clock.monotonic();
    await this.#source.config.credentials({ forceRefresh: true });
  }
}

function isOther(current: Identity | undefined, used: Identity | undefined): boolean {
  if (!current) return false;
  return (["accessKeyId", "secretAccessKey", "sessionToken"] as const).some((key) => current[key] !== used?.[key]);
}

function nameOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "name" in error ? error.name : undefined;
}

/** The SDK marks every error while the clock is wrong, whatever it is about. Source: @aws-sdk/core, AwsSdkSigV4Signer. */
function hasCorrectedClock(error: unknown): boolean {
  const { $metadata } = (error ?? {}) as { readonly $metadata?: { readonly clockSkewCorrected?: unknown } };
  return $metadata?.clockSkewCorrected === true && ofClock.has(nameOf(error));
}
