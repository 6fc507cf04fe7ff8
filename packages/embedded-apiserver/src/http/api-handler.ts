import { accessDenied, accessOf } from "../authorization/access-request.ts";
import { groupVersions } from "../discovery/api-resources.ts";
import type { DiscoveryResponse } from "../discovery/discovery-response.ts";
import { ApiStatusError, internalError, methodNotAllowed, noSuchResource, tooLarge, unauthorized } from "../errors/api-status-error.ts";
import { bodyLimitBytes, type Answer, type ApiRequest, type ApiResponse } from "./api-request.ts";
import type { UserInfo } from "../authentication/user-info.ts";
import { authenticate, type AuthenticationContext } from "../authentication/authenticate.ts";
import { impersonated } from "../authentication/impersonation.ts";
import { inEncoding } from "./encoded-response.ts";
import { findOutput, negotiateOutput } from "./negotiation.ts";
import { openIdDocument } from "./open-id.ts";
import { indented, pretty } from "./pretty.ts";
import { parseResourcePath } from "./request-target.ts";
import type { ResourceContext } from "./resource-call.ts";
import { handleResource, isBuiltInGroup } from "./resource-handler.ts";
import { failure, rawJson, text, withWarnings } from "./respond.ts";
import { handleReview, isReview, reviewGroups } from "./reviews.ts";

/** Dependencies of {@link handleRequest}. */
export interface ApiHandlerContext extends ResourceContext, AuthenticationContext {
  /** Serves `/api`, `/apis` and `/openapi`; `undefined` for paths that are none of its documents. */
  readonly discovery: (path: string, query: URLSearchParams, accept: string | undefined) => DiscoveryResponse | undefined;
  /** Serves the metrics APIs; `undefined` for other paths. */
  readonly metrics?: (path: string, query: URLSearchParams) => ApiResponse | undefined;
  /** Answers what is forwarded to aggregated API servers; `undefined` for other paths. */
  readonly forward?: (request: ApiRequest, path: string, user: UserInfo) => Promise<ApiResponse> | undefined;
  /** Host and port for clients; empty if the server does not listen. */
  readonly serverAddress: () => string;
  /** Body of `/version`. */
  readonly version: Readonly<Record<string, string>>;
}

/** Paths that reveal nothing about the cluster's objects. */
const publicPath = /^\/(healthz|livez|readyz|version)(\/|$)/;

/** Checks of health by the path that all of them are part of; the real server has one for each hook of its start, too. */
const commonChecks = ["autoregister-completion", "etcd", "log", "ping"];
const readyChecks = ["etcd-readiness", "informer-sync", "shutdown"];
const healthChecks: Readonly<Record<string, readonly string[]>> = {
  "/healthz": commonChecks,
  "/livez": commonChecks,
  "/readyz": [...commonChecks, ...readyChecks],
};

/** Paths of checks that are answered; source: the paths that a kube-apiserver v1.36.3 lists. */
const healthPath = new RegExp(
  String.raw`^/(healthz|livez|readyz)(/(${commonChecks.join("|")}|poststarthook/[\w.-]+))?$|^/readyz/(${readyChecks.join("|")})$`,
);

/** Source: Go's net/http/server.go, `badRequestError`. */
const badEscape: ApiResponse = {
  status: 400,
  headers: { "content-type": "text/plain; charset=utf-8" },
  body: Buffer.from("400 Bad Request"),
};

/** Paths that Go handlers serve, which look at no method; the others of discovery are routes for GET. */
const handlerPath = /^\/(apis(\/[^/]+)?|openapi\/v[23](\/.*)?)?$/;

/** Handles a request, synchronously unless a kubelet is called. Never throws: errors become responses. */
export function handleRequest(context: ApiHandlerContext, request: ApiRequest): Answer {
  const warnings: string[] = [];
  const finish = (response: ApiResponse): ApiResponse => withWarnings(response, warnings);
  const refuse = (error: unknown): ApiResponse => {
    const status = error instanceof ApiStatusError ? error : internalError(error instanceof Error ? error.message : String(error));
    return finish(errorResponse(request, failure(status)));
  };
  try {
    const answer = route(context, request, warnings);
    return answer instanceof Promise ? answer.then(finish, refuse) : finish(pretty(request, answer));
  } catch (error) {
    return refuse(error);
  }
}

/** A `%` in a path without two hexadecimal digits, which Go's server refuses before anything else. */
const wrongEscape = /^[^?]*%(?![0-9a-f]{2})/i;

function route(context: ApiHandlerContext, request: ApiRequest, warnings: string[]): Answer {
  if (wrongEscape.test(request.url)) return badEscape;
  const { path, query } = splitUrl(request.url);
  const sender = authenticate(context, request);
  if (sender === undefined || (isNobody(sender) && context.authorizer.mode === "AlwaysAllow" && !publicPath.test(path)))
    throw unauthorized();
  const access = accessOf(request.method, { path, query, target: parseResourcePath(path) });
  const user = impersonated(context.authorizer, request, { user: sender, access });
  const { isAllowed, reason } = context.authorizer.authorize(user, access);
  if (!isAllowed) throw accessDenied(user, access, reason);
  if (request.body.length > bodyLimitBytes) throw tooLarge(`limit is ${bodyLimitBytes}`);
  return publicPath.test(path)
    ? publicResponse(context, request, path)
    : privateResponse(context, request, { path, query, user, warnings });
}

