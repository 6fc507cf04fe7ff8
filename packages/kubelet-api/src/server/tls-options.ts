import { constants } from "node:crypto";
import type { SecureContextOptions } from "node:tls";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { ServingTls } from "../certificates/serving-certificate.ts";

/** TLS version and cipher suites of the server. */
export interface TlsSettings {
  /** Default: `VersionTLS12`. */
  readonly minVersion?: "VersionTLS12" | "VersionTLS13" | undefined;
  /**
   * Cipher suites of TLS 1.2 in order of preference, with the names that a kubelet's `--tls-cipher-suites` takes. Those of TLS 1.3 are
   * always enabled. Default: suites with forward secrecy and authenticated encryption, which Go's `crypto/tls` calls secure.
   */
  readonly cipherSuites?: readonly string[] | undefined;
}

/** Suites with ephemeral keys (ECDHE) and authenticated encryption (AEAD), with their OpenSSL names. */
const secureSuites = {
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: "ECDHE-ECDSA-AES128-GCM-SHA256",
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: "ECDHE-RSA-AES128-GCM-SHA256",
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: "ECDHE-ECDSA-AES256-GCM-SHA384",
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: "ECDHE-RSA-AES256-GCM-SHA384",
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-ECDSA-CHACHA20-POLY1305",
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-RSA-CHACHA20-POLY1305",
} as const;

/** Further suites that a kubelet accepts. They lack authenticated encryption, and those named RSA lack forward secrecy. */
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

/** Aliases that Kubernetes accepts. */
const aliases: Readonly<Record<string, keyof typeof secureSuites>> = {
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
};

/** Suites of TLS 1.3, which cannot be selected individually, as in Go. */
const suites13 = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"] as const;

function isSuite13(name: string): boolean {
  return suites13.some((each) => each === name);
}

const opensslNames: ReadonlyMap<string, string> = new Map<string, string>([
  ...Object.entries({ ...secureSuites, ...otherSuites }),
  ...Object.entries(aliases).map(([name, suite]) => [name, secureSuites[suite]] as const),
]);

/** Default suites of TLS 1.2. */
export const defaultCipherSuites: readonly string[] = Object.keys(secureSuites);

/** Names accepted in {@link TlsSettings.cipherSuites}. */
export const knownCipherSuites: readonly string[] = [...opensslNames.keys(), ...suites13];

/** Lowest TLS version of the server. A list without suites of TLS 1.2 selects TLS 1.3 only. */
export function minTlsVersion({
  minVersion = "VersionTLS12",
  cipherSuites = defaultCipherSuites,
}: TlsSettings): "VersionTLS12" | "VersionTLS13" {
  return cipherSuites.every(isSuite13) ? "VersionTLS13" : minVersion;
}

/** The part of the secure context that depends on the settings. @throws InvalidInputError for an unknown suite */
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
 * Options of the server's secure context. Without a client CA no client certificate is accepted; an absent list would mean the system's
 * public CAs. Renegotiation is disabled, because Go's servers do not support it either.
 *
 * @throws InvalidInputError for an unknown suite
 */
export function secureContextOptions({ certificate, key, clientCa }: ServingTls, settings: TlsSettings = {}): SecureContextOptions {
  const ca = clientCa === undefined ? [] : clientCa;
  return { cert: certificate, key, ca, secureOptions: constants.SSL_OP_NO_RENEGOTIATION, ...tlsProtocolOptions(settings) };
}
