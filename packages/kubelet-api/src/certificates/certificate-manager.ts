import type { Clock, Random } from "@virtual-kubelet/clock";
import type { KeyPair } from "@virtual-kubelet/pki";
import type { X509Certificate } from "node:crypto";
import { messageOf } from "@virtual-kubelet/errdefs";
import { backoffMs, type KubeClient, type Logger, type Metrics } from "@virtual-kubelet/kube-client";
import { Listeners } from "../listeners.ts";
import { isValidAt, planCertificate, rotationTimeMs, type DatedCertificate } from "./certificate-plan.ts";
import type { CertificateStore, PendingRequest, StoredCertificates } from "./certificate-store.ts";
import { certificateOf, type KeyPairSource } from "./key-pair.ts";
import { makeSelfSigned, needsSelfSigned } from "./self-signed.ts";
import { allNames, covers, type ServingNames } from "./serving-names.ts";
import { requestOutcome, submitRequest, type RequestOutcome } from "./signing-request.ts";

/** Interval of the checks of the node's addresses and the certificate's validity. */
const lookIntervalMs = 5_000;

/** Time without a decision on a request after which a reminder is logged. Source: client-go v0.36.3 util/certificate, certificateWaitTimeout. */
const patienceMs = 900_000;

/** Delays after a request that could not be created. Source of the first delay: client-go v0.36.3 util/certificate. */
const submitRetry = { initialMs: 2_000, maxMs: 900_000 };

/** Delays after a refused request. They are longer, because the same request will probably be refused again. */
const refusedRetry = { initialMs: 1_800_000, maxMs: 86_400_000 };

/** Options of {@link openCertificateManager}. */
export interface CertificateManagerOptions {
  readonly nodeName: string;
  /** Names for the certificate, derived from the node's addresses; `undefined` while these are unknown. Called every few seconds. */
  readonly names: () => ServingNames | undefined;
  /** Request a certificate from the cluster. Otherwise the certificate stays self-signed. */
  readonly bootstrap: boolean;
  readonly store: CertificateStore;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /**
   * Sets `kubelet_certificate_manager_server_ttl_seconds`, observes `kubelet_certificate_manager_server_rotation_seconds`,
   * counts `kubelet_server_expiration_renew_errors`.
   */
  readonly metrics: Metrics;
}

interface Following {
  readonly name: string;
  readonly stop: AbortController;
}

/**
 * Manages a node's serving certificate. It starts with a self-signed certificate, and replaces it with one of the cluster's signer
 * `kubernetes.io/kubelet-serving` as soon as somebody approves the request. The certificate is renewed before it expires, and when
 * the node's addresses change.
 *
 * Source of the rules: kubernetes v1.36.3 pkg/kubelet/certificate, client-go v0.36.3 util/certificate.
 */
export class CertificateManager implements KeyPairSource {
  readonly #options: CertificateManagerOptions;
  readonly #listeners = new Listeners();
  #served: KeyPair;
  #stored: StoredCertificates;
  #issued: DatedCertificate | undefined;
  #following: Following | undefined;
  #outcome: { readonly of: string; readonly outcome: RequestOutcome } | undefined;
  #wake = new AbortController();
  /** In monotonic time, because a correction of the wall clock must not extend the wait by years. */
  #notBeforeMs = -Infinity;
  #submitFailures = 0;
  #refusals = 0;
  #nextReminderMs = 0;
  #toldOfRequester = false;

  /** Use {@link openCertificateManager}. */
  constructor(options: CertificateManagerOptions, stored: StoredCertificates, served: KeyPair) {
    this.#options = options;
    this.#stored = stored;
    this.#served = served;
    if (stored.issued) this.#issued = dated(stored.issued, options.random);
  }

  /** Certificate and key for new connections: the signer's certificate while it is valid, otherwise the self-signed one. */
  current(): KeyPair {
    return this.#served;
  }

