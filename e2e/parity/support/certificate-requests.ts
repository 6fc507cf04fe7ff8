import { createCertificateRequest, generateKey } from "@virtual-kubelet/pki";

const request = (commonName: string, organization: string, names: readonly string[] = []): string =>
  createCertificateRequest({ commonName, organizations: [organization], names }, generateKey());

const serving = request("system:node:csr", "system:nodes", ["csr", "10.0.0.1"]);

/** Certificate requests, PEM; the keys are thrown away. */
export const certificateRequests: Readonly<Record<"client" | "masters" | "kubelet" | "serving" | "forged", string>> = {
  client: request("dana", "developers"),
  masters: request("dana", "system:masters"),
  kubelet: request("system:node:csr", "system:nodes"),
  serving,
  /** The last byte of its signature is another. */
  forged: withLastByteChanged(serving),
};

function withLastByteChanged(pem: string): string {
  const [, begin = "", body = "", end = ""] = /^(.*-\n)([^-]*)(-.*)$/s.exec(pem) ?? [];
  const bytes = Buffer.from(body, "base64");
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
  return `${begin}${bytes.toString("base64")}\n${end}`;
}
