import type { KeyPair } from "@virtual-kubelet/pki";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";

/** Source of a server's certificate. */
export interface KeyPairSource {
  /** Certificate and key for new connections. */
  current(): KeyPair;
  /** Calls back when {@link current} has changed. @returns subscription; disposing it ends the calls */
  onChange(listener: () => void): Disposable;
  /** Keeps the certificate up to date until aborted, and then resolves. Must be called only once. */
  run(signal: AbortSignal): Promise<void>;
}

/** Pairs that were checked: each check costs milliseconds of processor time, and a certificate's time left is measured every ten seconds. */
const checked = new WeakMap<KeyPair, X509Certificate>();

/**
 * Returns the certificate of a pair, which is the first one of its chain. A pair is checked once.
 *
 * @throws InvalidInputError if one of them cannot be read, if they do not belong together, or if OpenSSL refuses them, for example because
 * the key is too small
 */
export function certificateOf(pair: KeyPair): X509Certificate {
  const known = checked.get(pair);
  if (known) return known;
  const first = check(pair);
  checked.set(pair, first);
  return first;
}

function check({ certificate, key }: KeyPair): X509Certificate {
  const first = parsed("certificate, expected PEM with -----BEGIN CERTIFICATE-----", () => new X509Certificate(certificate));
  const privateKey = parsed("key, expected PEM with a private key and without a password", () => createPrivateKey(key));
  const belong = first.checkPrivateKey(privateKey);
  try {
    if (belong) createSecureContext({ cert: certificate, key });
  } catch (error) {
    throw new InvalidInputError(`read a certificate and its key: ${messageOf(error)}`, { cause: error });
  }
  if (!belong) throw new InvalidInputError("read a certificate and its key: the key does not belong to the certificate");
  return first;
}

/** OpenSSL's own errors do not say which of the two they are about. */
function parsed<T>(what: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new InvalidInputError(`read a certificate and its key: not a ${what}: ${messageOf(error)}`, { cause: error });
  }
}
