import { isInvalidInput } from "@virtual-kubelet/errdefs";
import { type BaseBlock, ObjectIdentifier } from "asn1js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decode, elementsOf, encode, sequence } from "./asn1.ts";
import { createCertificateRequest, parseCertificateRequest } from "./certificate-request.ts";
import { generateKey } from "./key-pair.ts";
import { fromPem, toPem } from "./pem.ts";
import { hasOpenssl, openssl } from "./test-support/openssl.ts";

const label = "CERTIFICATE REQUEST";
const subject = { commonName: "system:node:n1", organizations: ["system:nodes"] };
const key = generateKey();
const pem = createCertificateRequest({ ...subject, names: ["n1.example.com", "10.0.0.1", "fd00::1"] }, key);
const der = fromPem(label, pem) ?? Buffer.alloc(0);

/** The error that reading these bytes gives. */
function problemOf(bytes: Uint8Array): unknown {
  try {
    return parseCertificateRequest(toPem(label, bytes));
  } catch (error) {
    return error;
  }
}

describe("a certificate request", () => {
  test("says whom it is for, and under which names", () => {
    const request = parseCertificateRequest(pem);

    expect([request.commonName, request.organizations]).toEqual(["system:node:n1", ["system:nodes"]]);
    expect(request.alternativeNameCounts).toEqual({ dns: 1, email: 0, ip: 2, uri: 0 });
    expect(request.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: "prime256v1" });
  });

  test("of any subject and names is read as it was written", () => {
    const text = fc.string({ minLength: 1, unit: "grapheme" });
    fc.assert(
      fc.property(
        fc.record({ commonName: text, organizations: fc.array(text), names: fc.array(fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6())) }),
        (spec) => {
          const { commonName, organizations, alternativeNameCounts } = parseCertificateRequest(createCertificateRequest(spec, key));
          expect({ commonName, organizations }).toEqual({ commonName: spec.commonName, organizations: spec.organizations });
          expect(alternativeNameCounts.dns + alternativeNameCounts.ip).toBe(spec.names.length);
        },
      ),
      { numRuns: 50 },
    );
  });

  test("without names and subject asks for none", () => {
    const request = parseCertificateRequest(createCertificateRequest({}, key));

    expect([request.commonName, request.organizations, request.der.alternativeNames]).toEqual(["", [], undefined]);
    expect(request.alternativeNameCounts).toEqual({ dns: 0, email: 0, ip: 0, uri: 0 });
  });

  test("of several common names has the last one, as with Go", () => {
    expect(parseCertificateRequest(createCertificateRequest({ commonName: "a", extraNames: [["2.5.4.3", "b"]] }, key)).commonName).toBe(
      "b",
    );
  });

  test("has lines of 64 characters, of which the last may be shorter", () => {
    const lines = pem.split("\n");

    expect([lines.at(0), lines.at(-2), lines.at(-1)]).toEqual([`-----BEGIN ${label}-----`, `-----END ${label}-----`, ""]);
    const body = lines.slice(1, -2);
    expect(body.slice(0, -1).every(({ length }) => length === 64)).toBe(true);
    expect(body.length).toBeGreaterThan(3);
  });

  test.skipIf(!hasOpenssl)("is what openssl takes for one", () => {
    const text = openssl(["req", "-in", "r.pem", "-noout", "-verify", "-text", "-nameopt", "RFC2253"], { "r.pem": pem });

    expect(text).toContain("Subject: CN=system:node:n1,O=system:nodes");
    expect(text).toContain("DNS:n1.example.com, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1");
    expect(text).toContain("Signature Algorithm: ecdsa-with-SHA256");
  });

  test.skipIf(!hasOpenssl).each([
    ["rsa:2048", []],
    ["ec -pkeyopt ec_paramgen_curve:P-384", ["-sha384"]],
    ["ec -pkeyopt ec_paramgen_curve:P-521", ["-sha512"]],
    ["rsa:2048", ["-sha512"]],
    ["ed25519", []],
  ])("may be openssl's, with a key %s %j", (newKey, more) => {
    const names = "subjectAltName=DNS:a,email:a@example.com,URI:urn:b,URI:urn:c,IP:::1,otherName:1.2.3.4;UTF8:x";
    const made = openssl([
      ...["req", "-new", "-nodes", "-keyout", "k.pem", "-subj", "/C=DE/O=system:nodes/CN=system:node:n1", "-addext", names],
      ...["-addext", "keyUsage=critical,digitalSignature", "-newkey", ...newKey.split(" "), ...more],
    ]);

    const request = parseCertificateRequest(`a comment\n${made}`);

    expect([request.commonName, request.organizations]).toEqual(["system:node:n1", ["system:nodes"]]);
    expect(request.alternativeNameCounts).toEqual({ dns: 1, email: 1, ip: 1, uri: 2 });
  });
});

