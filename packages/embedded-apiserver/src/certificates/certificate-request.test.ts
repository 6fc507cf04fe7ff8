import { createPublicKey, generateKeyPairSync, sign, X509Certificate, type KeyObject } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { issueCertificate } from "./certificate.ts";
import { CertificateRequestError, parseCertificateRequest } from "./certificate-request.ts";
import { bitString, element, integer, octetString, oid, sequence, set, utf8String } from "./der.ts";
import { signRequest } from "./sign-request.ts";

const name = (...parts: readonly (readonly [id: string, text: string])[]): Buffer =>
  sequence(...parts.map(([id, text]) => set(sequence(oid(id), utf8String(text)))));

/** A request as a client makes it. */
function requestPem({ privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject }, names: readonly Buffer[] = []): string {
  const extensions = sequence(sequence(oid("2.5.29.17"), octetString(sequence(...names))));
  const info = sequence(
    integer(Buffer.from([0])),
    name(["2.5.4.10", "system:nodes"], ["2.5.4.3", "system:node:n1"]),
    publicKey.export({ type: "spki", format: "der" }),
    element(0xa0, ...(names.length === 0 ? [] : [sequence(oid("1.2.840.113549.1.9.14"), set(extensions))])),
  );
  const algorithm = privateKey.asymmetricKeyType === "rsa" ? "1.2.840.113549.1.1.11" : "1.2.840.10045.4.3.2";
  const der = sequence(info, sequence(oid(algorithm)), bitString(sign("sha256", info, privateKey)));
  return `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
}

const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
const dns = (host: string): Buffer => element(0x82, Buffer.from(host));

describe("a certificate request", () => {
  test("says whom it is for, and under which names", () => {
    const request = parseCertificateRequest(requestPem(keys, [dns("n1"), element(0x87, Buffer.from([10, 0, 0, 1]))]));

    expect([request.commonName, request.organizations]).toEqual(["system:node:n1", ["system:nodes"]]);
    expect(request.alternativeNameCounts).toEqual({ dns: 1, email: 0, ip: 1, uri: 0 });
  });

  test("may be signed with RSA", () => {
    expect(parseCertificateRequest(requestPem(generateKeyPairSync("rsa", { modulusLength: 2048 }))).commonName).toBe("system:node:n1");
  });

  test("with another's signature is refused", () => {
    const other = generateKeyPairSync("ec", { namedCurve: "P-256" });

    expect(() => parseCertificateRequest(requestPem({ privateKey: other.privateKey, publicKey: keys.publicKey }))).toThrow(
      "x509: ECDSA verification failure",
    );
  });

  test("of any bytes is read, or refused with a reason", () => {
    const whole = Buffer.from(requestPem(keys).split("\n")[1] ?? "", "base64");
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 255 }), (at, byte) => {
        const changed = Buffer.from(whole);
        changed[at] = byte;
        const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${changed.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
        try {
          parseCertificateRequest(pem);
        } catch (error) {
          expect(error).toBeInstanceOf(CertificateRequestError);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("becomes a certificate for its key, names and usages", () => {
    const validity = { notBeforeMs: Date.UTC(2026, 0, 1), notAfterMs: Date.UTC(2026, 0, 2) };
    const authority = issueCertificate({ commonName: "ca", usage: "authority", serial: Buffer.from([1]), ...validity });
    const request = parseCertificateRequest(requestPem(keys, [dns("n1")]));

    const pem = signRequest(request, { usages: ["digital signature", "server auth"], serial: Buffer.from([2]), ...validity }, authority);

    const certificate = new X509Certificate(pem);
    expect(certificate.subject).toBe("O=system:nodes\nCN=system:node:n1");
    expect(certificate.subjectAltName).toBe("DNS:n1");
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
    expect(certificate.checkPrivateKey(keys.privateKey)).toBe(true);
    expect(certificate.verify(createPublicKey(authority.privateKey))).toBe(true);
  });
});
