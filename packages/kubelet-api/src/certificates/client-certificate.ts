import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { KeyPair } from "@virtual-kubelet/pki";
import type { X509Certificate } from "node:crypto";
import { nodeUser } from "./certificate-requester.ts";
import { certificateOf } from "./key-pair.ts";

/** Purposes of a certificate that allow its use by a client: clientAuth and any. Source: RFC 5280, 4.2.1.12. */
const clientPurposes: readonly string[] = ["1.3.6.1.5.5.7.3.2", "2.5.29.37.0"];

/**
 * Returns the certificate of a node's client pair.
 *
 * @throws InvalidInputError if there is none, it cannot be read, it is not that of `system:node:NAME` in `system:nodes`, or not for clients
 */
export function clientCertificateOf(pair: KeyPair | undefined, nodeName: string): X509Certificate {
  if (!pair) throw new InvalidInputError(`read the client certificate of node ${nodeName}: there is none`);
  const certificate = certificateOf(pair);
  const user = certificateUser(certificate);
  if (user.name !== nodeUser(nodeName) || !user.groups.includes("system:nodes"))
    throw new InvalidInputError(
      `read the client certificate of node ${nodeName}: it is that of ${user.name ?? "no user"}, groups ${user.groups.join(", ") || "none"}; expected ${nodeUser(nodeName)}, group system:nodes`,
    );
  // Typed as always present, but absent from a certificate for all purposes.
  const purposes = certificate.keyUsage as readonly string[] | undefined;
  if (purposes !== undefined && !purposes.some((purpose) => clientPurposes.includes(purpose)))
    throw new InvalidInputError(
      `read the client certificate of node ${nodeName}: its purposes are ${purposes.join(", ")}, expected ${clientPurposes[0]} (client authentication)`,
    );
  return certificate;
}

/** A client certificate's user as the API server sees it. */
export function certificateUser({ subject }: X509Certificate): { readonly name: string | undefined; readonly groups: readonly string[] } {
  // One attribute in each line; OpenSSL escapes line breaks in values.
  const attributes = subject.split("\n");
  const valuesOf = (type: string): string[] =>
    attributes.filter((line) => line.startsWith(`${type}=`)).map((line) => line.slice(type.length + 1));
  return { name: valuesOf("CN").at(-1), groups: valuesOf("O") };
}
