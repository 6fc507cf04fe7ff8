import { badRequest, methodNotAllowed, noSuchResource } from "../api-status-error.ts";
import { toTimestamp } from "../clock.ts";
import { isJsonObject, type JsonObject } from "../json-value.ts";
import { tokenIssuer } from "../service-account-token.ts";
import type { ApiRequest, ApiResponse, UserInfo } from "./api-request.ts";
import { authenticateToken, type AuthenticationDeps } from "./authentication.ts";
import { parseJsonBody } from "./json-body.ts";
import { checkJsonBody } from "./negotiation.ts";
import type { ResourceTarget } from "./request-target.ts";
import { json } from "./respond.ts";

/** The API groups of reviews. */
export const reviewGroups: readonly string[] = ["authentication.k8s.io", "authorization.k8s.io"];

/** Whether a path is about a review: something that is asked by creating it, and never stored. */
export function isReview({ group, version }: ResourceTarget): boolean {
  return reviewGroups.includes(group) && version === "v1";
}

/**
 * Answers a TokenReview, a SelfSubjectReview or one of the access reviews. There is no RBAC: whoever is authenticated
 * may do everything, so every access review says yes.
 *
 * @throws ApiStatusError
 */
export function handleReview(
  deps: AuthenticationDeps,
  request: ApiRequest,
  { target, user }: { target: ResourceTarget; user: UserInfo },
): ApiResponse {
  const review = reviews[`${target.plural}.${target.group}`];
  if (review === undefined || target.name !== undefined) throw noSuchResource();
  if (request.method !== "POST") throw methodNotAllowed();
  checkJsonBody(request.headers["content-type"]);
  const body = parseJsonBody(request.body, review.kind);
  if (!isJsonObject(body)) throw badRequest(`the object provided is unrecognized (must be of type ${review.kind}): expected a JSON object`);
  const { spec } = body;
  const metadata = review.isDated === true ? { creationTimestamp: toTimestamp(deps.context.clock.now()) } : (body["metadata"] ?? {});
  const status = review.answer(deps, isJsonObject(spec) ? spec : {}, user);
  return json(201, {
    kind: review.kind,
    apiVersion: `${target.group}/${target.version}`,
    metadata,
    ...(spec === undefined ? {} : { spec }),
    status,
  });
}

interface Review {
  readonly kind: string;
  /** Whether the answer says when it was given. */
  readonly isDated?: boolean;
  readonly answer: (deps: AuthenticationDeps, spec: JsonObject, user: UserInfo) => unknown;
}

const reviews: Readonly<Record<string, Review>> = {
  "tokenreviews.authentication.k8s.io": { kind: "TokenReview", answer: reviewToken },
  "selfsubjectreviews.authentication.k8s.io": {
    kind: "SelfSubjectReview",
    isDated: true,
    answer: (_deps, _spec, user) => ({ userInfo: user }),
  },
  "subjectaccessreviews.authorization.k8s.io": { kind: "SubjectAccessReview", answer: allow },
  "localsubjectaccessreviews.authorization.k8s.io": { kind: "LocalSubjectAccessReview", answer: allow },
  "selfsubjectaccessreviews.authorization.k8s.io": { kind: "SelfSubjectAccessReview", answer: allow },
  "selfsubjectrulesreviews.authorization.k8s.io": { kind: "SelfSubjectRulesReview", answer: allRules },
};

function reviewToken(deps: AuthenticationDeps, spec: JsonObject): unknown {
  const { token } = spec;
  const given = Array.isArray(spec["audiences"]) ? spec["audiences"].map(String) : [];
  const audiences = given.length === 0 ? [tokenIssuer] : given;
  const user = typeof token === "string" && token !== "" ? authenticateToken(deps, token, audiences) : undefined;
  if (user === undefined) return { user: {}, error: "invalid bearer token" };
  return { authenticated: true, user, audiences };
}

function allow(): unknown {
  return { allowed: true };
}

function allRules(): unknown {
  return {
    resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
    nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    incomplete: false,
  };
}
