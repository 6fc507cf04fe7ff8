import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import { readSource, type TextSource } from "./file-credentials.ts";

/** A text or a file from a kubeconfig. */
export interface NamedSource {
  /** Source for errors: `kubeconfig /k: user "u" has client-key /key.pem`. */
  readonly name: string;
  readonly source: TextSource;
}

/** TLS settings of a kubeconfig. */
export interface NamedTls {
  readonly ca: NamedSource | undefined;
  readonly certificate: NamedSource | undefined;
  readonly key: NamedSource | undefined;
}

const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/**
 * Reads the TLS settings of a kubeconfig once, so that unusable ones are reported at the start: Node.js silently trusts
 * nobody if an authority is not PEM, and fails at each connection if a key is invalid.
 *
 * @throws InvalidInputError naming the field and the expected content
 */
export async function checkTls({ ca, certificate, key }: NamedTls): Promise<void> {
  const [caText, certificateText, keyText] = [await read(ca), await read(certificate), await read(key)];
  if (ca && caText && !(caText.match(certificateBlock) ?? []).some((block) => canRead(() => new X509Certificate(block)))) {
    throw wrong(ca, "holds no certificate", "an authority's certificate in PEM, with -----BEGIN CERTIFICATE-----");
  }
  if (!certificate || !certificateText) return;
  if (!key || !keyText) throw wrong(certificate, "has no key beside it", "its private key in client-key or client-key-data");
  if (!canRead(() => createSecureContext({ ca: [], cert: certificateText })))
    throw wrong(certificate, "holds no certificate", "a client's certificate in PEM, with -----BEGIN CERTIFICATE-----");
  if (!canRead(() => createPrivateKey(keyText)))
    throw wrong(key, "holds no private key that can be read", "a key in PEM that needs no password, with -----BEGIN PRIVATE KEY-----");
  if (!canRead(() => createSecureContext({ ca: [], cert: certificateText, key: keyText })))
    throw wrong(key, "is not the key of the client certificate", "the private key that the certificate was made for");
}

async function read(named: NamedSource | undefined): Promise<string | undefined> {
  if (!named) return undefined;
  try {
    return await readSource(named.source);
  } catch (error) {
    throw new InvalidInputError(`${named.name}: ${messageOf(error)}; name an existing PEM file`, {
      cause: error,
    });
  }
}

function canRead(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch {
    return false;
  }
}

function wrong({ name }: NamedSource, problem: string, expected: string): InvalidInputError {
  return new InvalidInputError(`${name}, which ${problem}, expected ${expected}`);
}
