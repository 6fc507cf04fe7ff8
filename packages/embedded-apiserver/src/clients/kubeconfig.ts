import { open } from "node:fs/promises";

/** A user by name, for whom the server's authority vouches. */
export interface ClientUser {
  /** Such as `system:serviceaccount:default:operator` or `system:node:n1`. */
  readonly user: string;
  /** Such as `system:nodes`; everybody is in `system:authenticated` besides. Default: none. */
  readonly groups?: readonly string[];
}

/** What proves who somebody is. */
export type Credentials = { readonly token: string } | { readonly certificatePem: string; readonly privateKeyPem: string };

/** What a kubeconfig leads to. */
export interface KubeconfigSpec {
  /** Such as `https://127.0.0.1:6443`. */
  readonly server: string;
  readonly caPem: string;
  readonly credentials: Credentials;
  /** Name of cluster, user and context. */
  readonly name: string;
}

/** A kubeconfig with one context, as JSON, which every reader of YAML reads, too. It holds a credential: keep it private. */
export function toKubeconfig({ server, caPem, credentials, name }: KubeconfigSpec): string {
  const user =
    "token" in credentials
      ? { token: credentials.token }
      : {
          "client-certificate-data": toBase64(credentials.certificatePem),
          "client-key-data": toBase64(credentials.privateKeyPem),
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

/** Writes a file that only its owner can read, also where there was one that others could. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  await using file = await open(path, "w", 0o600);
  await file.chmod(0o600);
  await file.writeFile(text);
}

function toBase64(text: string): string {
  return Buffer.from(text).toString("base64");
}
