import { createPublicKey, verify, X509Certificate } from "node:crypto";
import { CertificationRequest } from "@peculiar/asn1-csr";
import { AsnConvert } from "@peculiar/asn1-schema";
import { Extensions, SubjectAlternativeName } from "@peculiar/asn1-x509";
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
  const [extension] = AsnConvert.parse(info.attributes[0]?.values[0] ?? new ArrayBuffer(0), Extensions);
  const alternatives = AsnConvert.parse(extension?.extnValue.buffer ?? new ArrayBuffer(0), SubjectAlternativeName);
  expect(alternatives.map(({ dNSName, iPAddress }) => dNSName ?? iPAddress)).toEqual(["vk.example.com", "10.0.0.1", "fd00::1"]);
  const publicKey = createPublicKey({ key: publicKeyOf(key), format: "der", type: "spki" });
  expect(verify("sha256", new Uint8Array(raw ?? new ArrayBuffer(0)), publicKey, new Uint8Array(signature))).toBe(true);
  expect(Buffer.from(AsnConvert.serialize(info.subjectPKInfo))).toEqual(publicKeyOf(key));
});
