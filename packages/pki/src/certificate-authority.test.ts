import { systemClock } from "@virtual-kubelet/clock";
import { isInvalidInput } from "@virtual-kubelet/errdefs";
import fc from "fast-check";
import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer, get } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { describe, expect, test } from "vitest";
import { createCertificateAuthority, openCertificateAuthority } from "./certificate-authority.ts";
import { createCertificateRequest, parseCertificateRequest } from "./certificate-request.ts";
import { selfSignedCertificate } from "./certificate.ts";
import { generateKey } from "./key-pair.ts";
import { type KeyUsage, keyUsages } from "./key-usages.ts";
import { hasOpenssl, openssl } from "./test-support/openssl.ts";

const dayMs = 86_400_000;
const validity = { notBeforeMs: Date.UTC(2026, 0, 1), notAfterMs: Date.UTC(2027, 0, 1) };
const authority = createCertificateAuthority("test-ca");
const root = new X509Certificate(authority.certificate);

const serverAuth = "1.3.6.1.5.5.7.3.1";
const clientAuth = "1.3.6.1.5.5.7.3.2";

/** Extensions as openssl prints them. */
function extensionsOf(certificate: string): string {
  return openssl(["x509", "-in", "c.pem", "-noout", "-ext", "basicConstraints,keyUsage,extendedKeyUsage,subjectAltName"], {
    "c.pem": certificate,
  }).replaceAll(/\s+/g, " ");
}

