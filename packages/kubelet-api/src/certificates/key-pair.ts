import { createPrivateKey, generateKeyPair, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { promisify } from "node:util";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";

/** A serving certificate, with its chain if it has one, and its key, both PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

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

/** A new private key on P-256, PEM (PKCS #8). Source: client-go util/certificate makes the same kind. */
export async function generateKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}
