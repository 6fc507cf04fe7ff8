import { backgroundClock } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { IncomingHttpHeaders } from "node:http";
import type { ConnectionOptions } from "node:tls";
import { ApiStatusError, badRequest } from "../errors/api-status-error.ts";
import { takenOver, type ApiRequest, type ApiResponse, type UpgradeHandover } from "../http/api-request.ts";
import type { ResourceCall, ResourceContext } from "../http/resource-call.ts";
import { dialRefusal } from "./dial-refusal.ts";
import { anonymousTls, bodyOf } from "./kubelet-client.ts";
import { kubeletEndpoint } from "./kubelet-endpoint.ts";

/** Headers that are not forwarded: those of the connection, and the client's credentials. */
const ownHeaders: ReadonlySet<string> = new Set([
  "authorization",
  "connection",
  "content-length",
  "cookie",
  "host",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Forwards a request below `nodes/NAME/proxy` to the node's kubelet, or, with `nodes/NAME:PORT/proxy`, to another port of the node without
 * credentials.
 *
 * Source: pkg/registry/core/node/rest/proxy.go and strategy.go of Kubernetes v1.36.3. Unlike there, loopback addresses are allowed.
 *
 * @throws ApiStatusError 400, 404, 500, 503
 */
export async function nodeProxyVerb(context: ResourceContext, call: ResourceCall): Promise<ApiResponse> {
  const { request } = call;
  const { url, isAnonymous } = targetOf(context, call);
  const headers = passed(request.headers);
  if (request.upgrade !== undefined) {
    void proxied(request.upgrade, { url, tls: isAnonymous ? anonymousTls : context.kubelets.tls });
    return takenOver;
  }
  const redirect = rootRedirect(request);
  if (redirect !== undefined) return redirect;
  let answer;
  try {
    answer = await context.kubelets.send({ url, isAnonymous, method: request.method, headers, body: request.body, signal: request.signal });
  } catch (error) {
    throw new ApiStatusError({
      code: 503,
      reason: "ServiceUnavailable",
      message: `error trying to reach service: ${messageOf(error)}`,
    });
  }
  return { status: answer.statusCode ?? 502, headers: passed(answer.headers), body: bodyOf(answer) };
}

/** Loads streaming on first use. */
async function proxied(upgrade: UpgradeHandover, target: { readonly url: URL; readonly tls: ConnectionOptions }): Promise<void> {
  const { proxyUpgrade } = await import("@virtual-kubelet/streaming");
  await proxyUpgrade(upgrade, target, { clock: backgroundClock, refusal: dialRefusal });
}

/** Target of a request. Only kubelets get this server's credentials. */
function targetOf(context: ResourceContext, { kind, request, target }: ResourceCall): { readonly url: URL; readonly isAnonymous: boolean } {
  // SCHEME:NAME:PORT; scheme and port are optional.
  const asked = target.name ?? "";
  const parts = asked.split(":");
  const [scheme, nodeName, port] = parts.length === 3 ? parts : ["", parts[0], parts[1] ?? ""];
  if (parts.length > 3 || !nodeName || !/^(https?)?$/.test(scheme ?? "") || !/^\d*$/.test(port ?? ""))
    throw badRequest(`invalid node request ${JSON.stringify(asked)}`);
  const endpoint = kubeletEndpoint(context.rest, nodeName, kind);
  const isKubelet = port === "" || Number(port) === endpoint.port;
  const origin = isKubelet ? endpoint.origin : `${scheme || "http"}://${endpoint.host}:${port}`;
  return { url: new URL(origin + pathBelowProxy(request.url)), isAnonymous: !isKubelet };
}

/**
 * Redirects a request without a path below `/proxy` to the root, so that relative links work.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/util/proxy/upgradeaware.go, `proxyRedirectsforRootPath`.
 */
function rootRedirect({ method, url }: ApiRequest): ApiResponse | undefined {
  const [, path, query = ""] = /^([^?]*\/nodes\/[^/?]+\/proxy)(\?[^]+)?$/.exec(url) ?? [];
  if (path === undefined || (method !== "GET" && method !== "HEAD")) return undefined;
  return { status: 301, headers: { location: `${path}/${query}` }, body: new Uint8Array(0) };
}

/** Path after `/proxy` as sent; `/` if there is none. */
function pathBelowProxy(url: string): string {
  const below = /\/nodes\/[^/?]+\/proxy([^]*)$/.exec(url)?.[1] ?? "";
  return below.startsWith("/") ? below : `/${below}`;
}

function isOwn(name: string): boolean {
  return ownHeaders.has(name) || name.startsWith(":") || name.startsWith("impersonate-");
}

function passed(headers: IncomingHttpHeaders | Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined || isOwn(name) ? [] : [[name, [value].flat().join(", ")]])),
  );
}
