import { isForbidden, messageOf } from "@virtual-kubelet/errdefs";
import { resources, type CertificateSigningRequest } from "@virtual-kubelet/kube-client";
import { kubeletServingSigner, missingNames, servingNamesOf, type ServingNames } from "@virtual-kubelet/kubelet-api";
import { withDeadline } from "@virtual-kubelet/async";
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { NodeCheck } from "../check.ts";
import { fail, pass, skip, warn, type Judgement } from "../finding.ts";
import { isSelfSigned } from "../served-certificate.ts";

/** Timeout of the list of requests, in milliseconds. */
const timeoutMs = 10_000;

/** Age at which an undecided request is taken as one that nobody approves automatically, in milliseconds. */
const patienceMs = 900_000;

/** Time before its expiry at which a certificate is warned about, in milliseconds; at most a tenth of its lifetime. */
const expiryWarningMs = 7 * 24 * 3_600_000;

/** The certificate that the node's server shows, or will show. */
export const servingCertificateCheck: NodeCheck = {
  name: "certificate.serving",
  async run(node) {
    const { settings, facts, loaded, name } = node;
    if (settings.kubeletPort === 0) return [skip("the kubelet's API is off (--kubelet-port 0)")];
    const [nowMs] = await facts.times();
    const { tlsCertFile } = loaded.settings.kubelet;
    const file = tlsCertFile === undefined ? undefined : loaded.resolvePath(["kubelet", "tlsCertFile"], tlsCertFile);
    const certificate = (await node.served.own().catch(() => undefined)) ?? (file === undefined ? undefined : await readCertificate(file));
    if (certificate === undefined) return [skip("needs kubelet.port: the program makes its certificate when it starts")];
    const addresses = (await node.object.needed())?.status?.addresses;
    const names = addresses && servingNamesOf(addresses);
    return [judgeCertificate({ certificate, file, isOwn: isSelfSigned(certificate, name), names, nowMs })];
  },
};

async function readCertificate(file: string): Promise<X509Certificate | undefined> {
  try {
    return new X509Certificate(await readFile(file));
  } catch {
    // configuration.files says what is wrong with it.
    return undefined;
  }
}

interface CertificateSituation {
  readonly certificate: X509Certificate;
  /** File that the settings name; `undefined` if the program requests its certificate. */
  readonly file: string | undefined;
  /** Whether the program has signed it itself. */
  readonly isOwn: boolean;
  /** Names and addresses of the node; `undefined` while they are unknown. */
  readonly names: ServingNames | undefined;
  readonly nowMs: number;
}

/** Judges validity and names of a serving certificate. */
export function judgeCertificate({ certificate, file, isOwn, names, nowMs }: CertificateSituation): Judgement {
  const [fromMs, toMs] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
  const until = certificate.validToDate.toISOString();
  if (nowMs < fromMs)
    return fail(
      `it is valid only from ${certificate.validFromDate.toISOString()} (notBefore): is this machine's clock right?`,
      "date -u",
      "sudo timedatectl set-ntp true",
    );
  if (nowMs >= toMs) return fail(`it has expired on ${until}`, ...renewal(file));
  const missing = names === undefined ? [] : missingNames(certificate, names);
  if (!isOwn && missing.length > 0) {
    const valid = certificate.subjectAltName ?? "no name";
    return fail(
      `it is not valid for ${missing.join(", ")}, which the node has, only for ${valid} (x509: certificate is valid for …, not …)`,
      ...renewal(file, missing),
    );
  }
  if (toMs - nowMs < Math.min(expiryWarningMs, (toMs - fromMs) / 10)) return warn(`it expires on ${until}`, ...renewal(file));
  if (isOwn) return pass(`self-signed, valid until ${until}: enough, unless the API server or metrics-server verifies it`);
  return pass(`issued by ${certificate.issuer.replaceAll("\n", ", ")}, valid until ${until}`);
}

function renewal(file: string | undefined, names: readonly string[] = []): string[] {
  const ask = `kubectl get csr --field-selector spec.signerName=${kubeletServingSigner}`;
  if (file === undefined) return [ask, "kubectl certificate approve NAME   # the pending one of this node, see certificate.request"];
  const forNames = names.length === 0 ? "" : ` that is also valid for ${names.join(", ")}`;
  return [`# replace ${file} by a certificate${forNames}; it is read again without a restart`];
}

