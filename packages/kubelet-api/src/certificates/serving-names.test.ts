import { X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { generateKey } from "./key-pair.ts";
import { covers, servingNamesOf } from "./serving-names.ts";
import { selfSignedCertificate } from "./x509-writer.ts";

test("addresses become names by their type, sorted and once each", () => {
  const names = servingNamesOf([
    { type: "Hostname", address: "host-1" },
    { type: "InternalIP", address: "10.0.0.2" },
    { type: "ExternalIP", address: "10.0.0.1" },
    { type: "InternalIP", address: "fd00::1" },
    { type: "Hostname", address: "10.0.0.2" },
    { type: "ExternalDNS", address: "a.example.com" },
    { type: "InternalDNS", address: "host-1" },
  ]);

  expect(names).toEqual({ dnsNames: ["a.example.com", "host-1"], ips: ["10.0.0.1", "10.0.0.2", "fd00::1"] });
});

test("what does not fit its type is left out", () => {
  const addresses = [
    { type: "InternalIP", address: "no-ip" },
    { type: "ExternalDNS", address: "10.0.0.1" },
    { type: "Hostname", address: "" },
  ];

  expect(servingNamesOf(addresses)).toEqual({ dnsNames: [], ips: [] });
});

test("a certificate covers a part of its names, and no other", async () => {
  const names = { dnsNames: ["a", "b"], ips: ["10.0.0.1", "fd00::1"] };
  const validity = { notBeforeMs: Date.UTC(2026, 0, 1), notAfterMs: Date.UTC(2027, 0, 1) };
  const certificate = new X509Certificate(selfSignedCertificate({ commonName: "c", names, key: await generateKey() }, validity));

  expect(covers(certificate, names)).toBe(true);
  expect(covers(certificate, { dnsNames: ["a"], ips: ["fd00:0::1"] })).toBe(true);
  expect(covers(certificate, { dnsNames: ["c"], ips: [] })).toBe(false);
  expect(covers(certificate, { dnsNames: [], ips: ["10.0.0.2"] })).toBe(false);
});
