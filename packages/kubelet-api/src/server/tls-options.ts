import { constants } from "node:crypto";
import type { SecureContextOptions } from "node:tls";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { ServingTls } from "../certificates/serving-certificate.ts";

/** Which TLS the server speaks. */
export interface TlsSettings {
  /** Default: `VersionTLS12`. */
  readonly minVersion?: "VersionTLS12" | "VersionTLS13" | undefined;
  /**
   * Cipher suites of TLS 1.2, by the names that a kubelet's `--tls-cipher-suites` takes, in order of preference; those of TLS 1.3 are always
   * there. Default: those with forward secrecy and authenticated encryption, the secure ones of Go's `crypto/tls`.
   */
  readonly cipherSuites?: readonly string[] | undefined;
}

/** Suites with ephemeral keys (ECDHE) and authenticated encryption (AEAD), by OpenSSL's names. */
const secureSuites = {
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: "ECDHE-ECDSA-AES128-GCM-SHA256",
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: "ECDHE-RSA-AES128-GCM-SHA256",
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: "ECDHE-ECDSA-AES256-GCM-SHA384",
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: "ECDHE-RSA-AES256-GCM-SHA384",
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-ECDSA-CHACHA20-POLY1305",
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-RSA-CHACHA20-POLY1305",
} as const;

/** Suites that a kubelet takes if it is told to. Without authenticated encryption, and those named RSA without forward secrecy. */
const otherSuites = {
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: "ECDHE-ECDSA-AES128-SHA",
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: "ECDHE-ECDSA-AES256-SHA",
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256: "ECDHE-ECDSA-AES128-SHA256",
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: "ECDHE-RSA-AES128-SHA",
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: "ECDHE-RSA-AES256-SHA",
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256: "ECDHE-RSA-AES128-SHA256",
  TLS_RSA_WITH_AES_128_GCM_SHA256: "AES128-GCM-SHA256",
  TLS_RSA_WITH_AES_256_GCM_SHA384: "AES256-GCM-SHA384",
  TLS_RSA_WITH_AES_128_CBC_SHA: "AES128-SHA",
  TLS_RSA_WITH_AES_256_CBC_SHA: "AES256-SHA",
} as const;

/** Names that Kubernetes takes for others. */
const aliases: Readonly<Record<string, keyof typeof secureSuites>> = {
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
};

/** Of TLS 1.3; as in Go they cannot be chosen. */
const suites13 = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"] as const;

function isSuite13(name: string): boolean {
  return suites13.some((each) => each === name);
}

const opensslNames: ReadonlyMap<string, string> = new Map<string, string>([
  ...Object.entries({ ...secureSuites, ...otherSuites }),
  ...Object.entries(aliases).map(([name, suite]) => [name, secureSuites[suite]] as const),
]);

/** Suites of TLS 1.2 that are used where nobody chooses. */
export const defaultCipherSuites: readonly string[] = Object.keys(secureSuites);

/** Names that {@link TlsSettings.cipherSuites} takes. */
export const knownCipherSuites: readonly string[] = [...opensslNames.keys(), ...suites13];

/** The lowest version that the server speaks. A list without a suite of TLS 1.2 means that only TLS 1.3 is wanted. */
export function minTlsVersion({
  minVersion = "VersionTLS12",
  cipherSuites = defaultCipherSuites,
}: TlsSettings): "VersionTLS12" | "VersionTLS13" {
  return cipherSuites.every(isSuite13) ? "VersionTLS13" : minVersion;
}

/**
 * The part of a server's secure context that settings decide.
 *
 * @throws InvalidInputError for a suite that is not known
 */
export function tlsProtocolOptions(settings: TlsSettings = {}): SecureContextOptions {
  const { cipherSuites = defaultCipherSuites } = settings;
  const chosen = cipherSuites.filter((name) => !isSuite13(name));
  const ciphers = chosen.map((name) => {
    const known = opensslNames.get(name);
    if (known === undefined) throw new InvalidInputError(`cipher suite ${name} is not known; known are ${knownCipherSuites.join(", ")}`);
    return known;
  });
  const minVersion = minTlsVersion(settings) === "VersionTLS13" ? "TLSv1.3" : "TLSv1.2";
  return { minVersion, ciphers: [...suites13, ...ciphers].join(":"), honorCipherOrder: true };
}

/**
 * What a server's secure context is made of. Without a client CA no client certificate counts: an absent list would
 * stand for all the world's. As with a kubelet, whose Go knows no other way, nobody renegotiates.
 *
 * @throws InvalidInputError for a suite that is not known
 */
export function secureContextOptions({ certificate, key, clientCa }: ServingTls, settings: TlsSettings = {}): SecureContextOptions {
  const ca = clientCa === undefined ? [] : clientCa;
  return { cert: certificate, key, ca, secureOptions: constants.SSL_OP_NO_RENEGOTIATION, ...tlsProtocolOptions(settings) };
}
