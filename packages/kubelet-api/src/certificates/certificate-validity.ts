import type { Clock } from "@virtual-kubelet/clock";
import type { X509Certificate } from "node:crypto";
import type { Logger, Metrics } from "@virtual-kubelet/kube-client";

const dayMs = 24 * 3_600_000;

/** How long before its expiry a certificate is warned about; if it lives less than ten times as long, a tenth of its lifetime. */
const warningMs = 7 * dayMs;

type Validity = "valid" | "not yet valid" | "about to expire" | "expired";

function validityOf({ validFromDate, validToDate }: X509Certificate, nowMs: number): Validity {
  const [fromMs, toMs] = [validFromDate.getTime(), validToDate.getTime()];
  if (nowMs < fromMs) return "not yet valid";
  if (nowMs >= toMs) return "expired";
  return toMs - nowMs < Math.min(warningMs, (toMs - fromMs) / 10) ? "about to expire" : "valid";
}

const messages: Readonly<Record<Exclude<Validity, "valid">, string>> = {
  "not yet valid": "the serving certificate is not valid yet: clients that check it refuse the node",
  "about to expire": "the serving certificate is about to expire: replace the file, which is reloaded automatically",
  expired: "the serving certificate has expired: clients that check it refuse the node",
};

/** Warns about a certificate that is renewed by somebody else, once a day and whenever the certificate or its state changes. */
export class ValidityWatch implements Disposable {
  readonly #file: string;
  readonly #parts: { readonly clock: Clock; readonly logger: Logger; readonly metrics: Metrics };
  #certificate: X509Certificate | undefined;
  /** Series of the time left; `undefined` where there are no scrapes. */
  #leftSeries: Disposable | undefined;
  #told: { readonly what: string; readonly atMs: number } | undefined;

  constructor(file: string, parts: { readonly clock: Clock; readonly logger: Logger; readonly metrics: Metrics }) {
    this.#file = file;
    this.#parts = parts;
  }

  /** Checks the certificate now, and sets the metrics. */
  look(certificate: X509Certificate): void {
    const { clock, logger, metrics } = this.#parts;
    const nowMs = clock.now();
    const validity = validityOf(certificate, nowMs);
    this.#certificate = certificate;
    this.#measure();
    metrics.gauge("virtual_kubelet_serving_certificate_valid", validity === "valid" || validity === "about to expire" ? 1 : 0);
    const what = `${validity} ${certificate.fingerprint256}`;
    if (this.#told?.what === what && nowMs - this.#told.atMs < dayMs) return;
    this.#told = { what, atMs: nowMs };
    if (validity === "valid") return;
    const { validFrom: notBefore, validTo: notAfter } = certificate;
    logger.warn({ file: this.#file, notBefore, notAfter }, messages[validity]);
  }

  /** Ends the series of the time left. */
  [Symbol.dispose](): void {
    this.#leftSeries?.[Symbol.dispose]();
  }

  #measure(): void {
    const { clock, metrics } = this.#parts;
    const leftSeconds = (): number => Math.trunc(((this.#certificate?.validToDate.getTime() ?? 0) - clock.now()) / 1000);
    // All nodes of the program have this certificate. To Prometheus, an empty label is none.
    const labels = { node: "" };
    if (!metrics.sampled) metrics.gauge("kubelet_certificate_manager_server_ttl_seconds", leftSeconds(), labels);
    else this.#leftSeries ??= metrics.sampled("kubelet_certificate_manager_server_ttl_seconds", leftSeconds, labels);
  }
}
