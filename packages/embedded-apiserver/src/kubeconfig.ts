/** What a kubeconfig leads to. */
export interface KubeconfigSpec {
  /** Such as `https://127.0.0.1:6443`. */
  readonly server: string;
  readonly caPem: string;
  readonly token: string;
  /** Name of cluster, user and context. */
  readonly name: string;
}

/** A kubeconfig with one context, as JSON, which every reader of YAML reads, too. It holds a credential: keep it private. */
export function toKubeconfig({ server, caPem, token, name }: KubeconfigSpec): string {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server, "certificate-authority-data": Buffer.from(caPem).toString("base64") } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "default" } }],
    "current-context": name,
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
