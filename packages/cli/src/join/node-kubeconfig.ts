import { messageOf } from "@virtual-kubelet/errdefs";
import type { TlsMaterial } from "@virtual-kubelet/kube-client";
import { readFile } from "node:fs/promises";
import { valueAt } from "../config/layers.ts";

/** Contents of the kubeconfig of a node with a client certificate. */
export interface NodeKubeconfig {
  readonly nodeName: string;
  /** URL. */
  readonly server: string;
  /** Authority and server name; a client certificate in it is not used. */
  readonly tls: TlsMaterial;
  readonly proxy: string | undefined;
  /** File with the client certificate and its key. */
  readonly certificateFile: string;
}

/** Kubeconfig, in YAML, that names the file of the client certificate, so that a renewed one is used. */
export async function nodeKubeconfig({ nodeName, server, tls, proxy, certificateFile }: NodeKubeconfig): Promise<string> {
  const { stringify } = await import("yaml");
  const user = `system:node:${nodeName}`;
  const cluster = {
    server,
    ...(tls.ca !== undefined && { "certificate-authority-data": Buffer.from(tls.ca).toString("base64") }),
    ...(tls.serverName !== undefined && { "tls-server-name": tls.serverName }),
    ...(tls.insecureSkipVerify && { "insecure-skip-tls-verify": true }),
    ...(proxy !== undefined && { "proxy-url": proxy }),
  };
  return stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "kubernetes", cluster }],
      users: [{ name: user, user: { "client-certificate": certificateFile, "client-key": certificateFile } }],
      contexts: [{ name: "node", context: { cluster: "kubernetes", user } }],
      "current-context": "node",
    },
    { lineWidth: 0 },
  );
}

/**
 * Why an existing file must not be replaced by a node's kubeconfig; `undefined` if it may: it does not exist, or its user has the same
 * certificate file.
 */
export async function overwriteProblem(path: string, certificateFile: string): Promise<string | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? undefined : messageOf(error);
  }
  const { parse } = await import("yaml");
  try {
    const users: unknown = valueAt(parse(text, { prettyErrors: false }), ["users"]);
    const isOwn = Array.isArray(users) && users.length === 1 && valueAt(users, [0, "user", "client-certificate"]) === certificateFile;
    return isOwn ? undefined : "it exists, and was not written for this node";
  } catch {
    return "it exists, and is not a kubeconfig";
  }
}
