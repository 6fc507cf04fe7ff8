import { createPublicKey, verify, X509Certificate } from "node:crypto";
import { CertificationRequest } from "@peculiar/asn1-csr";
import { AsnConvert } from "@peculiar/asn1-schema";
import {
  Certificate,
  Extensions,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_basicConstraints,
  KeyUsage,
  SubjectAlternativeName,
} from "@peculiar/asn1-x509";
import { expect, test } from "vitest";
import { publicKeyOf } from "../test-support/test-authority.ts";
import { certificateOf, generateKey } from "./key-pair.ts";
import { certificateRequest, selfSignedCertificate } from "./x509-writer.ts";

const names = { dnsNames: ["vk.example.com"], ips: ["10.0.0.1", "fd00::1"] };

test("a self-signed certificate is a server's, for its names and its time, signed by its key", async () => {
  const key = await generateKey();
  const validity = { notBeforeMs: Date.UTC(2049, 11, 31, 23, 59), notAfterMs: Date.UTC(2050, 0, 1, 1) };

  const certificate = certificateOf({ certificate: selfSignedCertificate({ commonName: "vk", names, key }, validity), key });

  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.subject).toBe("CN=vk");
  expect(certificate.subjectAltName).toBe("DNS:vk.example.com, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1");
  expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
  expect(certificate.ca).toBe(false);
  expect(certificate.validFromDate.toISOString()).toBe("2049-12-31T23:59:00.000Z");
  expect(certificate.validToDate.toISOString()).toBe("2050-01-01T01:00:00.000Z");
});

test("two certificates of one subject have different numbers", async () => {
  const key = await generateKey();
  const make = () =>
    new X509Certificate(selfSignedCertificate({ commonName: "vk", names, key }, { notBeforeMs: 0, notAfterMs: Date.UTC(2030, 0, 1) }));

  expect(make().serialNumber).not.toBe(make().serialNumber);
});

test("a request names subject and names, and is signed by its key", async () => {
  const key = await generateKey();

  const pem = certificateRequest({ commonName: "system:node:vk", organization: "system:nodes", names, key });

  const der = Buffer.from(pem.replaceAll(/-----.*-----|\n/g, ""), "base64");
  const { certificationRequestInfo: info, certificationRequestInfoRaw: raw, signature } = AsnConvert.parse(der, CertificationRequest);
  expect(info.subject.map(([part]) => [part?.type, part?.value.toString()])).toEqual([
    ["2.5.4.10", "system:nodes"],
    ["2.5.4.3", "system:node:vk"],
  ]);
  expect(info.attributes[0]?.type).toBe("1.2.840.113549.1.9.14");
  const [extension] = AsnConvert.parse(info.attributes[0]?.values[0] ?? new ArrayBuffer(0), Extensions);
  expect(extension).toMatchObject({ extnID: id_ce_subjectAltName, critical: false });
  const alternatives = AsnConvert.parse(extension?.extnValue.buffer ?? new ArrayBuffer(0), SubjectAlternativeName);
  expect(alternatives.map(({ dNSName, iPAddress }) => dNSName ?? iPAddress)).toEqual(["vk.example.com", "10.0.0.1", "fd00::1"]);
  const publicKey = createPublicKey({ key: publicKeyOf(key), format: "der", type: "spki" });
  expect(verify("sha256", new Uint8Array(raw ?? new ArrayBuffer(0)), publicKey, new Uint8Array(signature))).toBe(true);
  expect(Buffer.from(AsnConvert.serialize(info.subjectPKInfo))).toEqual(publicKeyOf(key));
});

test("a self-signed certificate's key is for signatures only, and it is no authority, which nobody may overlook", async () => {
  const pem = selfSignedCertificate(
    { commonName: "vk", organization: "nodes", names, key: await generateKey() },
    { notBeforeMs: 0, notAfterMs: Date.UTC(2030, 0, 1) },
  );

  const { tbsCertificate } = AsnConvert.parse(Buffer.from(pem.replaceAll(/-----.*-----|\n/g, ""), "base64"), Certificate);

  const extensions = tbsCertificate.extensions ?? [];
  expect(extensions.map(({ extnID, critical }) => [extnID, critical])).toEqual([
    [id_ce_basicConstraints, true],
    [id_ce_keyUsage, true],
    [id_ce_extKeyUsage, false],
    [id_ce_subjectAltName, false],
  ]);
  const usage = extensions.find(({ extnID }) => extnID === id_ce_keyUsage);
  expect(AsnConvert.parse(usage?.extnValue.buffer ?? new ArrayBuffer(0), KeyUsage).toJSON()).toEqual(["digitalSignature"]);
  expect(new X509Certificate(pem).subject).toBe("O=nodes\nCN=vk");
  expect(new X509Certificate(pem).issuer).toBe("O=nodes\nCN=vk");
});

test("a serial number is a positive one of 16 bytes", async () => {
  const key = await generateKey();
  for (let round = 0; round < 20; round++) {
    const { serialNumber } = new X509Certificate(
      selfSignedCertificate({ commonName: "vk", names, key }, { notBeforeMs: 0, notAfterMs: Date.UTC(2030, 0, 1) }),
    );
    expect(serialNumber).toMatch(/^[4-7][0-9A-F]{31}$/);
  }
});

test("PEM has lines of 64 characters, and one that may be shorter", async () => {
  const pem = certificateRequest({ commonName: "vk", names, key: await generateKey() });
  const lines = pem.split("\n");

  expect([lines.at(0), lines.at(-2), lines.at(-1)]).toEqual([
    "-----BEGIN CERTIFICATE REQUEST-----",
    "-----END CERTIFICATE REQUEST-----",
    "",
  ]);
  const body = lines.slice(1, -2);
  expect(body.slice(0, -1).every(({ length }) => length === 64)).toBe(true);
  expect(body.length).toBeGreaterThan(3);
});
