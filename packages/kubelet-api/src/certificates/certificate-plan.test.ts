import { generateKey, selfSignedCertificate } from "@virtual-kubelet/pki";
import { X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { isValidAt, planCertificate, rotationTimeMs, type CertificateSituation } from "./certificate-plan.ts";

const day = 86_400_000;
const names = { dnsNames: [], ips: ["10.0.0.1"] };
const others = { dnsNames: [], ips: ["10.0.0.2"] };
const validity = { notBeforeMs: 0, notAfterMs: 100 * day };
const certificate = new X509Certificate(selfSignedCertificate({ commonName: "vk", names: names.ips, validity }, generateKey()));

function plan(given: Partial<CertificateSituation>): string {
  return planCertificate({ nowMs: 10 * day, names, issued: undefined, pendingNames: undefined, notBeforeMs: 0, ...given }).kind;
}

describe("planCertificate", () => {
  test("requests a certificate as soon as the node has an address", () => {
    expect(plan({ names: undefined })).toBe("rest");
    expect(plan({ names: { dnsNames: [], ips: [] } })).toBe("rest");
    expect(plan({})).toBe("request");
    expect(plan({ names: { dnsNames: ["a"], ips: [] } })).toBe("request");
  });

  test("does nothing while the certificate is recent and covers the addresses", () => {
    const issued = { certificate, rotateAtMs: 80 * day };

    expect(plan({ issued })).toBe("rest");
    expect(plan({ issued, names: others })).toBe("request");
    expect(plan({ issued, nowMs: 80 * day })).toBe("request");
  });

  test("waits for the pending request as long as its names are right", () => {
    expect(plan({ pendingNames: names })).toBe("await");
    expect(plan({ pendingNames: names, names: undefined })).toBe("await");
    expect(plan({ pendingNames: others })).toBe("request");
  });

  test("does not wait for a request that has become obsolete", () => {
    expect(plan({ pendingNames: others, issued: { certificate, rotateAtMs: 80 * day } })).toBe("rest");
  });

  test("makes no request before the earliest time for one", () => {
    expect(plan({ notBeforeMs: 10 * day + 1 })).toBe("rest");
    expect(plan({ notBeforeMs: 10 * day })).toBe("request");
  });
});

test("a certificate is renewed after 70 to 90 % of its lifetime", () => {
  const at = (chance: number) => rotationTimeMs(certificate, { next: () => chance, uuid: () => "" }) / day;

  expect(at(0)).toBeCloseTo(70);
  expect(at(0.5)).toBeCloseTo(80);
  expect(at(0.999_999)).toBeCloseTo(90, 2);
});

test("a certificate is valid from the start of its validity up to, but not including, its end", () => {
  expect([-1, 0, 100 * day - 1, 100 * day].map((ms) => isValidAt(certificate, ms))).toEqual([false, true, true, false]);
});
