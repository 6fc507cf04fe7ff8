import { VirtualClock } from "@virtual-kubelet/clock";
import {
  type CertificateAuthority,
  type CertificateSpec,
  createCertificateAuthority,
  selfSignedCertificate,
  type Validity,
} from "@virtual-kubelet/pki";
import { createHash, X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import type { CredentialSource } from "../access-control/access-control.ts";
import { RecordingMetrics } from "../test-support/recording-metrics.ts";
import { ClientCertificates } from "./client-certificate.ts";

const uidAttribute = "1.3.6.1.4.1.57683.2";

/** Covers the time of the virtual clock as well. */
const validity: Validity = { notBeforeMs: Date.UTC(2020, 0, 1), notAfterMs: Date.UTC(2049, 0, 1) };

const newAuthority = (name = "test-ca", times = validity): CertificateAuthority => createCertificateAuthority(name, times);
const authority = newAuthority();

function rig() {
  const clock = new VirtualClock();
  const ca: { pem: string | undefined } = { pem: authority.certificate };
  const clientCa = { current: () => ca.pem, onChange: () => ({ [Symbol.dispose]() {} }), searched: Promise.resolve(), run: async () => {} };
  const metrics = new RecordingMetrics();
  return { clock, ca, metrics, certificates: new ClientCertificates({ clientCa, clock, metrics }) };
}

/** A connection whose client sent this certificate. */
function connectionWith(certificate: string | undefined, authorized: boolean): CredentialSource["socket"] {
  const shown = certificate === undefined ? {} : new X509Certificate(certificate).toLegacyObject();
  return { authorized, getPeerCertificate: () => shown as never };
}

/** A client with a certificate, valid in the virtual clock's time and for clients unless the spec says otherwise. */
function caller(
  spec: CertificateSpec & { readonly validity?: Validity },
  { authorized = true, by = authority }: { readonly authorized?: boolean; readonly by?: CertificateAuthority } = {},
) {
  const { certificate } = by.issue({ usages: ["client auth"], validity, ...spec });
  return { headers: {}, socket: connectionWith(certificate, authorized), judgedBy: by.certificate };
}

const ann = { commonName: "ann" };

test("common name, organizations and UID become user, groups and UID; the certificate's hash is in extra", () => {
  const extraNames = [[uidAttribute, "u-1"]] as const;
  const { certificate } = authority.issue({ ...ann, organizations: ["dev", "ops"], extraNames, usages: ["client auth"], validity });
  const hash = createHash("sha256").update(new X509Certificate(certificate).raw).digest("hex");

  const user = rig().certificates.authenticate({ headers: {}, socket: connectionWith(certificate, true) });

  expect(user).toEqual({
    name: "ann",
    uid: "u-1",
    groups: ["dev", "ops"],
    extra: { "authentication.kubernetes.io/credential-id": [`X509SHA256=${hash}`] },
  });
});

test("of several common names the last one counts, as in Go", () => {
  expect(rig().certificates.authenticate(caller({ commonName: "a", extraNames: [["2.5.4.3", "b"]] }))?.name).toBe("b");
});

test("a certificate without a name authenticates nobody", () => {
  expect(rig().certificates.authenticate(caller({ organizations: ["dev"] }))).toBeUndefined();
});

test("a request without a certificate is not authenticated", () => {
  const { certificates } = rig();
  const request = { headers: {}, socket: connectionWith(undefined, false) };

  expect(certificates.authenticate(request)).toBeUndefined();
  expect(certificates.wasShown(request)).toBe(false);
});

test("a certificate of another authority with the same name authenticates nobody, but counts as sent", () => {
  const { certificates } = rig();
  const request = caller(ann, { authorized: false, by: newAuthority() });

  expect(certificates.authenticate(request)).toBeUndefined();
  expect(certificates.wasShown(request)).toBe(true);
});

test("without a client CA no certificate is accepted, even if TLS accepted it", () => {
  const { ca, certificates } = rig();
  ca.pem = undefined;

  expect(certificates.authenticate(caller(ann))).toBeUndefined();
});

test("callers with an open connection lose access when their authority is replaced as the client CA", () => {
  const { ca, certificates } = rig();
  const request = caller(ann);
  expect(certificates.authenticate(request)?.name).toBe("ann");

  ca.pem = newAuthority().certificate;

  expect(certificates.authenticate(request)).toBeUndefined();
});

test("a certificate that TLS verified counts only for the authority with which TLS verified it", () => {
  const { certificates } = rig();
  const [old, intermediate] = [newAuthority("old"), newAuthority("intermediate")];
  const socket = () => connectionWith(intermediate.issue({ ...ann, usages: ["client auth"], validity }).certificate, true);

  expect(certificates.authenticate({ headers: {}, socket: socket(), judgedBy: authority.certificate })?.name).toBe("ann");
  expect(certificates.authenticate({ headers: {}, socket: socket(), judgedBy: old.certificate })).toBeUndefined();
  expect(certificates.authenticate({ headers: {}, socket: socket() })).toBeUndefined();
});

test("callers with an open connection gain access when their authority becomes the client CA", () => {
  const { ca, certificates } = rig();
  ca.pem = newAuthority("other").certificate;
  const request = caller(ann, { authorized: false });
  expect(certificates.authenticate(request)).toBeUndefined();

  ca.pem = `${ca.pem}${authority.certificate}`;

  expect(certificates.authenticate(request)?.name).toBe("ann");
});

test("a server certificate authenticates nobody, even on a connection that is older than the client CA", () => {
  const { certificates } = rig();

  expect(certificates.authenticate(caller({ ...ann, usages: ["server auth"] }, { authorized: false }))).toBeUndefined();
});

test("a certificate that expires while its connection is open is no longer accepted", async () => {
  const { clock, certificates } = rig();
  const notAfterMs = clock.now() + 60_000;
  const { certificate } = authority.issue({ ...ann, usages: ["client auth"], validity: { ...validity, notAfterMs } });
  const request = { headers: {}, socket: connectionWith(certificate, true) };
  expect(certificates.authenticate(request)?.name).toBe("ann");

  await clock.advance(61_000);

  expect(certificates.authenticate(request)).toBeUndefined();
});

test("a user has only the UID and the groups of the certificate", () => {
  expect(rig().certificates.authenticate(caller(ann))).toMatchObject({ name: "ann", uid: undefined, groups: [] });
  expect(
    rig().certificates.authenticate(
      caller({
        ...ann,
        extraNames: [
          [uidAttribute, "u-1"],
          [uidAttribute, "u-2"],
        ],
      }),
    )?.uid,
  ).toBe("u-1");
});

test("the remaining lifetime of a certificate is measured each time it is accepted", () => {
  const { clock, metrics, certificates } = rig();
  const request = caller({ ...ann, validity: { ...validity, notAfterMs: clock.now() + 90_000 } });

  certificates.authenticate(request);
  certificates.authenticate(caller(ann, { by: newAuthority("another") }));

  expect(metrics.samples).toEqual(["apiserver_client_certificate_expiration_seconds 90"]);
});

test("a certificate is accepted from the start to the end of its validity, both included", async () => {
  const { clock, certificates } = rig();
  const request = caller({ ...ann, validity: { notBeforeMs: clock.now() + 60_000, notAfterMs: clock.now() + 120_000 } });
  const counts: boolean[] = [];

  for (const ms of [59_999, 1, 60_000, 1]) {
    await clock.advance(ms);
    counts.push(certificates.authenticate(request) !== undefined);
  }

  expect(counts).toEqual([false, true, true, false]);
});

test("a certificate is read once per connection", () => {
  const { certificates } = rig();
  const { socket, ...request } = caller(ann);
  let reads = 0;
  const counting = {
    authorized: true,
    getPeerCertificate: () => {
      reads++;
      return socket.getPeerCertificate() as never;
    },
  };

  for (let round = 0; round < 3; round++) expect(certificates.authenticate({ ...request, socket: counting })?.name).toBe("ann");

  expect(reads).toBe(1);
});

test("a closed connection has no certificate", () => {
  const { certificates } = rig();
  const request = { headers: {}, socket: { authorized: true, getPeerCertificate: () => null as never } };

  expect([certificates.wasShown(request), certificates.authenticate(request)]).toEqual([false, undefined]);
});

test("an object with bytes but without a subject does not count as a certificate", () => {
  const { raw } = new X509Certificate(authority.issue(ann).certificate);
  const request = { headers: {}, socket: { authorized: true, getPeerCertificate: () => ({ raw }) as never } };

  expect(rig().certificates.wasShown(request)).toBe(false);
});

test("on a connection that is older than the client CA, a certificate without key usages is accepted", () => {
  const { certificates } = rig();

  expect(certificates.authenticate(caller({ ...ann, usages: [] }, { authorized: false }))?.name).toBe("ann");
});

test("on a connection that is older than the client CA, the certificate of an authority is not accepted", () => {
  const { certificates } = rig();

  expect(
    certificates.authenticate({ headers: {}, socket: connectionWith(authority.certificate, false), judgedBy: authority.certificate }),
  ).toBeUndefined();
});

test("an authority with the client CA's name that did not sign the certificate is not trusted", () => {
  const { certificates } = rig();

  expect(certificates.authenticate(caller(ann, { authorized: false, by: newAuthority() }))).toBeUndefined();
});

test("on a connection that is older than the client CA, that CA must be valid now", () => {
  const { clock, ca, certificates } = rig();
  const nowMs = clock.now();
  const counts = (times: Partial<Validity>): boolean => {
    const by = newAuthority("dated", { ...validity, ...times });
    ca.pem = by.certificate;
    return certificates.authenticate(caller(ann, { authorized: false, by })) !== undefined;
  };

  expect(counts({ notBeforeMs: nowMs })).toBe(true);
  expect(counts({ notBeforeMs: nowMs + 1_000 })).toBe(false);
  expect(counts({ notAfterMs: nowMs })).toBe(true);
  expect(counts({ notAfterMs: nowMs - 1_000 })).toBe(false);
});

test("on a connection that is older than the client CA, that CA must be an authority", () => {
  const { ca, certificates } = rig();
  const by = newAuthority("server");
  const request = caller(ann, { authorized: false, by });
  // Key and name are the authority's: only the missing CA flag distinguishes the certificate from it.
  ca.pem = selfSignedCertificate({ commonName: "server", validity }, by.key);

  expect(new X509Certificate(by.issue(ann).certificate).checkIssued(new X509Certificate(ca.pem))).toBe(true);
  expect(certificates.authenticate(request)).toBeUndefined();
});
