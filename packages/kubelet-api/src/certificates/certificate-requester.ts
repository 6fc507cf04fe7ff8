import { messageOf } from "@virtual-kubelet/errdefs";
import { backoffMs, type LogFields } from "@virtual-kubelet/kube-client";
import type { KeyPair } from "@virtual-kubelet/pki";
import type { PendingRequest } from "./certificate-store.ts";
import { allNames, type ServingNames } from "./serving-names.ts";
import {
  requestOutcome,
  submitRequest,
  type CertificatePurpose,
  type RequestOutcome,
  type SigningRequestOptions,
} from "./signing-request.ts";

/** Time without a decision on a request after which a reminder is logged. Source: client-go v0.36.3 util/certificate, certificateWaitTimeout. */
const patienceMs = 900_000;

/** Delays after a request that could not be created. Source of the first delay: client-go v0.36.3 util/certificate. */
const submitRetry = { initialMs: 2_000, maxMs: 900_000 };

/** Delays after a refused request. They are longer, because the same request will probably be refused again. */
const refusedRetry = { initialMs: 1_800_000, maxMs: 86_400_000 };

/** Options of a {@link CertificateRequester}. */
export interface CertificateRequesterOptions extends SigningRequestOptions {
  readonly nodeName: string;
  readonly purpose: CertificatePurpose;
  /** Counts a failed renewal. */
  readonly countFailure: () => void;
}

/** What became of a pending request. */
export type RequestResult =
  | { readonly kind: "issued"; readonly pair: KeyPair }
  /** There will be no certificate; the reason is logged. */
  | { readonly kind: "failed" };

interface Following {
  readonly name: string;
  readonly stop: AbortController;
}

/**
 * Requests a node's certificates from a signer of the cluster, one at a time: creates the key and the request, follows the request until it is
 * decided, and delays the next one after a failure. Its owner keeps the pending request and the certificate.
 */
export class CertificateRequester {
  readonly #options: CertificateRequesterOptions;
  readonly #onOutcome: () => void;
  #following: Following | undefined;
  #outcome: { readonly of: string; readonly outcome: RequestOutcome } | undefined;
  /** In monotonic time, because a correction of the wall clock must not extend the wait by years. */
  #notBeforeMs = -Infinity;
  #submitFailures = 0;
  #refusals = 0;
  #nextReminderMs = 0;

  /** @param onOutcome - called when {@link takeResult} has something to return */
  constructor(options: CertificateRequesterOptions, onOutcome: () => void) {
    this.#options = options;
    this.#onOutcome = onOutcome;
  }

  /** Earliest time for a new request, in milliseconds since the epoch. */
  get notBeforeMs(): number {
    const { clock } = this.#options;
    return clock.now() + this.#notBeforeMs - clock.monotonic();
  }

