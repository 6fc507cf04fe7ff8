import { backgroundClock } from "@virtual-kubelet/clock";
import type { IncomingHttpHeaders } from "node:http";
import type { ConnectionOptions } from "node:tls";
import { ApiStatusError } from "../errors/api-status-error.ts";
import { takenOver, type ApiRequest, type ApiResponse, type UpgradeHandover } from "../http/api-request.ts";
import type { ResourceCall, ResourceContext } from "../http/resource-call.ts";
import { goErrorText } from "../outbound/go-error.ts";
import { dialRefusal } from "./dial-refusal.ts";
import { anonymousTls, bodyOf } from "./kubelet-client.ts";

/** Where a request below `/proxy` goes. */
export interface ProxyTarget {
  /** Such as `http://10.0.0.7:8080`. */
  readonly origin: string;
  /** Whether the server sends no client certificate, as to everything but kubelets. */
  readonly isAnonymous: boolean;
  /** Whether the target is told the original path, and its redirects are mapped below it. */
  readonly isWrapped?: boolean;
}

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
 * Forwards a request below `/proxy` of a node, pod or service.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/util/proxy/upgradeaware.go and transport.go. Unlike there, links in HTML are not rewritten.
 *
 * @throws ApiStatusError 503 if the target cannot be reached
 */
export async function forwardRequest(context: ResourceContext, { request }: ResourceCall, target: ProxyTarget): Promise<ApiResponse> {
  const { isAnonymous, isWrapped = false } = target;
  const { below, prefix } = pathsOf(request.url);
  const url = new URL(target.origin + below);
  const headers = { ...passed(request.headers), ...(isWrapped ? { "x-forwarded-uri": `${prefix}${url.pathname}` } : {}) };
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
      message: `error trying to reach service: ${goErrorText(error)}`,
    });
  }
  const { location, ...rest } = passed(answer.headers);
  const moved = location === undefined ? {} : { location: isWrapped ? redirectBelow(prefix, location, url) : location };
  return { status: answer.statusCode ?? 502, headers: { ...rest, ...moved }, body: bodyOf(answer) };
}

/** A redirect to another path of the target stays below the proxy's path. */
function redirectBelow(prefix: string, location: string, url: URL): string {
  if (!URL.canParse(location, url.href)) return location;
  const there = new URL(location, url);
  if (there.host !== url.host) return location;
  return `${prefix}${there.pathname}${there.search}${there.hash}`;
}

/** Loads streaming on first use. */
async function proxied(upgrade: UpgradeHandover, target: { readonly url: URL; readonly tls: ConnectionOptions }): Promise<void> {
  const { proxyUpgrade } = await import("@virtual-kubelet/streaming");
  await proxyUpgrade(upgrade, target, { clock: backgroundClock, refusal: dialRefusal });
}

/**
 * Redirects a request without a path below `/proxy` to the root, so that relative links work.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/util/proxy/upgradeaware.go, `proxyRedirectsforRootPath`.
 */
function rootRedirect({ method, url }: ApiRequest): ApiResponse | undefined {
  const [, path, query = ""] = /^([^?]*\/(?:nodes|pods|services)\/[^/?]+\/proxy)(\?[^]+)?$/.exec(url) ?? [];
  if (path === undefined || (method !== "GET" && method !== "HEAD")) return undefined;
  return { status: 301, headers: { location: `${path}/${query}` }, body: new Uint8Array(0) };
}

/** The path after `/proxy` as sent, `/` if there is none, and the path before it. */
function pathsOf(url: string): { readonly below: string; readonly prefix: string } {
  const [, prefix = "", below = ""] = /^([^?]*?\/(?:nodes|pods|services)\/[^/?]+\/proxy)([^]*)$/.exec(url) ?? [];
  return { below: below.startsWith("/") ? below : `/${below}`, prefix };
}

function isOwn(name: string): boolean {
  return ownHeaders.has(name) || name.startsWith(":") || name.startsWith("impersonate-");
}

function passed(headers: IncomingHttpHeaders | Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined || isOwn(name) ? [] : [[name, [value].flat().join(", ")]])),
  );
}
