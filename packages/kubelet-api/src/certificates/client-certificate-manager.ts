import type { Clock, Random } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { KubeClient, Logger, Metrics } from "@virtual-kubelet/kube-client";
import { dated, isValidAt, planRenewal, type DatedCertificate } from "./certificate-plan.ts";
import { CertificateRequester, type RequestResult } from "./certificate-requester.ts";
import type { CertificateStore, PendingRequest, StoredCertificates } from "./certificate-store.ts";
import { clientCertificateOf } from "./client-certificate.ts";
import { clientPurpose } from "./signing-request.ts";

/** Interval of the checks of the certificate's validity. */
const lookIntervalMs = 5_000;

/** Options of {@link openClientCertificateManager}. */
export interface ClientCertificateManagerOptions {
  readonly nodeName: string;
  /** Must hold a certificate. */
  readonly store: CertificateStore;
  /** Client that identifies itself with the certificate. */
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Sets `kubelet_certificate_manager_client_ttl_seconds`, counts `kubelet_certificate_manager_client_expiration_renew_errors`. */
  readonly metrics: Metrics;
  /** Called when the store holds a new certificate. Errors are logged. */
  readonly onRotated: (signal: AbortSignal) => Promise<void>;
}

/**
 * Renews a node's client certificate before it expires, with the cluster's signer `kubernetes.io/kube-apiserver-client-kubelet`.
 *
 * Source of the rules: kubernetes v1.36.3 pkg/kubelet/certificate, client-go v0.36.3 util/certificate.
 */
export class ClientCertificateManager {
  readonly #options: ClientCertificateManagerOptions;
  readonly #requester: CertificateRequester;
  #stored: StoredCertificates;
  #issued: DatedCertificate;
  /** Certificate that could not be written yet. */
  #unsaved: StoredCertificates | undefined;
  #wake = new AbortController();
  #isToldOfExpiry = false;

  /** Use {@link openClientCertificateManager}. */
  constructor(options: ClientCertificateManagerOptions, stored: StoredCertificates, issued: DatedCertificate) {
    this.#options = options;
    this.#stored = stored;
    this.#issued = issued;
    const countFailure = (): void => options.metrics.count("kubelet_certificate_manager_client_expiration_renew_errors");
    this.#requester = new CertificateRequester({ ...options, purpose: clientPurpose, countFailure }, () => this.#wake.abort());
  }

  /** End of the certificate's validity, in milliseconds since the epoch. */
  get expiresMs(): number {
    return this.#issued.certificate.validToDate.getTime();
  }

  /** Keeps the certificate up to date until aborted, and then resolves. Must be called only once. */
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
      this.#requester.follow(undefined, signal);
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const { pending } = this.#stored;
    const result = this.#requester.takeResult(pending);
    if (result && pending) this.#apply(result, pending);
    if (this.#unsaved) await this.#put(this.#unsaved, signal);
    const { notBeforeMs } = this.#requester;
    const isPending = this.#stored.pending !== undefined || this.#unsaved !== undefined;
    const action = planRenewal({ nowMs: clock.now(), notBeforeMs, issued: this.#issued, isPending });
    if (action.kind === "request") await this.#request(signal);
    this.#requester.follow(this.#stored.pending, signal);
    this.#requester.remind(this.#stored.pending);
    this.#tellOfExpiry();
    this.#measure();
  }

  async #request(signal: AbortSignal): Promise<void> {
    const requested = await this.#requester.request({ dnsNames: [], ips: [] }, signal);
    if (requested) await this.#savePending(requested.pending);
  }

  #apply(result: RequestResult, { name }: PendingRequest): void {
    const { clock, nodeName, random } = this.#options;
    this.#unsaved = { ...this.#stored, pending: undefined };
    if (result.kind === "failed") return;
    let issued: DatedCertificate;
    try {
      issued = dated(clientCertificateOf(result.pair, nodeName), random);
    } catch (error) {
      const fields = { csr: name, err: messageOf(error) };
      return this.#requester.distrust("error", fields, "the certificate from the cluster's signer cannot be used");
    }
    const nowMs = clock.now();
    if (!isValidAt(issued.certificate, nowMs)) {
      const { validFrom: notBefore, validTo: notAfter } = issued.certificate;
      const fields = { csr: name, notBefore, notAfter };
      const message = "the certificate from the cluster's signer has expired or is not valid yet by this machine's clock; it is not used";
      return this.#requester.distrust("warn", fields, message);
    }
    this.#unsaved = { issued: result.pair, pending: undefined };
    this.#issued = issued;
    // A signer whose certificates are due for renewal at once would cause an endless series of requests.
    if (nowMs < issued.rotateAtMs) this.#requester.accept();
    else this.#requester.distrust("warn", { csr: name }, "the certificate from the cluster's signer is due for renewal at once");
  }

  /** Writes what changed, and tries again at the next look if that fails. */
  async #put(stored: StoredCertificates, signal: AbortSignal): Promise<void> {
    const { logger, metrics, onRotated, store } = this.#options;
    const isRotated = stored.issued !== this.#stored.issued;
    try {
      await store.save(stored);
    } catch (error) {
      metrics.count("kubelet_certificate_manager_client_expiration_renew_errors");
      logger.error({ err: messageOf(error) }, "cannot save the new client certificate; the previous one stays in use; will retry");
      return;
    }
    this.#stored = stored;
    this.#unsaved = undefined;
    if (!isRotated) return;
    this.#isToldOfExpiry = false;
    logger.info({ notAfter: this.#issued.certificate.validTo }, "the client certificate was renewed");
    try {
      await onRotated(signal);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ err: messageOf(error) }, "the new client certificate is not in use yet; its file is read again within a minute");
    }
  }

  /** Saves the pending request. If that fails, it stays in memory. */
  async #savePending(pending: PendingRequest): Promise<void> {
    const { logger, store } = this.#options;
    this.#stored = { ...this.#stored, pending };
    try {
      await store.save(this.#stored);
    } catch (error) {
      logger.warn({ err: messageOf(error) }, "cannot save the request for a client certificate; a restart makes a new request");
    }
  }

  #tellOfExpiry(): void {
    const { clock, logger } = this.#options;
    if (this.#isToldOfExpiry || clock.now() < this.expiresMs) return;
    this.#isToldOfExpiry = true;
    logger.error(
      { notAfter: this.#issued.certificate.validTo },
      "the client certificate has expired, so the API server refuses this node: join the cluster again with virtual-kubelet join",
    );
  }

  #measure(): void {
    const { clock, metrics } = this.#options;
    metrics.gauge("kubelet_certificate_manager_client_ttl_seconds", Math.trunc((this.expiresMs - clock.now()) / 1000));
  }
}

/**
 * Creates a {@link ClientCertificateManager} for the certificate in the store.
 *
 * @throws InvalidInputError if there is none, it cannot be read, or it is another node's
 */
export async function openClientCertificateManager(options: ClientCertificateManagerOptions): Promise<ClientCertificateManager> {
  const stored = await options.store.load();
  const issued = dated(clientCertificateOf(stored.issued, options.nodeName), options.random);
  const { pending } = stored;
  // After an interruption, the file may hold the request that led to the certificate, or one that was never sent.
  const isOpen = pending !== undefined && pending.key !== stored.issued?.key && pending.uid !== "";
  return new ClientCertificateManager(options, { ...stored, pending: isOpen ? pending : undefined }, issued);
}