/** With `AlwaysAllow`, anonymous requests are refused, as on the real server. */
function isNobody({ username }: UserInfo): boolean {
  return username === "system:anonymous";
}

function splitUrl(url: string): { path: string; query: URLSearchParams } {
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  return {
    path: path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path,
    query: new URLSearchParams(mark < 0 ? "" : withoutSemicolons(url.slice(mark + 1))),
  };
}

/** Drops parameters with a semicolon. Source: Go's net/url/url.go, `parseQuery`. */
function withoutSemicolons(query: string): string {
  if (!query.includes(";")) return query;
  const parameters = query.split("&");
  return parameters.filter((parameter) => !parameter.includes(";")).join("&");
}

function publicResponse(context: ApiHandlerContext, request: ApiRequest, path: string): ApiResponse {
  if (path === "/version" && request.method !== "GET") throw methodNotAllowed();
  if (path === "/version") return rawJson(200, context.version);
  return healthPath.test(path) ? text(200, "ok") : text(404, "404 page not found\n");
}

function privateResponse(
  context: ApiHandlerContext,
  request: ApiRequest,
  { path, query, user, warnings }: { path: string; query: URLSearchParams; user: UserInfo; warnings: string[] },
): Answer {
  const forwarded = context.forward?.(request, path, user);
  if (forwarded !== undefined) return forwarded;
  if (request.method === "GET" || handlerPath.test(path)) {
    if (path === "/") return rawJson(200, { paths: rootPaths(context) });
    const document = context.discovery(path, query, request.headers["accept"]);
    if (document !== undefined) return discoveryAnswer(request, path, document);
    const keys = openIdDocument(context, path);
    if (keys !== undefined) return keys;
    const metrics = context.metrics?.(path, query);
    if (metrics !== undefined) return metrics;
  }
  const target = parseResourcePath(path);
  const response =
    target === undefined
      ? undefined
      : isReview(target)
        ? inEncoding(handleReview(context, request, { target, query, user, warnings }), negotiateOutput(request.headers["accept"]).encoding)
        : handleResource(context, request, { target, query, user, warnings });
  if (response === undefined && context.discovery(path, query, undefined) !== undefined && !path.startsWith("/openapi"))
    throw methodNotAllowed();
  if (response === undefined && isUnderGroup(context, path)) throw noSuchResource();
  if (response !== undefined) return response;
  // The real server has no text for a document that does not exist.
  return path.startsWith("/openapi/v3/") ? { status: 404, headers: {}, body: new Uint8Array(0) } : text(404, "404 page not found\n");
}

/** Whether the path is below a group with built-in kinds, where the real server answers unknown paths with a Status instead of plain text. */
function isUnderGroup({ rest }: ApiHandlerContext, path: string): boolean {
  const [, root, group = ""] = path.split("/");
  if (root === "api") return group !== "";
  return root === "apis" && group !== "" && (isBuiltInGroup(rest.kinds, group) || reviewGroups.includes(group));
}

/** Paths listed by `/`: those that are served. */
function rootPaths({ rest }: ApiHandlerContext): string[] {
  const groups = groupVersions(rest.kinds).flatMap(({ group, version }) =>
    group === "" ? ["/api/v1"] : [`/apis/${group}`, `/apis/${group}/${version}`],
  );
  const health = Object.entries(healthChecks).flatMap(([path, checks]) => [path, ...checks.map((check) => `${path}/${check}`)]);
  const documents = ["/.well-known/openid-configuration", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/openid/v1/jwks", "/version"];
  return [...new Set(["/api", "/apis", "/apis/", ...groups, ...health, ...documents])].toSorted();
}

/** A document of discovery in the accepted encoding, or 304 if the client has it. */
function discoveryAnswer({ headers }: ApiRequest, path: string, document: DiscoveryResponse): ApiResponse {
  const { etag, vary } = document.headers;
  if (etag !== undefined && headers["if-none-match"] === etag) {
    const cacheControl = document.headers["cache-control"] ?? "";
    return {
      status: 304,
      headers: { "cache-control": cacheControl, etag, ...(vary === undefined ? {} : { vary }) },
      body: new Uint8Array(0),
    };
  }
  if (path.startsWith("/openapi") || document.headers["content-type"] !== "application/json")
    return inEncoding(document, findOutput(headers["accept"], { hasForms: false })?.encoding ?? "json");
  // The lists of versions and groups are not served by routes that produce certain types.
  const { encoding } = negotiateOutput(headers["accept"], { hasForms: false, isCustom: path === "/api" || path === "/apis" });
  return inEncoding(document, encoding);
}

/** The error in an accepted encoding, otherwise as indented JSON. Source: pkg/endpoints/handlers/responsewriters/writers.go. */
function errorResponse(request: ApiRequest, response: ApiResponse): ApiResponse {
  const output = findOutput(request.headers["accept"], { hasForms: false });
  return output === undefined ? indented(response) : pretty(request, inEncoding(response, output.encoding));
}
