import { backgroundClock } from "@virtual-kubelet/clock";
import type { OutgoingHttpHeaders } from "node:http";
import type { ConnectionOptions } from "node:tls";
import { type ApiStatusError, plainFailure, serviceUnavailable } from "../errors/api-status-error.ts";
import { takenOver, type ApiRequest, type ApiResponse, type UpgradeHandover } from "../http/api-request.ts";
import type { ResourceCall, ResourceContext } from "../http/resource-call.ts";
import { GoError, goErrorText } from "../outbound/go-error.ts";
import { endToEndNames, passedAnswer } from "../outbound/hop-headers.ts";
import { dialRefusal } from "./dial-refusal.ts";
import { anonymousTls, wholeBodyOf } from "./kubelet-client.ts";
import { proxyPathsOf } from "./proxy-name.ts";

/** Where a request below `/proxy` goes. */
export interface ProxyTarget {
  /** Such as `http://10.0.0.7:8080`. */
  readonly origin: string;
  /** Whether the server sends no client certificate, as to everything but kubelets. */
  readonly isAnonymous: boolean;
  /** Whether the target is told the original path, and its redirects are mapped below it. */
  readonly isWrapped?: boolean;
}

/** Headers that this server sets itself or has already obeyed, and the client's credentials. Cookies are none here. */
const ownHeaders: ReadonlySet<string> = new Set(["authorization", "content-length", "expect"]);

/** Headers by which other sites may read a response; source: the same file as below, `removeCORSHeaders`. */
const sharingHeaders: readonly string[] = ["credentials", "headers", "methods", "origin"].map((name) => `access-control-allow-${name}`);

/**
 * Forwards a request below `/proxy` of a node, pod or service.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/util/proxy/upgradeaware.go and transport.go. Unlike there, links in HTML are not rewritten, and an
 * upgrade keeps its query.
 *
 * @throws ApiStatusError 503 if the target cannot be reached, 500 if it switches the protocol unasked
 */
export async function forwardRequest(context: ResourceContext, { request }: ResourceCall, target: ProxyTarget): Promise<ApiResponse> {
  const { isAnonymous, isWrapped = false } = target;
  const { below, prefix } = proxyPathsOf(request.url);
  if (!URL.canParse(target.origin)) throw unreachable(`dial tcp: address ${target.origin.split(":").at(-1) ?? ""}: invalid port`);
  const url = new URL(target.origin + below);
  const headers = { ...passed(request.headers), ...(isWrapped ? { "x-forwarded-uri": `${prefix}${url.pathname}` } : {}) };
  if (request.upgrade !== undefined) {
    const { cookie } = request.upgrade.request.headers;
    const own = cookie === undefined ? {} : { headers: { cookie } };
    void proxied(request.upgrade, { url, tls: isAnonymous ? anonymousTls : context.kubelets.tls, ...own });
    return takenOver;
  }
  const redirect = rootRedirect(request);
  if (redirect !== undefined) return redirect;
  let answer;
  try {
    answer = await context.kubelets.send({ url, isAnonymous, method: request.method, headers, body: request.body, signal: request.signal });
  } catch (error) {
    throw error instanceof GoError ? plainFailure(error.message) : unreachable(goErrorText(error));
  }
  const { headers: all, cookies } = passedAnswer(answer.headers);
  const { location, ...rest } = all;
  if (isWrapped) for (const name of sharingHeaders) delete rest[name];
  const moved = location === undefined ? {} : { location: isWrapped ? redirectBelow(prefix, location, url) : location };
  return {
    status: answer.statusCode ?? 502,
    headers: { "cache-control": "no-cache, private", ...rest, ...moved },
    ...(cookies === undefined ? {} : { cookies }),
    body: wholeBodyOf(answer),
  };
}

/** 503 for a target that cannot be reached. */
export function unreachable(problem: string): ApiStatusError {
  return serviceUnavailable(`error trying to reach service: ${problem}`);
}

/** A redirect to another path of the target stays below the proxy's path. */
function redirectBelow(prefix: string, location: string, url: URL): string {
  if (!URL.canParse(location, url.href)) return location;
  const there = new URL(location, url);
  if (there.host !== url.host) return location;
  return `${prefix}${there.pathname}${there.search}${there.hash}`;
}

/** Loads streaming on first use. */
async function proxied(
  upgrade: UpgradeHandover,
  target: { readonly url: URL; readonly tls: ConnectionOptions; readonly headers?: OutgoingHttpHeaders },
): Promise<void> {
  const { proxyUpgrade } = await import("@virtual-kubelet/streaming");
  await proxyUpgrade(upgrade, target, { clock: backgroundClock, refusal: dialRefusal });
}

/**
 * Redirects a request without a path below `/proxy` to the root, so that relative links work.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/util/proxy/upgradeaware.go, `proxyRedirectsforRootPath`.
 */
function rootRedirect({ method, url }: ApiRequest): ApiResponse | undefined {
  const { below, prefix } = proxyPathsOf(url);
  if (url.startsWith(`${prefix}/`) || (method !== "GET" && method !== "HEAD")) return undefined;
  return { status: 301, headers: { location: `${prefix}${below === "/?" ? "/" : below}` }, body: new Uint8Array(0) };
}

/** The client's `Host` is kept, as on the real server; HTTP/2 has another name for it. */
function passed(headers: ApiRequest["headers"]): Record<string, string> {
  const { host = headers[":authority"] } = headers;
  const names = endToEndNames(headers).filter((name) => name !== "host" && !ownHeaders.has(name) && !name.startsWith("impersonate-"));
  return Object.fromEntries([...names.map((name) => [name, headers[name] ?? ""]), ...(host === undefined ? [] : [["host", host]])]);
}
