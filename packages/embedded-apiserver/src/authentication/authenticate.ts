import { timingSafeEqual } from "node:crypto";
import { collectionOf, findKind, type RestContext } from "../rest/rest-context.ts";
import { tokenIssuer, type ServiceAccountTokens, type TokenClaims } from "./service-account-token.ts";
import type { ApiRequest } from "../http/api-request.ts";
import type { UserInfo } from "./user-info.ts";

/** Dependencies of {@link authenticate}. */
export interface AuthenticationContext {
  readonly rest: RestContext;
  readonly tokens: ServiceAccountTokens;
  /** Bearer token of the administrator. */
  readonly adminToken: string;
}

const adminUser: UserInfo = { username: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] };

const anonymousUser: UserInfo = { username: "system:anonymous", groups: ["system:unauthenticated"] };

/**
 * Authenticates a request by its client certificate or its bearer token. A request with neither is `system:anonymous`.
 *
 * @returns the user; `undefined` if the token is invalid, or if the certificate is of an untrusted authority and there is no token
 */
export function authenticate(context: AuthenticationContext, request: ApiRequest): UserInfo | undefined {
  const { certificate } = request;
  if (certificate !== undefined)
    return {
      username: certificate.commonName,
      groups: [...certificate.organizations, "system:authenticated"],
      ...(certificate.fingerprint === undefined
        ? {}
        : { extra: { "authentication.kubernetes.io/credential-id": [`X509SHA256=${certificate.fingerprint}`] } }),
    };
  const token = bearerToken(request.headers["authorization"]);
  if (token === undefined) return request.hasForeignCertificate === true ? undefined : anonymousUser;
  return authenticateToken(context, token, [tokenIssuer]);
}

/**
 * Authenticates a token.
 *
 * @param audiences - accepted audiences; the token needs at least one of them
 * @returns the user; `undefined` if the token is unknown or expired, is for other audiences, or is bound to an object that no longer exists
 */
export function authenticateToken(context: AuthenticationContext, token: string, audiences: readonly string[]): UserInfo | undefined {
  if (equalSecrets(token, context.adminToken)) return adminUser;
  const claims = context.tokens.verify(token);
  if (claims === undefined || !claims.aud.some((audience) => audiences.includes(audience))) return undefined;
  return isBoundToExisting(context.rest, claims) ? serviceAccountUser(claims) : undefined;
}

function bearerToken(authorization: string | undefined): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
}

/** Compares in constant time. */
function equalSecrets(given: string, secret: string): boolean {
  const a = Buffer.from(given);
  const b = Buffer.from(secret);
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Source: pkg/serviceaccount/claims.go of Kubernetes v1.36.3, `Validate`. */
function isBoundToExisting(context: RestContext, claims: TokenClaims): boolean {
  const { namespace, serviceaccount, pod, node, secret } = claims["kubernetes.io"];
  if (!exists(context, "serviceaccounts", { namespace, ...serviceaccount })) return false;
  if (pod !== undefined) return exists(context, "pods", { namespace, ...pod });
  if (secret !== undefined) return exists(context, "secrets", { namespace, ...secret });
  return node === undefined || exists(context, "nodes", { namespace: "", ...node });
}

function exists(context: RestContext, plural: string, { namespace, name, uid }: { namespace: string; name: string; uid: string }): boolean {
  const kind = findKind(context, "", plural);
  return kind !== undefined && collectionOf(context, kind).get(namespace, name)?.object.metadata.uid === uid;
}

/** Source: pkg/serviceaccount/util.go of Kubernetes v1.36.3, `UserInfo`. */
function serviceAccountUser(claims: TokenClaims): UserInfo {
  const { namespace, serviceaccount, pod, node } = claims["kubernetes.io"];
  return {
    username: claims.sub,
    uid: serviceaccount.uid,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
    extra: {
      "authentication.kubernetes.io/credential-id": [`JTI=${claims.jti}`],
      ...(node === undefined
        ? {}
        : {
            "authentication.kubernetes.io/node-name": [node.name],
            ...(node.uid === "" ? {} : { "authentication.kubernetes.io/node-uid": [node.uid] }),
          }),
      ...(pod === undefined
        ? {}
        : { "authentication.kubernetes.io/pod-name": [pod.name], "authentication.kubernetes.io/pod-uid": [pod.uid] }),
    },
  };
}
