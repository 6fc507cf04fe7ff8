import { ApiStatusError, notFound, type ResourceName } from "../errors/api-status-error.ts";
import { collectionOf, findKind, type RestContext } from "../rest/rest-context.ts";

/** Where a node's kubelet is. */
export interface KubeletEndpoint {
  /** As it stands in a URL: an IPv6 address in brackets. */
  readonly host: string;
  readonly port: number;
  /** `https://HOST:PORT`. */
  readonly origin: string;
  /** Whether it speaks the newest WebSocket protocols itself. */
  readonly extendsWebSockets: boolean;
}

/** Where kubelets listen that say nothing else. */
const defaultPort = 10250;

/** kubeadm's `--kubelet-preferred-address-types`. */
const preferredTypes = ["InternalIP", "ExternalIP", "Hostname"] as const;

/**
 * Where the kubelet of a node is.
 *
 * Source: pkg/kubelet/client/kubelet_client.go of Kubernetes v1.36.3, `GetConnectionInfo`.
 *
 * @param asked - the resource that was asked for; the real server takes it for what is missing, too
 * @throws ApiStatusError 404 if there is no such node, 500 if it has no address
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

/** 500 with nothing but words, as the real server answers errors it has no name for. */
export function plainFailure(message: string): ApiStatusError {
  return new ApiStatusError({ code: 500, message });
}