  onChange(listener: () => void): Disposable {
    return this.#listeners.add(listener);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    try {
      while (!signal.aborted) {
        this.#wake = new AbortController();
        await this.#look(signal);
        await clock.sleep(lookIntervalMs, AbortSignal.any([signal, this.#wake.signal])).catch(() => signal.throwIfAborted());
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#follow(undefined, signal);
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { bootstrap, clock, names } = this.#options;
    await this.#applyOutcome();
    const wanted = names();
    if (bootstrap) {
      const nowMs = clock.now();
      const notBeforeMs = nowMs + this.#notBeforeMs - clock.monotonic();
      const situation = { names: wanted, issued: this.#issued, pendingNames: this.#stored.pending?.names, notBeforeMs, nowMs };
      const action = planCertificate(situation);
      if (action.kind === "request") await this.#request(action.names, signal);
      else if (action.kind === "rest" && this.#stored.pending) await this.#save({ ...this.#stored, pending: undefined });
    }
    this.#follow(this.#stored.pending, signal);
    this.#remind();
    await this.#serve(wanted);
    this.#measure();
  }

  /** Creates a request, which replaces a pending one. */
  async #request(names: ServingNames, signal: AbortSignal): Promise<void> {
    const { clock, logger, metrics, nodeName, random } = this.#options;
    try {
      const { createCertificateRequest, generateKey } = await import("@virtual-kubelet/pki");
      const key = generateKey();
      const subject = { commonName: `system:node:${nodeName}`, organizations: ["system:nodes"] };
      const request = createCertificateRequest({ ...subject, names: allNames(names) }, key);
      const { name, uid, username } = await submitRequest(request, this.#options, signal);
      await this.#save({ ...this.#stored, pending: { name, uid, key, names, madeMs: clock.now() } });
      this.#submitFailures = 0;
      this.#nextReminderMs = clock.now() + patienceMs;
      logger.info(
        { csr: name, ...names },
        "requested a serving certificate from the cluster; approve it with: kubectl certificate approve",
      );
      this.#tellOfRequester(name, username);
    } catch (error) {
      signal.throwIfAborted();
      const delayMs = backoffMs(submitRetry, ++this.#submitFailures, random);
      this.#notBeforeMs = clock.monotonic() + delayMs;
      metrics.count("kubelet_server_expiration_renew_errors");
      const fields = { attempt: this.#submitFailures, delayMs: Math.round(delayMs), err: messageOf(error) };
      const message = "cannot request a serving certificate from the cluster; the current one stays in use; will retry";
      if (this.#submitFailures === 1) logger.warn(fields, message);
      else logger.debug(fields, message);
    }
  }

  /** Warns if the requester is not `system:node:NAME`: the signer accepts any requester, but automatic approvers do not. */
  #tellOfRequester(csr: string, username: string): void {
    const { logger, nodeName } = this.#options;
    if (this.#toldOfRequester || username === `system:node:${nodeName}`) return;
    this.#toldOfRequester = true;
    logger.warn(
      { csr, requester: username },
      "automatic approvers accept certificate requests of nodes only from system:node:NAME: approve the request by hand, run as that user, or set a certificate file; until then the certificate is self-signed",
    );
  }

  #follow(pending: PendingRequest | undefined, signal: AbortSignal): void {
    if (this.#following?.name === pending?.name) return;
    this.#following?.stop.abort();
    this.#following = undefined;
    if (!pending || signal.aborted) return;
    const stop = new AbortController();
    this.#following = { name: pending.name, stop };
    const wake = (outcome: RequestOutcome): void => {
      this.#outcome = { of: pending.name, outcome };
      this.#wake.abort();
    };
    requestOutcome(pending, this.#options, AbortSignal.any([signal, stop.signal])).then(wake, (error: unknown) => {
      if (signal.aborted || stop.signal.aborted) return;
      this.#options.logger.warn({ csr: pending.name, err: messageOf(error) }, "cannot follow the request for a serving certificate");
      if (this.#following?.stop === stop) this.#following = undefined;
    });
  }

  async #applyOutcome(): Promise<void> {
    const { of, outcome } = this.#outcome ?? {};
    const { pending } = this.#stored;
    this.#outcome = undefined;
    if (!outcome || !pending || pending.name !== of) return;
    const { clock, logger, metrics, random } = this.#options;
    if (outcome.kind === "issued") {
      const pair = { certificate: outcome.certificate, key: pending.key };
      try {
        const issued = dated(pair, random);
        this.#issued = issued;
        // A certificate that must be replaced at once would cause an endless series of requests.
        if (isOfUse(issued, pending.names, clock.now())) this.#refusals = 0;
        else this.#distrustSigner(pending.name);
        await this.#save({ ...this.#stored, issued: pair, pending: undefined });
        return;
      } catch (error) {
        logger.error({ csr: of, err: messageOf(error) }, "the certificate from the cluster's signer cannot be used");
      }
    } else if (outcome.kind === "refused") {
      const { condition, reason } = outcome;
      logger.warn(
        { csr: of, condition, reason },
        "the request for a serving certificate was refused; the current certificate stays in use",
      );
    } else {
      logger.info({ csr: of }, "the request for a serving certificate was deleted before it was decided");
    }
    metrics.count("kubelet_server_expiration_renew_errors");
    const delayMs =
      outcome.kind === "gone" ? backoffMs(submitRetry, ++this.#submitFailures, random) : backoffMs(refusedRetry, ++this.#refusals, random);
    this.#notBeforeMs = clock.monotonic() + delayMs;
    await this.#save({ ...this.#stored, pending: undefined });
  }

  /** Delays the next request, because it would probably return the same certificate. The certificate is used as long as possible. */
  #distrustSigner(csr: string): void {
    const { clock, logger, metrics, random } = this.#options;
    const delayMs = backoffMs(refusedRetry, ++this.#refusals, random);
    this.#notBeforeMs = clock.monotonic() + delayMs;
    metrics.count("kubelet_server_expiration_renew_errors");
    logger.warn(
      { csr, delayMs: Math.round(delayMs) },
      "the certificate from the cluster's signer lacks an address of the node, or has expired or is not valid yet by this machine's clock",
    );
  }

  /** Logs a reminder of an undecided request after a quarter of an hour, then less and less often. */
  #remind(): void {
    const { clock, logger, metrics } = this.#options;
    const { pending } = this.#stored;
    const nowMs = clock.now();
    if (!pending || nowMs < Math.max(this.#nextReminderMs, pending.madeMs + patienceMs)) return;
    const waitedMs = nowMs - pending.madeMs;
    this.#nextReminderMs = nowMs + waitedMs;
    metrics.count("kubelet_server_expiration_renew_errors");
    logger.warn(
      { csr: pending.name, waitedMinutes: Math.round(waitedMs / 60_000) },
      "the request for a serving certificate is not approved yet; approve it with: kubectl certificate approve",
    );
  }

  /** Puts the best certificate into use: the signer's while it is valid, otherwise a self-signed one. */
  async #serve(names: ServingNames | undefined): Promise<void> {
    const { clock, logger, metrics, nodeName } = this.#options;
    const nowMs = clock.now();
    if (!(this.#issued && isValidAt(this.#issued.certificate, nowMs)) && needsSelfSigned(this.#stored.selfSigned, nodeName, names, nowMs))
      await this.#save({ ...this.#stored, selfSigned: await makeSelfSigned(nodeName, names, nowMs) });
    const best = bestOf(this.#stored, this.#issued?.certificate, nowMs);
    if (!best || best.certificate === this.#served.certificate) return;
    const before = certificateOf(this.#served);
    this.#served = best;
    const isSelfSigned = best === this.#stored.selfSigned;
    logger.info({ selfSigned: isSelfSigned, notAfter: certificateOf(best).validTo }, "the serving certificate has changed");
    if (!isSelfSigned)
      metrics.observe("kubelet_certificate_manager_server_rotation_seconds", (nowMs - before.validFromDate.getTime()) / 1000);
    this.#listeners.notify();
  }

  #measure(): void {
    const { clock, metrics } = this.#options;
    const leftMs = certificateOf(this.#served).validToDate.getTime() - clock.now();
    metrics.gauge("kubelet_certificate_manager_server_ttl_seconds", Math.trunc(leftMs / 1000));
  }

  /** Saves the certificates. If this fails, they stay in memory. */
  async #save(stored: StoredCertificates): Promise<void> {
    const { store, logger } = this.#options;
    this.#stored = stored;
    try {
      await store.save(stored);
    } catch (error) {
      logger.warn({ err: messageOf(error) }, "cannot save the serving certificate; it will be missing after a restart");
    }
  }
}

/**
 * Creates a {@link CertificateManager} with its saved certificates, or with a new self-signed one.
 *
 * @throws InvalidInputError if the saved certificates cannot be read
 */
export async function openCertificateManager(options: CertificateManagerOptions): Promise<CertificateManager> {
  const { clock, logger, names, nodeName, store } = options;
  const stored = usable(await store.load(), logger);
  const nowMs = clock.now();
  const best = bestOf(stored, stored.issued && certificateOf(stored.issued), nowMs);
  if (best) return new CertificateManager(options, stored, best);
  const selfSigned = await makeSelfSigned(nodeName, names(), nowMs);
  const next = { ...stored, selfSigned };
  await store.save(next).catch((error: unknown) => {
    logger.warn({ err: messageOf(error) }, "cannot save the serving certificate; it will be missing after a restart");
  });
  return new CertificateManager(options, next, selfSigned);
}

function bestOf(stored: StoredCertificates, issued: X509Certificate | undefined, nowMs: number): KeyPair | undefined {
  return issued && isValidAt(issued, nowMs) ? stored.issued : stored.selfSigned;
}

/** Whether the certificate matches the request and need not be replaced yet. */
function isOfUse({ certificate, rotateAtMs }: DatedCertificate, names: ServingNames, nowMs: number): boolean {
  return isValidAt(certificate, nowMs) && nowMs < rotateAtMs && covers(certificate, names);
}

function dated(pair: KeyPair, random: Random): DatedCertificate {
  const certificate = certificateOf(pair);
  return { certificate, rotateAtMs: rotationTimeMs(certificate, random) };
}

/** Removes pairs that cannot be read. */
function usable(stored: StoredCertificates, logger: Logger): StoredCertificates {
  const keep = (pair: KeyPair | undefined): KeyPair | undefined => {
    try {
      if (pair) certificateOf(pair);
      return pair;
    } catch (error) {
      logger.warn({ err: messageOf(error) }, "a saved certificate cannot be used; continuing without it");
      return undefined;
    }
  };
  return { ...stored, selfSigned: keep(stored.selfSigned), issued: keep(stored.issued) };
}
