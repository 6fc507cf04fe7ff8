import { messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import { readFile } from "node:fs/promises";
import type { KubeProxyConfig } from "../config/aci-config.ts";
import type { ExtensionChoice } from "../group/extensions.ts";

/** Folder of a pod's service account. */
const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Reads the kubeconfig for Azure's kube-proxy extension: the configured file, or the service account of this program. It is read for each pod,
 * because tokens are renewed. Source: azure-aci v1.6.4 pkg/client/extensions.go.
 *
 * @returns `undefined` if the extension is off
 * @throws UnavailableError if a file cannot be read
 */
export async function readKubeProxy(config: KubeProxyConfig): Promise<ExtensionChoice["kubeProxy"]> {
  if (!config.enabled) return undefined;
  const read = async (path: string): Promise<string> => {
    try {
      return await readFile(path, "utf8");
    } catch (error) {
      throw new UnavailableError(`read ${path} for the kube-proxy extension: ${messageOf(error)}`, { cause: error });
    }
  };
  const { clusterCidr, kubeVersion, kubeconfigFile, server } = config;
  if (kubeconfigFile !== undefined) return { clusterCidr, kubeVersion, kubeconfig: await read(kubeconfigFile) };
  const certificate = Buffer.from(await read(`${serviceAccountFolder}/ca.crt`)).toString("base64");
  const token = (await read(`${serviceAccountFolder}/token`)).trim();
  const name = "virtual-kubelet";
  const kubeconfig = JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server, "certificate-authority-data": certificate } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    "current-context": name,
  });
  return { clusterCidr, kubeVersion, kubeconfig };
}
