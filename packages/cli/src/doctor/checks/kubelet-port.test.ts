import { createCertificateAuthority, generateKey, selfSignedCertificate } from "@virtual-kubelet/pki";
import { X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import type { FindingStatus } from "../finding.ts";
import { isNodeCertificate } from "../served-certificate.ts";
import { judgePort } from "./kubelet-port.ts";

const authority = createCertificateAuthority("test");
const named = (commonName: string): X509Certificate =>
  new X509Certificate(authority.issue({ commonName, usages: ["server auth"] }).certificate);
const tls = (commonName: string) => ({ kind: "tls", certificate: named(commonName) }) as const;

test.for<[what: string, situation: Partial<Parameters<typeof judgePort>[0]>, status: FindingStatus]>([
  ["free before the first run", {}, "pass"],
  ["free although a process runs", { process: "7" }, "fail"],
  ["the process's", { process: "7", listener: tls("anything") }, "pass"],
  ["a program's in another container", { listener: tls("system:node:vk") }, "pass"],
  ["another node's of the same program", { listener: tls("system:node:vk-2") }, "pass"],
  ["a kubelet's", { listener: tls("system:node:machine") }, "fail"],
  ["a program's with a certificate of its own", { listener: tls("company"), hasFile: true }, "pass"],
  ["a mail server's", { listener: { kind: "other", why: "wrong version number" } }, "fail"],
])("a port that is %s", ([, situation, status]) => {
  const plain = { nodeNames: ["vk", "vk-2"], port: 10_250, listener: { kind: "none" }, process: undefined, hasFile: false } as const;

  expect(judgePort({ ...plain, ...situation }).status).toBe(status);
});

test("a self-signed certificate belongs to the node that its name begins with", () => {
  const validity = { notBeforeMs: 0, notAfterMs: Date.UTC(2100, 0) };
  const own = new X509Certificate(selfSignedCertificate({ commonName: "vk@1767312000", usages: ["server auth"], validity }, generateKey()));

  expect(["vk", "vk-2", "other"].map((name) => isNodeCertificate(own, name))).toEqual([true, false, false]);
  expect(isNodeCertificate(named("vk@1767312000"), "vk")).toBe(false);
});
