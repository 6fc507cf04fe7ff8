import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { KeyPair } from "@virtual-kubelet/pki";
import type { X509Certificate } from "node:crypto";
import { nodeUser } from "./certificate-requester.ts";
import { certificateOf } from "./key-pair.ts";

/**
 * Returns the certificate of a node's client pair.
 *
 * @throws InvalidInputError if there is none, it cannot be read, or it is not that of `system:node:NAME` in `system:nodes`
 */
export function clientCertificateOf(pair: KeyPair | undefined, nodeName: string): X509Certificate {
  if (!pair) throw new InvalidInputError(`read the client certificate of node ${nodeName}: there is none`);
  const certificate = certificateOf(pair);
  const user = certificateUser(certificate);
  if (user.name !== nodeUser(nodeName) || !user.groups.includes("system:nodes"))
    throw new InvalidInputError(
      `read the client certificate of node ${nodeName}: it is that of ${user.name ?? "no user"}, groups ${user.groups.join(", ") || "none"}; expected ${nodeUser(nodeName)}, group system:nodes`,
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
