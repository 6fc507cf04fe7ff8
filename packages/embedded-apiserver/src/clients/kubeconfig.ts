import type { KeyPair } from "@virtual-kubelet/pki";
import { open } from "node:fs/promises";

/** User of a client certificate. */
export interface ClientUser {
  /** Such as `system:serviceaccount:default:operator` or `system:node:n1`. */
  readonly user: string;
  /** Such as `system:nodes`; `system:authenticated` is always added. Default: none. */
  readonly groups?: readonly string[];
}

/** Credentials of a kubeconfig's user. */
type Credentials = { readonly token: string } | KeyPair;

/** Content of a kubeconfig. */
export interface KubeconfigSpec {
  /** Such as `https://127.0.0.1:6443`. */
  readonly server: string;
  readonly caPem: string;
  readonly credentials: Credentials;
  /** Name of cluster, user and context. */
  readonly name: string;
}

/** Kubeconfig with one context, as JSON, which is valid YAML. It contains credentials: keep it private. */
export function toKubeconfig({ server, caPem, credentials, name }: KubeconfigSpec): string {
  const user =
    "token" in credentials
      ? { token: credentials.token }
      : {
          "client-certificate-data": toBase64(credentials.certificate),
          "client-key-data": toBase64(credentials.key),
        };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server, "certificate-authority-data": toBase64(caPem) } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
    "current-context": name,
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

/** Writes a file that only its owner can read, and restricts an existing file's permissions. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  await using file = await open(path, "w", 0o600);
  await file.chmod(0o600);
  await file.writeFile(text);
}

function toBase64(text: string): string {
  return Buffer.from(text).toString("base64");
}
