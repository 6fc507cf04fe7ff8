import { createHash, X509Certificate } from "node:crypto";
import { noMetrics } from "@virtual-kubelet/kube-client";
import { FakeClock } from "@virtual-kubelet/kube-client/testing";
import { expect, test } from "vitest";
import { connectionWith, TestAuthority, usages, type Subject } from "../test-support/test-authority.ts";
import { ClientCertificates } from "./client-certificate.ts";

const cn = (name: string) => ["2.5.4.3", name] as const;
const o = (group: string) => ["2.5.4.10", group] as const;
const uid = (value: string) => ["1.3.6.1.4.1.57683.2", value] as const;

const authority = new TestAuthority();

function rig() {
  const clock = new FakeClock();
  const ca: { pem: string | undefined } = { pem: authority.certificate };
  const clientCa = { current: () => ca.pem, onChange: () => ({ [Symbol.dispose]() {} }), searched: Promise.resolve(), run: async () => {} };
  return { clock, ca, certificates: new ClientCertificates({ clientCa, clock, metrics: noMetrics }) };
}

function caller(
  subject: Subject,
  { authorized = true, by = authority, usage = usages.client }: { authorized?: boolean; by?: TestAuthority; usage?: string } = {},
) {
  return { headers: {}, socket: connectionWith(by.issue({ subject, usage }).certificate, authorized), judgedBy: by.certificate };
}

test("common name, organizations and uid are user, groups and uid; the certificate's hash is in extra", () => {
  const { certificate } = authority.issue({ subject: [o("dev"), o("ops"), uid("u-1"), cn("ann")], usage: usages.client });
  const hash = createHash("sha256").update(new X509Certificate(certificate).raw).digest("hex");

  const user = rig().certificates.authenticate({ headers: {}, socket: connectionWith(certificate, true) });

  expect(user).toEqual({
    name: "ann",
    uid: "u-1",
    groups: ["dev", "ops"],
    extra: { "authentication.kubernetes.io/credential-id": [`X509SHA256=${hash}`] },
  });
});

test("of several common names the last one counts, as with Go", () => {
  expect(rig().certificates.authenticate(caller([cn("a"), cn("b")]))?.name).toBe("b");
});

test("a certificate without a name is nobody's", () => {
  expect(rig().certificates.authenticate(caller([o("dev")]))).toBeUndefined();
});

test("no certificate is nobody's", () => {
  const { certificates } = rig();
  const request = { headers: {}, socket: connectionWith(undefined, false) };

  expect(certificates.authenticate(request)).toBeUndefined();
  expect(certificates.wasShown(request)).toBe(false);
});

test("another authority's certificate of the same name is nobody's, and was shown", () => {
  const { certificates } = rig();
  const request = caller([cn("ann")], { authorized: false, by: new TestAuthority() });

  expect(certificates.authenticate(request)).toBeUndefined();
  expect(certificates.wasShown(request)).toBe(true);
});

test("without a client CA no certificate counts, though TLS may have found it good", () => {
  const { ca, certificates } = rig();
  ca.pem = undefined;

  expect(certificates.authenticate(caller([cn("ann")]))).toBeUndefined();
});

test("an authority that is no longer the client CA loses those who are connected", () => {
  const { ca, certificates } = rig();
  const request = caller([cn("ann")]);
  expect(certificates.authenticate(request)?.name).toBe("ann");

  ca.pem = new TestAuthority().certificate;

  expect(certificates.authenticate(request)).toBeUndefined();
});

test("what TLS found good counts by the authority that it was found by, and no other", () => {
  const { certificates } = rig();
  const [old, intermediate] = [new TestAuthority("old"), new TestAuthority("intermediate")];
  const socket = () => connectionWith(intermediate.issue({ subject: [cn("ann")], usage: usages.client }).certificate, true);

  expect(certificates.authenticate({ headers: {}, socket: socket(), judgedBy: authority.certificate })?.name).toBe("ann");
  expect(certificates.authenticate({ headers: {}, socket: socket(), judgedBy: old.certificate })).toBeUndefined();
  expect(certificates.authenticate({ headers: {}, socket: socket() })).toBeUndefined();
});

test("an authority that becomes the client CA gains those who are connected", () => {
  const { ca, certificates } = rig();
  ca.pem = new TestAuthority("other").certificate;
  const request = caller([cn("ann")], { authorized: false });
  expect(certificates.authenticate(request)).toBeUndefined();

  ca.pem = `${ca.pem}${authority.certificate}`;

  expect(certificates.authenticate(request)?.name).toBe("ann");
});

test("a server's certificate is nobody's, also on a connection that is older than the client CA", () => {
  const { certificates } = rig();

  expect(certificates.authenticate(caller([cn("ann")], { authorized: false, usage: usages.server }))).toBeUndefined();
});

test("a certificate that expires while the connection is open counts no longer", async () => {
  const { clock, certificates } = rig();
  const notAfterMs = clock.now() + 60_000;
  const { certificate } = authority.issue({ subject: [cn("ann")], usage: usages.client, notAfterMs });
  const request = { headers: {}, socket: connectionWith(certificate, true) };
  expect(certificates.authenticate(request)?.name).toBe("ann");

  await clock.advance(61_000);

  expect(certificates.authenticate(request)).toBeUndefined();
});
