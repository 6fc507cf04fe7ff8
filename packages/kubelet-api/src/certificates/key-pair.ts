import type { KeyPair } from "@virtual-kubelet/pki";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";

/** Where a server has its certificate from. */
export interface KeyPairSource {
  /** The pair that new connections are to use. */
  current(): KeyPair;
  /** Calls back when {@link current} has changed. @returns what ends that */
  onChange(listener: () => void): Disposable;
  /** Keeps it up to date until aborted; resolves then. To be called once. */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * The certificate of a pair, the first one of its chain.
 *
 * @throws InvalidInputError if one of them cannot be read, they do not belong together, or OpenSSL serves nothing with them, as with a
 * key that is too small
 */
export function certificateOf({ certificate, key }: KeyPair): X509Certificate {
  let first: X509Certificate;
  let belong: boolean;
  try {
    first = new X509Certificate(certificate);
    belong = first.checkPrivateKey(createPrivateKey(key));
    if (belong) createSecureContext({ cert: certificate, key });
  } catch (error) {
    throw new InvalidInputError(`read a certificate and its key: ${messageOf(error)}`, { cause: error });
  }
  if (!belong) throw new InvalidInputError("read a certificate and its key: the key is not that certificate's");
  return first;
}
