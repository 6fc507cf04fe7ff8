import { timingSafeEqual } from "node:crypto";
import { collectionOf, findKind, type RestContext } from "../rest/rest-context.ts";
import { tokenIssuer, type ServiceAccountTokens, type TokenClaims } from "../service-account-token.ts";
import type { ApiRequest, UserInfo } from "./api-request.ts";

/** What callers are known by. */
export interface AuthenticationContext {
  readonly rest: RestContext;
  readonly tokens: ServiceAccountTokens;
  /** The administrator's bearer token. */
  readonly adminToken: string;
}

const adminUser: UserInfo = { username: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] };

/** Who does not say who he is. */
const nobody: UserInfo = { username: "system:anonymous", groups: ["system:unauthenticated"] };

/**
 * Who sends a request: the administrator, a service account, the holder of a client certificate, or somebody who does
 * not say.
 *
 * @returns `undefined` for a caller with a token or certificate that is good for nothing
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
  if (token === undefined) return request.hasForeignCertificate === true ? undefined : nobody;
  return authenticateToken(context, token, [tokenIssuer]);
}

/**
 * Whose token this is.
 *
 * @param audiences - the token must be meant for one of them
 * @returns `undefined` if it is nobody's, has expired, or what it is bound to is gone
 */
export function authenticateToken(context: AuthenticationContext, token: string, audiences: readonly string[]): UserInfo | undefined {
  if (equalSecrets(token, context.adminToken)) return adminUser;
  const claims = context.tokens.verify(token);
  if (claims === undefined || !claims.aud.some((audience) => audiences.includes(audience))) return undefined;
  return isBoundToLiving(context.rest, claims) ? serviceAccountUser(claims) : undefined;
}

function bearerToken(authorization: string | undefined): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
}

/** Compares in a time that does not tell how much of the secret was right. */
function equalSecrets(given: string, secret: string): boolean {
  const a = Buffer.from(given);
  const b = Buffer.from(secret);
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Source: pkg/serviceaccount/claims.go of Kubernetes v1.36.3, `Validate`. */
function isBoundToLiving(context: RestContext, claims: TokenClaims): boolean {
  const { namespace, serviceaccount, pod, node, secret } = claims["kubernetes.io"];
  if (!lives(context, "serviceaccounts", { namespace, ...serviceaccount })) return false;
  if (pod !== undefined) return lives(context, "pods", { namespace, ...pod });
  if (secret !== undefined) return lives(context, "secrets", { namespace, ...secret });
  return node === undefined || lives(context, "nodes", { namespace: "", ...node });
}

function lives(context: RestContext, plural: string, { namespace, name, uid }: { namespace: string; name: string; uid: string }): boolean {
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
