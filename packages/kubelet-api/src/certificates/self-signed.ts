import type { KeyPair } from "@virtual-kubelet/pki";
import { isIP } from "node:net";
import { isValidAt } from "./certificate-plan.ts";
import { certificateOf } from "./key-pair.ts";
import { allNames, covers, type ServingNames } from "./serving-names.ts";

/** How long a self-signed certificate is valid. Source: kubernetes v1.36.3 client-go util/cert, GenerateSelfSignedCertKey. */
const lifetimeMs = 365 * 86_400_000;

/** After which part of its life a new one is made. */
const renewAfter = 0.8;

/** From when it is valid, for clients whose clocks are behind. */
const backdateMs = 300_000;

/** A certificate that a node signs for itself, for its name and addresses, with a new key. */
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

/** Whether a new one is to be made: there is none, it lacks an address, or its time is nearly over. */
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
