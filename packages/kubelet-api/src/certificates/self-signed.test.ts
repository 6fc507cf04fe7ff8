import { expect, test } from "vitest";
import { certificateOf } from "./key-pair.ts";
import { makeSelfSigned, needsSelfSigned } from "./self-signed.ts";

const day = 86_400_000;
const nowMs = Date.UTC(2026, 0, 1);
const names = { dnsNames: ["a"], ips: ["10.0.0.1"] };

test("the certificate is for the node's name and valid from five minutes before now for a year", async () => {
  const certificate = certificateOf(await makeSelfSigned("vk", names, nowMs + 999));

  expect(certificate.subject).toBe("CN=vk@1767225600");
  expect(certificate.subjectAltName).toBe("DNS:a, DNS:vk, IP Address:10.0.0.1");
  expect(certificate.validFromDate.getTime()).toBe(nowMs - 300_000);
  expect(certificate.validToDate.getTime()).toBe(nowMs + 365 * day);
});

test("a long name is cut at the front, because a common name has 64 characters", async () => {
  const nodeName = `${"a".repeat(60)}.${"b".repeat(60)}`;

  expect(certificateOf(await makeSelfSigned(nodeName, undefined, nowMs)).subject).toBe(`CN=${"b".repeat(53)}@1767225600`);
});

test("a node whose name is an address has that address once", async () => {
  expect(certificateOf(await makeSelfSigned("10.0.0.1", names, nowMs)).subjectAltName).toBe("DNS:a, IP Address:10.0.0.1");
  expect(certificateOf(await makeSelfSigned("a", names, nowMs)).subjectAltName).toBe("DNS:a, IP Address:10.0.0.1");
  expect(certificateOf(await makeSelfSigned("vk", undefined, nowMs)).subjectAltName).toBe("DNS:vk");
});

test("a new certificate is needed if there is none, if it lacks a name, or after four fifths of its year", async () => {
  const pair = await makeSelfSigned("vk", names, nowMs);
  const fromMs = nowMs - 300_000;

  expect(needsSelfSigned(undefined, "vk", names, nowMs)).toBe(true);
  expect(needsSelfSigned(pair, "vk", names, nowMs)).toBe(false);
  expect(needsSelfSigned(pair, "vk", undefined, nowMs)).toBe(false);
  expect(needsSelfSigned(pair, "vk", { dnsNames: ["a"], ips: ["10.0.0.2"] }, nowMs)).toBe(true);
  expect(needsSelfSigned(pair, "other", names, nowMs)).toBe(true);
  expect(needsSelfSigned(pair, "vk", names, fromMs - 1)).toBe(true);
  expect(needsSelfSigned(pair, "vk", names, fromMs + 292 * day - 1)).toBe(false);
  expect(needsSelfSigned(pair, "vk", names, fromMs + 292 * day)).toBe(true);
});