describe("a certificate authority", () => {
  test("issues a certificate that names its subject, its groups and its hosts, and verifies against the authority", () => {
    const { certificate, key } = authority.issue({
      commonName: "ann",
      organizations: ["dev", "ops"],
      names: ["localhost", "127.0.0.1", "fd00::1:2"],
      usages: ["server auth", "client auth"],
    });

    const x509 = new X509Certificate(certificate);
    expect(x509.verify(root.publicKey)).toBe(true);
    expect(x509.checkIssued(root)).toBe(true);
    expect(x509.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect([x509.subject, x509.issuer]).toEqual(["O=dev\nO=ops\nCN=ann", "CN=test-ca"]);
    expect(x509.subjectAltName).toBe("DNS:localhost, IP Address:127.0.0.1, IP Address:FD00:0:0:0:0:0:1:2");
    expect(x509.keyUsage).toEqual([serverAuth, clientAuth]);
    expect([root.ca, x509.ca]).toEqual([true, false]);
    expect([x509.checkHost("localhost"), x509.checkIP("fd00::1:2")]).toEqual(["localhost", "fd00::1:2"]);
  });

  test("makes ten years for itself and one for others, from five minutes ago", () => {
    const nowMs = systemClock.now();
    const leaf = new X509Certificate(authority.issue({ commonName: "ann" }).certificate);

    for (const [x509, days] of [
      [root, 3650],
      [leaf, 365],
    ] as const) {
      expect(Math.abs(nowMs - 300_000 - x509.validFromDate.getTime())).toBeLessThan(60_000);
      expect(Math.abs(nowMs + days * dayMs - x509.validToDate.getTime())).toBeLessThan(60_000);
    }
    expect(authority.validity).toEqual({ notBeforeMs: root.validFromDate.getTime(), notAfterMs: root.validToDate.getTime() });
  });

  test("does not outlive itself in what it issues, unless it is told to", () => {
    const notAfterMs = Math.floor(systemClock.now() / 1000) * 1000 + dayMs;
    const brief = createCertificateAuthority("brief", { notBeforeMs: 0, notAfterMs });
    const endOf = (given?: typeof validity): number =>
      new X509Certificate(brief.issue({ commonName: "ann", validity: given }).certificate).validToDate.getTime();

    expect(endOf()).toBe(notAfterMs);
    expect(endOf({ notBeforeMs: 0, notAfterMs: notAfterMs + dayMs })).toBe(notAfterMs + dayMs);
  });

  test("writes times before and after 2050, in whole seconds", () => {
    const times = { notBeforeMs: Date.UTC(2049, 11, 31, 23, 59, 59, 999), notAfterMs: Date.UTC(2050, 0, 1, 1, 0, 0, 1) };
    const x509 = new X509Certificate(authority.issue({ commonName: "ann", validity: times }).certificate);

    expect(x509.validFromDate.toISOString()).toBe("2049-12-31T23:59:59.000Z");
    expect(x509.validToDate.toISOString()).toBe("2050-01-01T01:00:00.000Z");
    // UTCTime has two digits for the year, GeneralizedTime four.
    const text = x509.raw.toString("latin1");
    expect([text.includes("\x17\x0d491231235959Z"), text.includes("\x18\x0f20500101010000Z")]).toEqual([true, true]);
  });

  test("gives each certificate a positive serial number of 16 bytes", () => {
    const numbers = Array.from({ length: 20 }, () => new X509Certificate(authority.issue({ commonName: "ann" }).certificate).serialNumber);

    expect(new Set(numbers).size).toBe(20);
    for (const number of numbers) expect(number).toMatch(/^[4-7][0-9A-F]{31}$/);
  });

  test("writes further attributes of a subject, and none that is missing", () => {
    const subjectOf = (spec: Parameters<typeof authority.issue>[0]): string =>
      new X509Certificate(authority.issue(spec).certificate).subject;
    const extraNames = [
      ["1.3.6.1.4.1.57683.2", "u-1"],
      ["2.5.4.3", "bob"],
    ] as const;

    expect(subjectOf({ commonName: "ann", extraNames })).toBe("CN=ann\n1.3.6.1.4.1.57683.2=u-1\nCN=bob");
    expect(subjectOf({ organizations: ["dev"] })).toBe("O=dev");
    expect(subjectOf({ commonName: "n".repeat(300) })).toBe(`CN=${"n".repeat(300)}`);
  });

  test("opened again from its PEM issues what trust in the first one covers", () => {
    const { certificate, key } = authority;
    const opened = openCertificateAuthority({ certificate, key });
    const { certificate: issued } = opened.issue({ commonName: "bob" });

    expect(opened.validity).toEqual(authority.validity);
    expect(new X509Certificate(issued).checkIssued(root)).toBe(true);
    expect(new X509Certificate(issued).verify(root.publicKey)).toBe(true);
  });

  test.skipIf(!hasOpenssl)("may have been made by somebody else, whose name and key identifier its certificates repeat", () => {
    const key = openssl(["ecparam", "-name", "prime256v1", "-genkey", "-noout"]);
    const make = (...more: string[]): string =>
      openssl(["req", "-x509", "-new", "-key", "ca.key", "-subj", "/C=DE/O=Example/CN=example-ca", "-days", "30", ...more], {
        "ca.key": key,
      });

    for (const certificate of [make(), make("-addext", "subjectKeyIdentifier=none")]) {
      const leaf = openCertificateAuthority({ certificate, key }).issue({ commonName: "ann", usages: ["client auth"] }).certificate;
      const x509 = new X509Certificate(leaf);

      expect(x509.issuer).toBe("C=DE\nO=Example\nCN=example-ca");
      expect(x509.checkIssued(new X509Certificate(certificate))).toBe(true);
      expect(openssl(["verify", "-CAfile", "ca.pem", "leaf.pem"], { "ca.pem": certificate, "leaf.pem": leaf })).toContain("OK");
    }
  });

  test.each([
    [
      "a certificate that is no PEM",
      { certificate: "nonsense", key: authority.key },
      /^open a certificate authority: read its certificate: /,
    ],
    ["a key that is no PEM", { certificate: authority.certificate, key: "nonsense" }, /^read a private key: /],
    [
      "a key that is not on a curve",
      { certificate: authority.certificate, key: rsaKey() },
      /^read a private key: it is of the type rsa; expected ec/,
    ],
    ["another's key", { certificate: authority.certificate, key: generateKey() }, /the key does not belong to the certificate/],
    ["a server's certificate", authority.issue({ commonName: "server" }), /the certificate is not an authority's/],
  ])("is not opened from %s", (_case, pair, problem) => {
    expect(() => openCertificateAuthority(pair)).toThrow(problem);
    expect(() => openCertificateAuthority(pair)).toThrow(expect.toSatisfy(isInvalidInput));
  });

  test.each([
    ["a DNS name with a space", "a b", '"a b" is not a DNS name in ASCII'],
    ["a DNS name in Unicode", "bücher.example", '"bücher.example" is not a DNS name in ASCII'],
    ["an empty name", "", '"" is not a DNS name in ASCII'],
  ])("refuses %s", (_case, name, problem) => {
    expect(() => authority.issue({ names: [name] })).toThrow(problem);
    expect(() => createCertificateRequest({ names: [name] }, generateKey())).toThrow(expect.toSatisfy(isInvalidInput));
  });

  test("refuses a usage that does not exist, without which the certificate would be good for everything", () => {
    expect(() => authority.issue({ usages: ["server" as KeyUsage] })).toThrow('there is no key usage "server"');
  });

  test("writes an address without its zone, and an IPv4 address in IPv6 as Node reads it", () => {
    const { certificate } = authority.issue({ names: ["fe80::1%eth0", "::ffff:1.2.3.4"] });

    expect(new X509Certificate(certificate).subjectAltName).toBe("IP Address:FE80:0:0:0:0:0:0:1, IP Address:0:0:0:0:0:FFFF:102:304");
  });

  test("writes every IPv6 address as Node reads it", () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const { certificate } = authority.issue({ names: [address] });
        expect(new X509Certificate(certificate).checkIP(address)).toBe(address);
      }),
      { numRuns: 50 },
    );
  });
});

test.skipIf(!hasOpenssl)("openssl finds a chain right by its strictest rules", () => {
  const { certificate } = authority.issue({ commonName: "server", names: ["localhost"], usages: ["server auth"] });
  const rules = ["-x509_strict", "-purpose", "sslserver", "-verify_hostname", "localhost"];

  expect(openssl(["verify", ...rules, "-CAfile", "ca.pem", "leaf.pem"], { "ca.pem": authority.certificate, "leaf.pem": certificate })).toBe(
    "leaf.pem: OK\n",
  );
});

