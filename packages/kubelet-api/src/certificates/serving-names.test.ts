import { generateKey, selfSignedCertificate } from "@virtual-kubelet/pki";
import { X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { allNames, covers, sameNames, servingNamesOf } from "./serving-names.ts";

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

test("addresses that do not fit their type are left out", () => {
  const addresses = [
    { type: "InternalIP", address: "no-ip" },
    { type: "ExternalDNS", address: "10.0.0.1" },
    { type: "Hostname", address: "" },
    { type: "Hostname", address: "bücher.example" },
    { type: "Hostname", address: "a b" },
  ];

  expect(servingNamesOf(addresses)).toEqual({ dnsNames: [], ips: [] });
});

test("a certificate covers its own names, or some of them, and no other name", () => {
  const names = { dnsNames: ["a", "b"], ips: ["10.0.0.1", "fd00::1"] };
  const validity = { notBeforeMs: Date.UTC(2026, 0, 1), notAfterMs: Date.UTC(2027, 0, 1) };
  const certificate = new X509Certificate(selfSignedCertificate({ commonName: "c", names: allNames(names), validity }, generateKey()));

  expect(covers(certificate, names)).toBe(true);
  expect(covers(certificate, { dnsNames: ["a"], ips: ["fd00:0::1"] })).toBe(true);
  expect(covers(certificate, { dnsNames: ["c"], ips: [] })).toBe(false);
  expect(covers(certificate, { dnsNames: [], ips: ["10.0.0.2"] })).toBe(false);
});

test.each([
  ["Hostname", true, true],
  ["InternalIP", true, false],
  ["ExternalIP", true, false],
  ["InternalDNS", false, true],
  ["ExternalDNS", false, true],
])("an address of the type %s adds an IP: %s, and a DNS name: %s", (type, hasIp, hasName) => {
  expect(servingNamesOf([{ type, address: "10.0.0.1" }]).ips).toEqual(hasIp ? ["10.0.0.1"] : []);
  expect(servingNamesOf([{ type, address: "host" }]).dnsNames).toEqual(hasName ? ["host"] : []);
});

test("names are sorted, regardless of the order of the addresses", () => {
  const addresses = ["b", "a", "10.0.0.2", "10.0.0.1"].map((address) => ({ type: "Hostname", address }));

  expect(servingNamesOf(addresses)).toEqual({ dnsNames: ["a", "b"], ips: ["10.0.0.1", "10.0.0.2"] });
});

test("two sets of names are the same only if all names are", () => {
  const names = { dnsNames: ["a"], ips: ["10.0.0.1"] };

  expect(sameNames(names, { dnsNames: ["a"], ips: ["10.0.0.1"] })).toBe(true);
  expect(sameNames(names, { dnsNames: ["b"], ips: ["10.0.0.1"] })).toBe(false);
  expect(sameNames(names, { dnsNames: ["a"], ips: ["10.0.0.2"] })).toBe(false);
  expect(sameNames(names, { dnsNames: ["a"], ips: [] })).toBe(false);
});

test("a certificate that lacks one of several names does not cover them", () => {
  const names = { dnsNames: ["a"], ips: ["10.0.0.1"] };
  const validity = { notBeforeMs: Date.UTC(2026, 0, 1), notAfterMs: Date.UTC(2027, 0, 1) };
  const certificate = new X509Certificate(selfSignedCertificate({ commonName: "c", names: allNames(names), validity }, generateKey()));

  expect(covers(certificate, { dnsNames: ["a", "b"], ips: [] })).toBe(false);
  expect(covers(certificate, { dnsNames: [], ips: ["10.0.0.1", "10.0.0.2"] })).toBe(false);
});
