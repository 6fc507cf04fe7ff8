import { badRequest } from "../errors/api-status-error.ts";
import type { ApiResponse } from "../http/api-request.ts";
import type { ResourceCall, ResourceContext } from "../http/resource-call.ts";
import { forwardRequest, type ProxyTarget } from "./forward-request.ts";
import { kubeletEndpoint } from "./kubelet-endpoint.ts";
import { parseProxyName } from "./proxy-name.ts";

/**
 * Forwards a request below `nodes/NAME/proxy` to the node's kubelet, or, with `nodes/NAME:PORT/proxy`, to another port of the node without
 * credentials.
 *
 * Source: pkg/registry/core/node/rest/proxy.go and strategy.go of Kubernetes v1.36.3. Unlike there, loopback addresses are allowed.
 *
 * @throws ApiStatusError 400, 404, 500, 503
 */
export async function nodeProxyVerb(context: ResourceContext, call: ResourceCall): Promise<ApiResponse> {
  return forwardRequest(context, call, targetOf(context, call));
}

/** Only kubelets get this server's credentials. */
function targetOf(context: ResourceContext, { kind, target }: ResourceCall): ProxyTarget {
  const asked = target.name ?? "";
  const { scheme, name, port } = parseProxyName(asked, "node");
  if (!/^\d*$/.test(port)) throw badRequest(`invalid node request ${JSON.stringify(asked)}`);
  const endpoint = kubeletEndpoint(context.rest, name, kind);
  const isKubelet = port === "" || Number(port) === endpoint.port;
  return { origin: isKubelet ? endpoint.origin : `${scheme || "http"}://${endpoint.host}:${port}`, isAnonymous: !isKubelet };
}
