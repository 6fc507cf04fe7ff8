import { systemClock, VirtualClock } from "@virtual-kubelet/clock";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer, get } from "node:https";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { createCertificateAuthority, openCertificateAuthority } from "./certificate-authority.ts";

test("an issued certificate names its subject, its groups and its hosts, and verifies against its authority", () => {
  const authority = createCertificateAuthority("test-ca", systemClock);

  const issued = authority.issue({
    commonName: "ann",
    organizations: ["dev", "ops"],
    names: ["localhost", "127.0.0.1", "fd00::1:2"],
    usages: ["server", "client"],
  });

  const certificate = new X509Certificate(issued.certificate);
  const root = new X509Certificate(authority.certificate);
  expect(certificate.verify(root.publicKey)).toBe(true);
  expect(certificate.checkIssued(root)).toBe(true);
  expect(certificate.subject).toBe("O=dev\nO=ops\nCN=ann");
  expect(certificate.issuer).toBe("CN=test-ca");
  expect(certificate.subjectAltName).toBe("DNS:localhost, IP Address:127.0.0.1, IP Address:FD00:0:0:0:0:0:1:2");
  expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]);
  expect(certificate.ca).toBe(false);
  expect(root.ca).toBe(true);
});

test("a certificate is valid from five minutes ago for the lifetime asked for, also past 2050", () => {
  const clock = new VirtualClock(Date.parse("2049-12-31T23:59:00Z"));

  const { certificate } = createCertificateAuthority("test-ca", clock).issue({
    commonName: "ann",
    usages: ["client"],
    lifetimeMs: 3_600_000,
  });

  expect(new X509Certificate(certificate).validFromDate.toISOString()).toBe("2049-12-31T23:54:00.000Z");
  expect(new X509Certificate(certificate).validToDate.toISOString()).toBe("2050-01-01T00:59:00.000Z");
});

test("an authority opened again from its PEM issues certificates that the first one's trust covers", () => {
  const authority = createCertificateAuthority("test-ca", systemClock);

  const issued = openCertificateAuthority({ certificate: authority.certificate, key: authority.key }, systemClock).issue({
    commonName: "bob",
    usages: ["client"],
  });

  expect(new X509Certificate(issued.certificate).verify(new X509Certificate(authority.certificate).publicKey)).toBe(true);
});

test("TLS accepts the server's certificate and the client's", async () => {
  const authority = createCertificateAuthority("test-ca", systemClock);
  const serving = authority.issue({ commonName: "server", names: ["127.0.0.1"], usages: ["server"] });
  const client = authority.issue({ commonName: "ann", organizations: ["dev"], usages: ["client"] });
  const server = createServer(
    { cert: serving.certificate, key: serving.key, ca: authority.certificate, requestCert: true, rejectUnauthorized: true },
    (request, response) => response.end((request.socket as import("node:tls").TLSSocket).getPeerCertificate().subject.CN),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  try {
    const { port } = server.address() as AddressInfo;
    const body = await new Promise<string>((resolve, reject) => {
      get({ host: "127.0.0.1", port, ca: authority.certificate, cert: client.certificate, key: client.key, agent: false }, (response) => {
        response.setEncoding("utf8").on("data", resolve);
      }).on("error", reject);
    });
    expect(body).toBe("ann");
  } finally {
    server.close();
  }
});