  /**
   * Creates a key and a request.
   *
   * @returns the request and the API server's name of the requester; `undefined` if it failed, which is logged
   * @throws `signal.reason`
   */
  async request(
    names: ServingNames,
    signal: AbortSignal,
  ): Promise<{ readonly pending: PendingRequest; readonly username: string } | undefined> {
    const { client, clock, logger, nodeName, purpose } = this.#options;
    try {
      const { key, request } = await newRequest(nodeName, names);
      const { name, uid, username } = await submitRequest(request, purpose, client, signal);
      this.#submitFailures = 0;
      this.#nextReminderMs = clock.now() + patienceMs;
      logger.info({ csr: name, ...names }, `requested a ${purpose.name} from the cluster; approve it with: kubectl certificate approve`);
      return { pending: { name, uid, key, request, names, madeMs: clock.now() }, username };
    } catch (error) {
      signal.throwIfAborted();
      const delayMs = this.#delay("submit");
      const fields = { attempt: this.#submitFailures, delayMs: Math.round(delayMs), err: messageOf(error) };
      const message = `cannot request a ${purpose.name} from the cluster; the current one stays in use; will retry`;
      if (this.#submitFailures === 1) logger.warn(fields, message);
      else logger.debug(fields, message);
      return undefined;
    }
  }

  /** Follows a request until it is decided, instead of the previous one; `undefined`: none. */
  follow(pending: PendingRequest | undefined, signal: AbortSignal): void {
    if (this.#following?.name === pending?.name) return;
    this.#following?.stop.abort();
    this.#following = undefined;
    if (!pending || signal.aborted) return;
    const { logger, purpose } = this.#options;
    const stop = new AbortController();
    this.#following = { name: pending.name, stop };
    const tell = (outcome: RequestOutcome): void => {
      this.#outcome = { of: pending.name, outcome };
      this.#onOutcome();
    };
    requestOutcome(pending, this.#options, AbortSignal.any([signal, stop.signal])).then(tell, (error: unknown) => {
      if (signal.aborted || stop.signal.aborted) return;
      logger.warn({ csr: pending.name, err: messageOf(error) }, `cannot follow the request for a ${purpose.name}`);
      if (this.#following?.stop === stop) this.#following = undefined;
    });
  }

  /** What became of the request, once; `undefined` while it is not decided. The pair is not checked. */
  takeResult(pending: PendingRequest | undefined): RequestResult | undefined {
    const { of, outcome } = this.#outcome ?? {};
    this.#outcome = undefined;
    if (!outcome || !pending || pending.name !== of) return undefined;
    if (outcome.kind === "issued") return { kind: "issued", pair: { certificate: outcome.certificate, key: pending.key } };
    const { logger, purpose } = this.#options;
    if (outcome.kind === "refused") {
      const { condition, reason } = outcome;
      logger.warn({ csr: of, condition, reason }, `the request for a ${purpose.name} was refused; the current certificate stays in use`);
    } else {
      logger.info({ csr: of }, `the request for a ${purpose.name} was deleted before it was decided`);
    }
    this.#delay(outcome.kind === "gone" ? "submit" : "refused");
    return { kind: "failed" };
  }

  /** Says that the issued certificate is good, which ends the delays. */
  accept(): void {
    this.#refusals = 0;
  }

  /** Says that the issued certificate is of no use, and delays the next request, because it would probably return the same. */
  distrust(level: "warn" | "error", fields: LogFields, message: string): void {
    const delayMs = this.#delay("refused");
    this.#options.logger[level]({ ...fields, delayMs: Math.round(delayMs) }, message);
  }

  /** Logs a reminder of an undecided request after a quarter of an hour, then less and less often. */
  remind(pending: PendingRequest | undefined): void {
    const { clock, countFailure, logger, purpose } = this.#options;
    const nowMs = clock.now();
    if (!pending || nowMs < Math.max(this.#nextReminderMs, pending.madeMs + patienceMs)) return;
    const waitedMs = nowMs - pending.madeMs;
    this.#nextReminderMs = nowMs + waitedMs;
    countFailure();
    logger.warn(
      { csr: pending.name, waitedMinutes: Math.round(waitedMs / 60_000) },
      `the request for a ${purpose.name} is not approved yet; approve it with: kubectl certificate approve`,
    );
  }

  /** Counts a failure. @returns delay before the next request, in milliseconds */
  #delay(kind: "submit" | "refused"): number {
    const { clock, countFailure, random } = this.#options;
    countFailure();
    const delayMs =
      kind === "submit" ? backoffMs(submitRetry, ++this.#submitFailures, random) : backoffMs(refusedRetry, ++this.#refusals, random);
    this.#notBeforeMs = clock.monotonic() + delayMs;
    return delayMs;
  }
}

/** A new key, and the request for a node's certificate with it, both PEM. Names are those of a serving certificate. */
export async function newRequest(nodeName: string, names: ServingNames): Promise<{ readonly key: string; readonly request: string }> {
  const { createCertificateRequest, generateKey } = await import("@virtual-kubelet/pki");
  const key = generateKey();
  const subject = { commonName: nodeUser(nodeName), organizations: ["system:nodes"] };
  return { key, request: createCertificateRequest({ ...subject, names: allNames(names) }, key) };
}

/** Kubernetes' name of a node's user. */
export function nodeUser(nodeName: string): string {
  return `system:node:${nodeName}`;
}
