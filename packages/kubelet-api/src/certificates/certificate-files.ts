import type { Clock } from "@virtual-kubelet/clock";
import type { KeyPair } from "@virtual-kubelet/pki";
import { messageOf } from "@virtual-kubelet/errdefs";
import { noMetrics, type Logger, type Metrics } from "@virtual-kubelet/kube-client";
import { Listeners } from "../listeners.ts";
import { ValidityWatch } from "./certificate-validity.ts";
import { certificateOf, type KeyPairSource } from "./key-pair.ts";
import { warnOfOpenKeyFile } from "./open-permissions.ts";
import { WatchedFiles } from "./watched-files.ts";

/** What {@link openCertificateFiles} needs. */
export interface CertificateFilesOptions {
  /** PEM, with the chain if there is one. */
  readonly certificateFile: string;
  /** PEM. */
  readonly keyFile: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Sets `kubelet_certificate_manager_server_ttl_seconds` and `virtual_kubelet_serving_certificate_valid`, and counts
   * `virtual_kubelet_serving_certificate_read_errors_total`. Default: counts nothing.
   */
  readonly metrics?: Metrics | undefined;
}

/**
 * A serving certificate of two files, which are read again when they change. A new content that cannot be used, such as
 * a certificate whose key is yet to come, is logged and counted, and the old one stays. A certificate that is not valid, or soon will not be, and a
 * key that others can read are warned of.
 *
 * @throws InvalidInputError if one cannot be read, or they do not belong together
 */
export async function openCertificateFiles(options: CertificateFilesOptions): Promise<KeyPairSource> {
  const { certificateFile, keyFile, clock, logger, metrics = noMetrics } = options;
  const files = new WatchedFiles([certificateFile, keyFile], clock);
  let pair = read(await files.read());
  const validity = new ValidityWatch(certificateFile, { clock, logger, metrics });
  let certificate = certificateOf(pair);
  const look = (): void => validity.look(certificate);
  look();
  await warnOfOpenKeyFile(keyFile, logger);
  const listeners = new Listeners();
  return {
    current: () => pair,
    onChange: (listener) => listeners.add(listener),
    run: (signal) =>
      files.run(signal, {
        onLook: look,
        onChange(contents) {
          pair = read(contents);
          certificate = certificateOf(pair);
          void warnOfOpenKeyFile(keyFile, logger);
          logger.info({ file: certificateFile, notAfter: certificate.validTo }, "the serving certificate has changed");
          listeners.notify();
        },
        onError(error) {
          metrics.count("virtual_kubelet_serving_certificate_read_errors_total");
          logger.warn(
            { file: certificateFile, err: messageOf(error) },
            "the serving certificate cannot be read again; the one before stays",
          );
        },
      }),
  };
}

function read([certificate = "", key = ""]: readonly string[]): KeyPair {
  const pair = { certificate, key };
  certificateOf(pair);
  return pair;
}
