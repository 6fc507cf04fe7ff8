import { messageOf } from "@virtual-kubelet/errdefs";
import type { Clock, Logger } from "@virtual-kubelet/kube-client";
import { Listeners } from "../listeners.ts";
import { certificateOf, type KeyPair, type KeyPairSource } from "./key-pair.ts";
import { WatchedFiles } from "./watched-files.ts";

/** What {@link openCertificateFiles} needs. */
export interface CertificateFilesOptions {
  /** PEM, with the chain if there is one. */
  readonly certificateFile: string;
  /** PEM. */
  readonly keyFile: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * A serving certificate of two files, which are read again when they change. A new content that cannot be used, such as
 * a certificate whose key is yet to come, is logged, and the old one stays.
 *
 * @throws InvalidInputError if one cannot be read, or they do not belong together
 */
export async function openCertificateFiles(options: CertificateFilesOptions): Promise<KeyPairSource> {
  const { certificateFile, keyFile, clock, logger } = options;
  const files = new WatchedFiles([certificateFile, keyFile], clock);
  let pair = read(await files.read());
  const listeners = new Listeners();
  return {
    current: () => pair,
    onChange: (listener) => listeners.add(listener),
    run: (signal) =>
      files.run(signal, {
        onChange(contents) {
          pair = read(contents);
          logger.info({ file: certificateFile, notAfter: certificateOf(pair).validTo }, "the serving certificate has changed");
          listeners.notify();
        },
        onError: (error) =>
          logger.warn(
            { file: certificateFile, err: messageOf(error) },
            "the serving certificate cannot be read again; the one before stays",
          ),
      }),
  };
}

function read([certificate = "", key = ""]: readonly string[]): KeyPair {
  const pair = { certificate, key };
  certificateOf(pair);
  return pair;
}