test.skipIf(!hasOpenssl)("extensions say what a certificate is for, and those that nobody may overlook are critical", () => {
  expect(extensionsOf(authority.certificate)).toBe(
    "X509v3 Key Usage: critical Digital Signature, Certificate Sign, CRL Sign X509v3 Basic Constraints: critical CA:TRUE ",
  );
  expect(extensionsOf(authority.issue({ names: ["a"], usages: ["server auth"] }).certificate)).toBe(
    "X509v3 Key Usage: critical Digital Signature X509v3 Extended Key Usage: TLS Web Server Authentication " +
      "X509v3 Basic Constraints: critical CA:FALSE X509v3 Subject Alternative Name: DNS:a ",
  );
  expect(extensionsOf(authority.issue({ commonName: "any" }).certificate)).toBe("X509v3 Basic Constraints: critical CA:FALSE ");
  const key = generateKey();
  expect(extensionsOf(selfSignedCertificate({ commonName: "vk", names: ["10.0.0.1"], usages: ["server auth"], validity }, key))).toBe(
    "X509v3 Key Usage: critical Digital Signature X509v3 Extended Key Usage: TLS Web Server Authentication " +
      "X509v3 Basic Constraints: critical CA:FALSE X509v3 Subject Alternative Name: IP Address:10.0.0.1 ",
  );
});

test("a self-signed certificate is its own issuer", () => {
  const key = generateKey();
  const x509 = new X509Certificate(selfSignedCertificate({ commonName: "vk", organizations: ["nodes"], validity }, key));

  expect([x509.subject, x509.issuer]).toEqual(["O=nodes\nCN=vk", "O=nodes\nCN=vk"]);
  expect(x509.verify(x509.publicKey)).toBe(true);
  expect(x509.checkPrivateKey(createPrivateKey(key))).toBe(true);
  expect([x509.validFromDate.getTime(), x509.validToDate.getTime()]).toEqual([validity.notBeforeMs, validity.notAfterMs]);
});

describe("a signed request", () => {
  const key = generateKey();
  const request = parseCertificateRequest(
    createCertificateRequest({ commonName: "system:node:n1", organizations: ["system:nodes"], names: ["n1", "10.0.0.1"] }, key),
  );

  test("becomes a certificate for its key, subject and names, with the usages given", () => {
    const x509 = new X509Certificate(authority.sign(request, { usages: ["digital signature", "server auth"], validity }));

    expect(x509.subject).toBe("O=system:nodes\nCN=system:node:n1");
    expect(x509.subjectAltName).toBe("DNS:n1, IP Address:10.0.0.1");
    expect(x509.keyUsage).toEqual([serverAuth]);
    expect(x509.ca).toBe(false);
    expect(x509.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(x509.checkIssued(root) && x509.verify(createPublicKey(authority.key))).toBe(true);
    expect([x509.validFromDate.getTime(), x509.validToDate.getTime()]).toEqual([validity.notBeforeMs, validity.notAfterMs]);
  });

  test.skipIf(!hasOpenssl)("has each usage of the Kubernetes API", () => {
    const all = extensionsOf(authority.sign(request, { usages: keyUsages, validity }));

    expect(all).toContain(
      "critical Digital Signature, Non Repudiation, Key Encipherment, Data Encipherment, Key Agreement, Certificate Sign, CRL Sign, " +
        "Encipher Only, Decipher Only X509v3 Extended Key Usage: ",
    );
    const [, extended = ""] = /Extended Key Usage: (.*) X509v3 Basic/.exec(all) ?? [];
    expect(extended.split(", ").toSorted()).toEqual([
      "Any Extended Key Usage",
      "Code Signing",
      "E-mail Protection",
      "IPSec End System",
      "IPSec Tunnel",
      "IPSec User",
      "Microsoft Server Gated Crypto",
      "Netscape Server Gated Crypto",
      "OCSP Signing",
      "TLS Web Client Authentication",
      "TLS Web Server Authentication",
      "Time Stamping",
    ]);
    expect(extensionsOf(authority.sign(request, { usages: ["cert sign"], validity }))).toContain("critical Certificate Sign X509v3 Basic");
    expect(extensionsOf(authority.sign(request, { usages: ["any"], validity }))).not.toContain("X509v3 Key Usage");
  });
});

test("TLS accepts the server's certificate and the client's", async () => {
  const serving = authority.issue({ commonName: "server", names: ["127.0.0.1"], usages: ["server auth"] });
  const client = authority.issue({ commonName: "ann", organizations: ["dev"], usages: ["client auth"] });
  const server = createServer(
    { cert: serving.certificate, key: serving.key, ca: authority.certificate, requestCert: true, rejectUnauthorized: true },
    (incoming, response) => response.end((incoming.socket as TLSSocket).getPeerCertificate().subject.CN),
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

function rsaKey(): string {
  return generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}