describe("a broken certificate request is refused with what is wrong:", () => {
  test.each([
    ["no PEM", "nonsense"],
    ["another block", toPem("CERTIFICATE", der)],
    ["no base64", `-----BEGIN ${label}-----\n****\n-----END ${label}-----\n`],
  ])("%s", (_case, text) => {
    expect(() => parseCertificateRequest(text)).toThrow("PEM block type must be CERTIFICATE REQUEST");
    expect(() => parseCertificateRequest(text)).toThrow(expect.toSatisfy(isInvalidInput));
  });

  const [name, keyInfo] = [sequence(), sequence()];
  test.each([
    ["nothing", new Uint8Array(), "Input buffer has zero length"],
    ["half of one", der.subarray(0, 100), "asn1: structure error: "],
    ["something behind it", Buffer.concat([der, Buffer.from([5, 0])]), "trailing data"],
    ["no sequence", Uint8Array.of(4, 1, 0), "the request is no SEQUENCE"],
    ["a time that is none", Uint8Array.of(0x30, 3, 0x18, 1, 0x41), "Wrong input string for conversion"],
    ["an empty one", Uint8Array.of(0x30, 2, 0x30, 0), "the request lacks a version, a subject or a public key"],
    ["no version", encode(sequence(sequence(sequence(), name, keyInfo))), "the request lacks a version, a subject or a public key"],
    [
      "a length with too many bytes",
      Buffer.concat([Uint8Array.of(0x30, 0x84, 0, 0), der.subarray(2)]),
      "asn1: structure error: not in DER",
    ],
    [
      "an indefinite length",
      Buffer.concat([Uint8Array.of(0x30, 0x80), der.subarray(4), Uint8Array.of(0, 0)]),
      "the length of the request is indefinite",
    ],
  ])("%s", (_case, bytes, problem) => {
    const found = problemOf(bytes);

    expect(found).toSatisfy(isInvalidInput);
    expect(String(found)).toContain(problem);
  });

  test("a signature of another key", () => {
    const parts = (owner: string): BaseBlock[] =>
      elementsOf(decode(fromPem(label, createCertificateRequest(subject, owner)) ?? Buffer.alloc(0)), "a request");
    const [body = sequence(), algorithm = sequence()] = parts(key);
    const [, , signature = sequence()] = parts(generateKey());

    expect(String(problemOf(encode(sequence(body, algorithm, signature))))).toContain("x509: ECDSA verification failure");
  });

  test("an algorithm that is not known", () => {
    const known = Buffer.from(new ObjectIdentifier({ value: "1.2.840.10045.4.3.2" }).toBER());
    const unknown = Buffer.from(new ObjectIdentifier({ value: "1.2.840.10045.4.3.9" }).toBER());
    const changed = Buffer.from(der);
    unknown.copy(changed, der.lastIndexOf(known));

    expect(String(problemOf(changed))).toContain("x509: cannot verify signature: algorithm unimplemented");
  });

  test("any byte changed: nothing but an error of that kind comes of it", () => {
    fc.assert(
      fc.property(fc.nat(der.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const changed = Buffer.from(der);
        changed[at] = (changed[at] ?? 0) ^ change;
        expect(problemOf(changed)).toSatisfy(isInvalidInput);
      }),
      { numRuns: 1000 },
    );
  });

  test("any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(problemOf(bytes)).toSatisfy(isInvalidInput);
      }),
    );
  });
});
