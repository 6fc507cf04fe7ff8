import type { KeyPair } from "@virtual-kubelet/pki";
import { isIP } from "node:net";
import { isValidAt } from "./certificate-plan.ts";
import { certificateOf } from "./key-pair.ts";
import { allNames, covers, type ServingNames } from "./serving-names.ts";

/** Validity of a self-signed certificate. Source: kubernetes v1.36.3 client-go util/cert, GenerateSelfSignedCertKey. */
const lifetimeMs = 365 * 86_400_000;

/** Fraction of its lifetime after which it is replaced. */
const renewAfter = 0.8;

/** Start of its validity before the present, for clients whose clocks are slow. */
const backdateMs = 300_000;

/** Creates a certificate that a node signs itself, for its name and addresses, with a new key. */
export async function makeSelfSigned(nodeName: string, names: ServingNames | undefined, nowMs: number): Promise<KeyPair> {
  const { generateKey, selfSignedCertificate } = await import("@virtual-kubelet/pki");
  const key = generateKey();
  const certificate = selfSignedCertificate(
    {
      commonName: `${nodeName}@${Math.trunc(nowMs / 1000)}`.slice(-64),
      names: allNames(withNodeName(nodeName, names)),
      usages: ["server auth"],
      validity: { notBeforeMs: nowMs - backdateMs, notAfterMs: nowMs + lifetimeMs },
    },
    key,
  );
  return { certificate, key };
}

/** Whether a new certificate is needed: there is none, it lacks an address, or it expires soon. */
export function needsSelfSigned(present: KeyPair | undefined, nodeName: string, names: ServingNames | undefined, nowMs: number): boolean {
  if (!present) return true;
  const certificate = certificateOf(present);
  const renewAtMs = certificate.validFromDate.getTime() + lifetimeMs * renewAfter;
  return !isValidAt(certificate, nowMs) || nowMs >= renewAtMs || !covers(certificate, withNodeName(nodeName, names));
}

function withNodeName(nodeName: string, names: ServingNames = { dnsNames: [], ips: [] }): ServingNames {
  if (isIP(nodeName) !== 0) return { ...names, ips: [...new Set([...names.ips, nodeName])] };
  return { ...names, dnsNames: [...new Set([...names.dnsNames, nodeName])] };
}