/** The node's request for a certificate. */
export const certificateRequestCheck: NodeCheck = {
  name: "certificate.request",
  async run(node, signal) {
    const { settings, loaded, facts, name } = node;
    const { tlsCertFile, serverTLSBootstrap } = loaded.settings.kubelet;
    if (settings.kubeletPort === 0) return [skip("the kubelet's API is off (--kubelet-port 0)")];
    if (tlsCertFile !== undefined) return [skip("the certificate is in --tls-cert-file")];
    if (!serverTLSBootstrap) return [skip("the certificate is self-signed (--rotate-server-certificates=false)")];
    const { client } = await facts.connection.needed();
    await facts.accepted.needed();
    const { clock } = facts.context;
    const query = { fieldSelector: `spec.signerName=${kubeletServingSigner}` };
    try {
      const deadline = { clock, timeoutMs, what: "list certificate requests" };
      const { items } = await withDeadline(deadline, signal, (inner) =>
        client.list(resources.certificateSigningRequests, query, { signal: inner }),
      );
      const [nowMs] = await facts.times();
      return [judgeRequests(await requestsOf(name, items), name, nowMs)];
    } catch (error) {
      if (!isForbidden(error)) throw error;
      return [
        fail(`the program may not list its certificate requests: ${messageOf(error)}`, "# see permissions.certificatesigningrequests"),
      ];
    }
  },
};

/** The requests for a certificate of the node, whoever made them. Requests whose content cannot be read are left out. */
async function requestsOf(nodeName: string, items: readonly CertificateSigningRequest[]): Promise<CertificateSigningRequest[]> {
  const { parseCertificateRequest } = await import("@virtual-kubelet/pki");
  return items.filter(({ spec }) => {
    try {
      return parseCertificateRequest(Buffer.from(spec.request, "base64").toString()).commonName === `system:node:${nodeName}`;
    } catch {
      return false;
    }
  });
}

/** Judges the newest of a node's requests. */
export function judgeRequests(requests: readonly CertificateSigningRequest[], nodeName: string, nowMs: number): Judgement {
  const createdMs = ({ metadata }: CertificateSigningRequest): number => Date.parse(String(metadata?.creationTimestamp));
  const newest = [...requests].sort((a, b) => createdMs(b) - createdMs(a))[0];
  if (newest === undefined)
    return pass("no request now; the program makes one when it needs a certificate, and the cluster deletes decided ones");
  const { metadata, spec, status } = newest;
  const name = metadata?.name ?? "";
  const conditionOf = (type: string) => status?.conditions?.find((condition) => condition.type === type && condition.status === "True");
  const refusal = conditionOf("Denied") ?? conditionOf("Failed");
  if (refusal) {
    const why = [refusal.reason, refusal.message].filter(Boolean).join(": ");
    return fail(
      `request ${name} was ${refusal.type === "Denied" ? "denied" : "not signed"}: ${why}`,
      `kubectl describe csr ${name}`,
      `kubectl delete csr ${name}   # then restart the program, which makes a new one; it would do so within a day`,
    );
  }
  if (status?.certificate) return pass(`request ${name} was approved and signed`);
  const ageMs = nowMs - createdMs(newest);
  const minutes = Math.round(ageMs / 60_000);
  if (conditionOf("Approved"))
    return warn(
      `request ${name} is approved, but not signed after ${minutes} min: the cluster's signer does not run`,
      "# start kube-controller-manager with --cluster-signing-cert-file and --cluster-signing-key-file",
    );
  const isByNode = spec.username === `system:node:${nodeName}`;
  const nobody =
    ageMs < patienceMs
      ? ""
      : isByNode
        ? `; nobody approves requests automatically`
        : `; automatic approvers accept requests only from system:node:${nodeName}, and this one is from ${spec.username}`;
  return warn(
    `request ${name} waits for approval since ${minutes} min${nobody}; until then the certificate is self-signed`,
    `kubectl certificate approve ${name}`,
  );
}
