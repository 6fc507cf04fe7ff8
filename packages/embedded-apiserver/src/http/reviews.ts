import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { badRequest, methodNotAllowed, noSuchResource } from "../errors/api-status-error.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { decodeBody } from "../rest/decode-object.ts";
import { tokenIssuer } from "../authentication/service-account-token.ts";
import { reviewAccess, reviewLocalAccess, reviewOwnAccess, reviewOwnRules, type Review } from "./access-reviews.ts";
import type { ApiRequest, ApiResponse } from "./api-request.ts";
import type { UserInfo } from "../authentication/user-info.ts";
import { authenticateToken, type AuthenticationContext } from "../authentication/authenticate.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { trackWrite } from "../managed-fields/field-manager.ts";
import { fieldManagerOf } from "./field-manager-name.ts";
import { parseBody } from "./json-body.ts";
import { negotiateOutput } from "./negotiation.ts";
import { parseWriteQuery } from "./query-options.ts";
import type { ResourceTarget } from "./request-target.ts";
import { json } from "./respond.ts";
import { strictProblems } from "./strict-problems.ts";

/** Dependencies of {@link handleReview}. */
export interface ReviewContext extends AuthenticationContext {
  readonly authorizer: Authorizer;
}

export const reviewGroups: readonly string[] = ["authentication.k8s.io", "authorization.k8s.io"];

/** Whether a path names a review: a question that is asked by creating an object, which is never stored. */
export function isReview({ group, version }: ResourceTarget): boolean {
  return reviewGroups.includes(group) && version === "v1";
}

/**
 * Handles a TokenReview, a SelfSubjectReview or an access review.
 *
 * @throws ApiStatusError
 */
export function handleReview(
  context: ReviewContext,
  request: ApiRequest,
  { target, query, user, warnings }: { target: ResourceTarget; query: URLSearchParams; user: UserInfo; warnings: string[] },
): ApiResponse {
  const review = reviews[`${target.plural}.${target.group}`];
  if (review === undefined || target.name !== undefined || (target.namespace !== undefined) !== (review.isNamespaced === true))
    throw noSuchResource();
  if (request.method !== "POST") throw methodNotAllowed();
  negotiateOutput(request.headers["accept"], { hasForms: false });
  const body = tracked(context, request, { target, kind: review.kind, body: bodyOf(request, review, { target, query, warnings }) });
  const { metadata, spec, status } = review.answer(context, body, { user, namespace: target.namespace ?? "" });
  return json(201, {
    kind: review.kind,
    apiVersion: `${target.group}/${target.version}`,
    metadata: metadata ?? {},
    ...(spec === undefined ? {} : { spec }),
    status,
  });
}

function bodyOf(
  request: ApiRequest,
  { kind }: ReviewKind,
  { target, query, warnings }: { readonly target: ResourceTarget; readonly query: URLSearchParams; readonly warnings: string[] },
): JsonObject {
  const type = reviewKind(target, kind);
  return decodeBody(type, parseBody(request, kind), {
    ...parseWriteQuery(query, "CreateOptions"),
    warn: (message) => warnings.push(message),
    strictProblems: (unknown) => strictProblems(request, type, unknown),
  });
}

/** Records the manager of the request's fields, as for stored objects. */
function tracked(
  { rest }: ReviewContext,
  { headers, url }: ApiRequest,
  { target, kind, body }: { readonly target: ResourceTarget; readonly kind: string; readonly body: JsonObject },
): JsonObject {
  const object = { ...body, metadata: { ...(isJsonObject(body["metadata"]) ? body["metadata"] : {}) } } as unknown as ApiObject;
  const query = new URLSearchParams(url.split("?", 2)[1] ?? "");
  const manager = fieldManagerOf(query, headers["user-agent"]);
  trackWrite({ type: rest.managedTypes.of(reviewKind(target, kind), ""), manager, nowMs: rest.clock.now() }, undefined, object);
  return object;
}

/** The same kind for each review, because what is derived from it is kept. */
const reviewKinds = new Map<string, Kind>();

function reviewKind({ group, version, plural }: ResourceTarget, kind: string): Kind {
  let known = reviewKinds.get(kind);
  if (known === undefined) {
    const schema = `io.k8s.api.${group.replace(".k8s.io", "")}.${version}.${kind}`;
    known = { group, version, kind, plural, singular: kind.toLowerCase(), namespaced: false, schema };
    reviewKinds.set(kind, known);
  }
  return known;
}

interface ReviewKind {
  readonly kind: string;
  readonly isNamespaced?: boolean;
  readonly answer: (context: ReviewContext, body: JsonObject, caller: { readonly user: UserInfo; readonly namespace: string }) => Review;
}

const reviews: Readonly<Record<string, ReviewKind>> = {
  "tokenreviews.authentication.k8s.io": { kind: "TokenReview", answer: reviewToken },
  "selfsubjectreviews.authentication.k8s.io": { kind: "SelfSubjectReview", answer: reviewSelf },
  "subjectaccessreviews.authorization.k8s.io": {
    kind: "SubjectAccessReview",
    answer: ({ authorizer }, body) => reviewAccess(authorizer, body),
  },
  "localsubjectaccessreviews.authorization.k8s.io": {
    kind: "LocalSubjectAccessReview",
    isNamespaced: true,
    answer: ({ authorizer }, body, { namespace }) => reviewLocalAccess(authorizer, body, namespace),
  },
  "selfsubjectaccessreviews.authorization.k8s.io": {
    kind: "SelfSubjectAccessReview",
    answer: ({ authorizer }, body, { user }) => reviewOwnAccess(authorizer, body, user),
  },
  "selfsubjectrulesreviews.authorization.k8s.io": {
    kind: "SelfSubjectRulesReview",
    answer: ({ authorizer }, body, { user }) => reviewOwnRules(authorizer, body, user),
  },
};

function reviewSelf({ rest }: ReviewContext, _body: JsonObject, { user }: { readonly user: UserInfo }): Review {
  return { metadata: { creationTimestamp: rfc3339(rest.clock.now()) }, status: { userInfo: user } };
}

/** Source: Kubernetes v1.36.3 pkg/registry/authentication/tokenreview/storage.go. */
function reviewToken(context: ReviewContext, { metadata, spec = {} }: JsonObject): Review {
  const { token, audiences: given }: Readonly<Record<string, JsonValue>> = isJsonObject(spec) ? spec : {};
  if (typeof token !== "string" || token === "") throw badRequest("token is required for TokenReview in authentication");
  const audiences = Array.isArray(given) && given.length > 0 ? given.map(String) : [tokenIssuer];
  const user = authenticateToken(context, token, audiences);
  const status = user === undefined ? { user: {}, error: "invalid bearer token" } : { authenticated: true, user, audiences };
  return { metadata, spec, status };
}
