import type { CertificateSigningRequest } from "@virtual-kubelet/kube-client";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import type { FindingStatus } from "../finding.ts";
import { judgeCertificate, judgeRequests } from "./certificate.ts";
import { judgeClientCa } from "./client-ca.ts";

const nowMs = Date.UTC(2026, 0, 2);
const dayMs = 86_400_000;
const authority = createCertificateAuthority("test");

function certificate(fromDays: number, toDays: number): X509Certificate {
  const validity = { notBeforeMs: nowMs + fromDays * dayMs, notAfterMs: nowMs + toDays * dayMs };
  return new X509Certificate(
    authority.issue({ commonName: "vk", names: ["192.0.2.1", "node.example"], usages: ["server auth"], validity }).certificate,
  );
}

const names = (...ips: string[]) => ({ dnsNames: ["node.example"], ips });

test.for<[what: string, situation: Partial<Parameters<typeof judgeCertificate>[0]>, status: FindingStatus, says: RegExp]>([
  ["valid", {}, "pass", /issued by CN=test/],
  ["valid, with addresses that are unknown", { names: undefined }, "pass", /issued by/],
  ["without an address of the node", { names: names("192.0.2.1", "192.0.2.2") }, "fail", /not valid for 192\.0\.2\.2, /],
  ["self-signed without an address of the node", { names: names("192.0.2.2"), isOwn: true }, "pass", /self-signed/],
  ["expired", { certificate: certificate(-9, -1) }, "fail", /expired/],
  ["of the future", { certificate: certificate(1, 9) }, "fail", /notBefore/],
  ["about to expire", { certificate: certificate(-300, 3) }, "warn", /expires on/],
  ["short-lived by design", { certificate: certificate(-0.2, 0.8) }, "pass", /issued by/],
])("a serving certificate that is %s", ([, situation, status, says]) => {
  const plain = { certificate: certificate(-1, 100), file: "/tls.crt", isOwn: false, names: names("192.0.2.1"), nowMs };

  expect(judgeCertificate({ ...plain, ...situation })).toMatchObject({ status, message: expect.stringMatching(says) });
});

test("a certificate of a file is replaced, and one of the cluster is approved", () => {
  const expired = { certificate: certificate(-9, -1), isOwn: false, names: undefined, nowMs };

  expect(judgeCertificate({ ...expired, file: "/tls.crt" }).repair).toEqual([expect.stringMatching(/^# replace \/tls\.crt/)]);
  expect(judgeCertificate({ ...expired, file: undefined }).repair).toEqual([
    "kubectl get csr --field-selector spec.signerName=kubernetes.io/kubelet-serving",
    expect.stringMatching(/^kubectl certificate approve /),
  ]);
});

test("of several published authorities one must be valid, as while the authority is exchanged", () => {
  const authorityUntil = (days: number): string =>
    createCertificateAuthority("ca", { notBeforeMs: nowMs - 400 * dayMs, notAfterMs: nowMs + days * dayMs }).certificate;
  const status = (...days: readonly number[]): FindingStatus =>
    judgeClientCa({ data: { "client-ca-file": `# old, new\n${days.map(authorityUntil).join("")}` } }, nowMs).status;

  expect([status(-1, 100), status(100, -1), status(-2, -1)]).toEqual(["pass", "pass", "fail"]);
});

type Condition = NonNullable<NonNullable<CertificateSigningRequest["status"]>["conditions"]>[number];

function request(
  ageMinutes: number,
  status: CertificateSigningRequest["status"] = {},
  username = "system:node:vk",
): CertificateSigningRequest {
  const creationTimestamp = new Date(nowMs - ageMinutes * 60_000).toISOString();
  return { metadata: { name: `csr-${ageMinutes}`, creationTimestamp }, spec: { request: "", signerName: "s", username }, status };
}

const decided = (type: string): { conditions: Condition[] } => ({ conditions: [{ type, status: "True", reason: "R", message: "m" }] });

test.for<[what: string, requests: readonly CertificateSigningRequest[], status: FindingStatus, says: RegExp]>([
  ["none", [], "pass", /no request now/],
  ["a new one", [request(2)], "warn", /csr-2 waits for approval since 2 min; until then/],
  ["an old one", [request(60)], "warn", /nobody approves requests automatically/],
  ["an old one of an account", [request(60, {}, "me")], "warn", /accept requests only from system:node:vk, and this one is from me/],
  ["a denied one", [request(2, decided("Denied"))], "fail", /csr-2 was denied: R: m/],
  ["one that the signer refused", [request(2, decided("Failed"))], "fail", /csr-2 was not signed/],
  ["one that is approved, but not signed", [request(2, decided("Approved"))], "warn", /signer does not run/],
  ["a signed one", [request(2, { ...decided("Approved"), certificate: "x" })], "pass", /approved and signed/],
  ["an older denied one", [request(9, decided("Denied")), request(2, { ...decided("Approved"), certificate: "x" })], "pass", /csr-2/],
])("certificate requests: %s", ([, requests, status, says]) => {
  expect(judgeRequests(requests, "vk", nowMs)).toMatchObject({ status, message: expect.stringMatching(says) });
});

test.for<[what: string, data: Record<string, string> | undefined, status: FindingStatus]>([
  ["published", { "client-ca-file": authority.certificate }, "pass"],
  ["empty", { "client-ca-file": "" }, "fail"],
  ["missing", {}, "fail"],
  ["no certificate", { "client-ca-file": "text" }, "fail"],
])("a client CA that is %s", ([, data, status]) => {
  expect(judgeClientCa(data && { data }, Date.now()).status).toBe(status);
});

test("a client CA without its ConfigMap fails, and so does an expired one", () => {
  expect(judgeClientCa(undefined, nowMs).status).toBe("fail");
  expect(judgeClientCa({ data: { "client-ca-file": authority.certificate } }, Date.UTC(2200, 0)).message).toContain("has expired");
});
