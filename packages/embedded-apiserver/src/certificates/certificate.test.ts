import { X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { issueCertificate, type CertificateSpec } from "./certificate.ts";

const validity = { notBeforeMs: Date.UTC(2026, 0, 1), notAfterMs: Date.UTC(2027, 0, 1) };

function specOf(change: Partial<CertificateSpec>): CertificateSpec {
  return { commonName: "x", usage: "server", serial: Buffer.from("00ff01", "hex"), ...validity, ...change };
}

test("an authority signs a server's certificate, which names its hosts and addresses", () => {
  const authority = issueCertificate(specOf({ commonName: "ca", usage: "authority" }));

  const { certificatePem } = issueCertificate(
    specOf({ commonName: "server", hosts: ["localhost", "127.0.0.1", "::1", "2001:db8::ff"] }),
    authority,
  );

  const certificate = new X509Certificate(certificatePem);
  const ca = new X509Certificate(authority.certificatePem);
  expect(certificate.checkIssued(ca)).toBe(true);
  expect(certificate.verify(ca.publicKey)).toBe(true);
  expect([ca.ca, certificate.ca]).toEqual([true, false]);
  expect(certificate.subjectAltName).toBe(
    "DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, IP Address:2001:DB8:0:0:0:0:0:FF",
  );
  expect(certificate.checkHost("localhost")).toBe("localhost");
  expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
  expect(certificate.serialNumber).toBe("FF01");
  expect([Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]).toEqual([validity.notBeforeMs, validity.notAfterMs]);
});

test("a client's certificate names its user and groups", () => {
  const { certificatePem } = issueCertificate(specOf({ commonName: "system:node:n1", organizations: ["system:nodes"], usage: "client" }));

  const certificate = new X509Certificate(certificatePem);

  expect(certificate.subject).toBe("O=system:nodes\nCN=system:node:n1");
  expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
});

test("a certificate goes with its key", () => {
  const { certificatePem, privateKey } = issueCertificate(specOf({}));

  expect(new X509Certificate(certificatePem).checkPrivateKey(privateKey)).toBe(true);
});

test("names of more than 127 bytes are encoded, too", () => {
  const commonName = "n".repeat(300);

  expect(new X509Certificate(issueCertificate(specOf({ commonName })).certificatePem).subject).toBe(`CN=${commonName}`);
});
