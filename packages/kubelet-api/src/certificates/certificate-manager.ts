import type { Clock, Random } from "@virtual-kubelet/clock";
import type { KeyPair } from "@virtual-kubelet/pki";
import type { X509Certificate } from "node:crypto";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { KubeClient, Logger, Metrics } from "@virtual-kubelet/kube-client";
import { Listeners } from "../listeners.ts";
import { dated, isValidAt, planCertificate, type DatedCertificate } from "./certificate-plan.ts";
import { CertificateRequester, nodeUser, type RequestResult } from "./certificate-requester.ts";
import type { CertificateStore, PendingRequest, StoredCertificates } from "./certificate-store.ts";
import { certificateOf, type KeyPairSource } from "./key-pair.ts";
import { makeSelfSigned, needsSelfSigned } from "./self-signed.ts";
import { covers, type ServingNames } from "./serving-names.ts";
import { servingPurpose } from "./signing-request.ts";

/** Interval of the checks of the node's addresses and the certificate's validity. */
const lookIntervalMs = 5_000;

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
   * Sets `kubelet_certificate_manager_server_ttl_seconds` while `names` are known, observes `kubelet_certificate_manager_server_rotation_seconds`,
   * counts `kubelet_server_expiration_renew_errors`.
   */
  readonly metrics: Metrics;
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
  readonly #requester: CertificateRequester;
  #served: KeyPair;
  #stored: StoredCertificates;
  #issued: DatedCertificate | undefined;
  #wake = new AbortController();
  #toldOfRequester = false;
  /** Series of the time left, while a node that has the certificate is registered; `undefined` where there are no scrapes. */
  #leftSeries: Disposable | undefined;

  /** Use {@link openCertificateManager}. */
  constructor(options: CertificateManagerOptions, stored: StoredCertificates, served: KeyPair) {
    this.#options = options;
    this.#stored = stored;
    this.#served = served;
    this.#requester = new CertificateRequester(
      { ...options, purpose: servingPurpose, countFailure: () => options.metrics.count("kubelet_server_expiration_renew_errors") },
      () => this.#wake.abort(),
    );
    if (stored.issued) this.#issued = dated(certificateOf(stored.issued), options.random);
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
      this.#requester.follow(undefined, signal);
      this.#leftSeries?.[Symbol.dispose]();
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { bootstrap, clock, names } = this.#options;
    const { pending } = this.#stored;
    const result = this.#requester.takeResult(pending);
    if (result && pending) await this.#apply(result, pending);
    const wanted = names();
    if (bootstrap) {
      const { notBeforeMs } = this.#requester;
      const situation = { names: wanted, issued: this.#issued, pendingNames: this.#stored.pending?.names, notBeforeMs, nowMs: clock.now() };
      const action = planCertificate(situation);
      if (action.kind === "request") await this.#request(action.names, signal);
      else if (action.kind === "rest" && this.#stored.pending) await this.#save({ ...this.#stored, pending: undefined });
    }
    this.#requester.follow(this.#stored.pending, signal);
    this.#requester.remind(this.#stored.pending);
    await this.#serve(wanted);
    this.#measure(wanted !== undefined);
  }

  /** Creates a request, which replaces a pending one. */
  async #request(names: ServingNames, signal: AbortSignal): Promise<void> {
    const requested = await this.#requester.request(names, signal);
    if (!requested) return;
    const { pending, username } = requested;
    await this.#save({ ...this.#stored, pending });
    this.#tellOfRequester(pending.name, username);
  }

  /** Warns if the requester is not `system:node:NAME`: the signer accepts any requester, but automatic approvers do not. */
  #tellOfRequester(csr: string, username: string): void {
    const { logger, nodeName } = this.#options;
    if (this.#toldOfRequester || username === nodeUser(nodeName)) return;
    this.#toldOfRequester = true;
    logger.warn(
      { csr, requester: username },
      "automatic approvers accept certificate requests of nodes only from system:node:NAME: approve the request by hand, run as that user, or set a certificate file; until then the certificate is self-signed",
    );
  }

  async #apply(result: RequestResult, pending: PendingRequest): Promise<void> {
    if (result.kind === "failed") return await this.#save({ ...this.#stored, pending: undefined });
    const { clock, random } = this.#options;
    let issued: DatedCertificate;
    try {
      issued = dated(certificateOf(result.pair), random);
    } catch (error) {
      const fields = { csr: pending.name, err: messageOf(error) };
      this.#requester.distrust("error", fields, "the certificate from the cluster's signer cannot be used");
      return await this.#save({ ...this.#stored, pending: undefined });
    }
    this.#issued = issued;
    // A certificate that must be replaced at once would cause an endless series of requests. It is used as long as possible.
    if (isOfUse(issued, pending.names, clock.now())) this.#requester.accept();
    else
      this.#requester.distrust(
        "warn",
        { csr: pending.name },
        "the certificate from the cluster's signer lacks an address of the node, or has expired or is not valid yet by this machine's clock",
      );
    await this.#save({ ...this.#stored, issued: result.pair, pending: undefined });
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

  /** @param isInUse - whether a node that has the certificate is registered here, and not at another instance */
  #measure(isInUse: boolean): void {
    const { clock, metrics, nodeName } = this.#options;
    const leftSeconds = (): number => Math.trunc((certificateOf(this.#served).validToDate.getTime() - clock.now()) / 1000);
    const labels = { node: nodeName };
    if (!metrics.sampled) metrics.gauge("kubelet_certificate_manager_server_ttl_seconds", leftSeconds(), labels);
    else if (isInUse) this.#leftSeries ??= metrics.sampled("kubelet_certificate_manager_server_ttl_seconds", leftSeconds, labels);
    else {
      this.#leftSeries?.[Symbol.dispose]();
      this.#leftSeries = undefined;
    }
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
