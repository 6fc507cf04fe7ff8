import { expect, test } from "vitest";
import { certificateOf } from "./key-pair.ts";
import { makeSelfSigned, needsSelfSigned } from "./self-signed.ts";

const day = 86_400_000;
const nowMs = Date.UTC(2026, 0, 1);
const names = { dnsNames: ["a"], ips: ["10.0.0.1"] };

test("it is the node's by name and time, for five minutes before now to a year from now", async () => {
  const certificate = certificateOf(await makeSelfSigned("vk", names, nowMs + 999));

  expect(certificate.subject).toBe("CN=vk@1767225600");
  expect(certificate.subjectAltName).toBe("DNS:a, DNS:vk, IP Address:10.0.0.1");
  expect(certificate.validFromDate.getTime()).toBe(nowMs - 300_000);
  expect(certificate.validToDate.getTime()).toBe(nowMs + 365 * day);
});

test("a long name is cut at the front, for a common name has 64 characters", async () => {
  const nodeName = `${"a".repeat(60)}.${"b".repeat(60)}`;

  expect(certificateOf(await makeSelfSigned(nodeName, undefined, nowMs)).subject).toBe(`CN=${"b".repeat(53)}@1767225600`);
});

test("a node that has an address for a name is known by it once", async () => {
  expect(certificateOf(await makeSelfSigned("10.0.0.1", names, nowMs)).subjectAltName).toBe("DNS:a, IP Address:10.0.0.1");
  expect(certificateOf(await makeSelfSigned("a", names, nowMs)).subjectAltName).toBe("DNS:a, IP Address:10.0.0.1");
  expect(certificateOf(await makeSelfSigned("vk", undefined, nowMs)).subjectAltName).toBe("DNS:vk");
});

test("a new one is needed where there is none, it lacks a name, or four fifths of its year are over", async () => {
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
