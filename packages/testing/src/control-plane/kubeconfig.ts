/** Credentials of a client of the API server. */
export type ClientCredentials =
  | { readonly certificate: string; readonly key: string }
  | { readonly token: string }
  | { readonly tokenFile: string };

/** API server and credentials of a kubeconfig. */
export interface KubeconfigOptions {
  /** Such as `https://127.0.0.1:6443`. */
  readonly server: string;
  /** PEM of the authority that signed the server's certificate; not needed for plain HTTP. */
  readonly caCertificate?: string | undefined;
  readonly credentials?: ClientCredentials | undefined;
  /** Default `default`. */
  readonly namespace?: string | undefined;
}

/** A kubeconfig that contains all credentials except a token file, which it names. It is JSON, and therefore also YAML. */
export function kubeconfigText(options: KubeconfigOptions): string {
  const { server, caCertificate, credentials, namespace } = options;
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "test",
        cluster: { server, ...(caCertificate === undefined ? {} : { "certificate-authority-data": base64(caCertificate) }) },
      },
    ],
    users: [{ name: "test", user: credentials === undefined ? {} : userOf(credentials) }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test", namespace: namespace ?? "default" } }],
    "current-context": "test",
  };
  return `${JSON.stringify(kubeconfig, undefined, 2)}\n`;
}

function userOf(credentials: ClientCredentials): Record<string, string> {
  if ("token" in credentials) return { token: credentials.token };
  if ("tokenFile" in credentials) return { tokenFile: credentials.tokenFile };
  return { "client-certificate-data": base64(credentials.certificate), "client-key-data": base64(credentials.key) };
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
