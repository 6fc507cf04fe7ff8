import type { Clock } from "@virtual-kubelet/clock";
import type { KeyPair } from "@virtual-kubelet/pki";
import { messageOf } from "@virtual-kubelet/errdefs";
import { noMetrics, type Logger, type Metrics } from "@virtual-kubelet/kube-client";
import { Listeners } from "../listeners.ts";
import { ValidityWatch } from "./certificate-validity.ts";
import { certificateOf, type KeyPairSource } from "./key-pair.ts";
import { warnOfOpenKeyFile } from "./open-permissions.ts";
import { WatchedFiles } from "./watched-files.ts";

/** Options of {@link openCertificateFiles}. */
export interface CertificateFilesOptions {
  /** Path of the certificate in PEM, with its chain if there is one. */
  readonly certificateFile: string;
  /** Path of the private key in PEM. */
  readonly keyFile: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Sets `kubelet_certificate_manager_server_ttl_seconds` and `virtual_kubelet_serving_certificate_valid`, and counts
   * `virtual_kubelet_serving_certificate_read_errors_total`. Default: no metrics.
   */
  readonly metrics?: Metrics | undefined;
}

/**
 * Opens a serving certificate in two files, which are read again when they change. If new contents cannot be used, for example because the
 * new key is not written yet, this is logged and counted, and the previous certificate stays in use. Logs a warning about a certificate that is
 * not valid or expires soon, and about a key that others can read.
 *
 * @throws InvalidInputError if a file cannot be read, or if certificate and key do not belong together
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
    async run(signal) {
      using _validity = validity;
      await files.run(signal, {
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
            "the new serving certificate cannot be read; the previous one stays in use",
          );
        },
      });
    },
  };
}

function read([certificate = "", key = ""]: readonly string[]): KeyPair {
  const pair = { certificate, key };
  certificateOf(pair);
  return pair;
}
