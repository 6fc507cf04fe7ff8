import { notFound, plainFailure, type ResourceName } from "../errors/api-status-error.ts";
import { collectionOf, findKind, type RestContext } from "../rest/rest-context.ts";

/** Address of a node's kubelet. */
export interface KubeletEndpoint {
  /** As in a URL: IPv6 addresses are in brackets. */
  readonly host: string;
  readonly port: number;
  /** `https://HOST:PORT`. */
  readonly origin: string;
  /** Whether the kubelet supports the newest WebSocket protocols itself. */
  readonly extendsWebSockets: boolean;
}

/** Port of kubelets whose node does not specify one. */
const defaultPort = 10250;

/** kubeadm's `--kubelet-preferred-address-types`. */
const preferredTypes = ["InternalIP", "ExternalIP", "Hostname"] as const;

/**
 * Looks up the address of a node's kubelet.
 *
 * Source: pkg/kubelet/client/kubelet_client.go of Kubernetes v1.36.3, `GetConnectionInfo`.
 *
 * @param asked - resource of the request; the real server names it, instead of the node, in its errors
 * @throws ApiStatusError 404 if the node does not exist, 500 if it has no address
 */
export function kubeletEndpoint(context: RestContext, nodeName: string, asked: ResourceName): KubeletEndpoint {
  const kind = findKind(context, "", "nodes");
  const status = kind && collectionOf(context, kind).get("", nodeName)?.object["status"];
  if (status === undefined) throw notFound(asked, nodeName);
  const addresses: readonly { readonly type: string; readonly address: string }[] = status.addresses ?? [];
  const found = preferredTypes.map((type) => addresses.find((entry) => entry.type === type)).find((entry) => entry !== undefined);
  if (found === undefined) {
    const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(" ");
    throw plainFailure(`no preferred addresses found; known addresses: [${known}]`);
  }
  const host = found.address.includes(":") ? `[${found.address}]` : found.address;
  const port: number = status.daemonEndpoints?.kubeletEndpoint?.Port || defaultPort;
  return {
    host,
    port,
    origin: `https://${host}:${port}`,
    extendsWebSockets: (status.declaredFeatures ?? []).includes("ExtendWebSocketsToKubelet"),
  };
}
