import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { badRequest, conflict, invalid, notFound } from "../errors/api-status-error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import type { ApiObject, FieldError } from "../kinds/kind.ts";
import { tokenIssuer, type BoundObject, type ServiceAccountTokens, type TokenSpec } from "./service-account-token.ts";
import { collectionOf, findKind, type ObjectAddress, type RestContext } from "../rest/rest-context.ts";

/** Validity of a token whose request names none. */
export const defaultTokenSeconds = 3600;
const minExpirationSeconds = 600;
const requestKind = { group: "authentication.k8s.io", kind: "TokenRequest" };

/**
 * Handles a `TokenRequest` for a service account.
 *
 * Source: pkg/registry/core/serviceaccount/storage/token.go of Kubernetes v1.36.3.
 *
 * @returns the request with the token in its status
 * @throws ApiStatusError 400, 404, 409 or 422
 */
export function requestToken(
  context: RestContext,
  tokens: ServiceAccountTokens,
  account: ObjectAddress,
  body: Readonly<JsonObject>,
): JsonObject {
  const metadata = isJsonObject(body["metadata"]) ? body["metadata"] : {};
  const { name = account.name } = metadata;
  if (name !== account.name) {
    const message = `Invalid value: ${JSON.stringify(name)}: must match the service account name if specified`;
    throw invalid(requestKind, account.name, [{ field: "metadata.name", reason: "FieldValueInvalid", message }]);
  }
  const stored = collectionOf(context, account.kind).get(account.namespace, account.name);
  if (stored === undefined) throw notFound(account.kind, account.name);
  const { uid } = stored.object.metadata;
  const spec = isJsonObject(body["spec"]) ? body["spec"] : {};
  if (metadata["uid"] && metadata["uid"] !== uid) {
    throw conflict(
      { group: "authentication.k8s.io", plural: "TokenRequest" },
      account.name,
      `the UID in the token request (${String(metadata["uid"])}) does not match the UID of the service account (${uid})`,
    );
  }
  const expirationSeconds = spec["expirationSeconds"] ?? defaultTokenSeconds;
  const errors = expirationErrors(expirationSeconds);
  if (errors.length > 0) throw invalid(requestKind, "", errors);
  const given = Array.isArray(spec["audiences"]) ? spec["audiences"].map(String) : [];
  const audiences = given.length === 0 ? [tokenIssuer] : given;
  const bound = isJsonObject(spec["boundObjectRef"]) ? boundObjects(context, account, spec["boundObjectRef"]) : undefined;
  const issued = tokens.issue({
    namespace: account.namespace,
    serviceAccount: { name: account.name, uid },
    audiences,
    expirationSeconds: Number(expirationSeconds),
    bound,
  });
  return {
    kind: "TokenRequest",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { name: account.name, namespace: account.namespace, uid, creationTimestamp: rfc3339(context.clock.now()) },
    spec: { audiences, expirationSeconds, boundObjectRef: spec["boundObjectRef"] ?? null },
    status: { token: issued.token, expirationTimestamp: rfc3339(issued.expiresAtSeconds * 1000) },
  };
}

function expirationErrors(seconds: JsonValue): FieldError[] {
  const field = "spec.expirationSeconds";
  const value = `Invalid value: ${JSON.stringify(seconds)}`;
  if (typeof seconds !== "number" || seconds < minExpirationSeconds)
    return [{ field, reason: "FieldValueInvalid", message: `${value}: may not specify a duration less than 10 minutes` }];
  if (seconds > 2 ** 32)
    return [{ field, reason: "FieldValueInvalid", message: `${value}: may not specify a duration larger than 2^32 seconds` }];
  return [];
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

/** Objects that the token is bound to: the referenced one and, for a pod, its node. */
function boundObjects(context: RestContext, account: ObjectAddress, reference: JsonObject): TokenSpec["bound"] {
  const { kind: kindName, apiVersion, name, uid } = reference;
  const [version = "", group = ""] = textOf(apiVersion).split("/").toReversed();
  const plural = group === "" ? boundKinds[textOf(kindName)] : undefined;
  if (plural === undefined) throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${textOf(kindName)}`);
  if (textOf(name) === "") throw badRequest("Name parameter required.");
  const object = find(context, plural, { namespace: account.namespace, name: textOf(name) });
  if (plural === "pods" && object["spec"]?.serviceAccountName !== account.name) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(account.name)} to pod running with different serviceaccount name.`,
    );
  }
  if (typeof uid === "string" && uid !== "" && uid !== object.metadata.uid) {
    throw conflict(
      { group: "", plural: String(kindName) },
      String(name),
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  const bound = identityOf(object);
  if (plural === "nodes") return { node: bound };
  if (plural === "secrets") return { secret: bound };
  const nodeName: unknown = object["spec"]?.nodeName;
  return typeof nodeName === "string" && nodeName !== "" ? { pod: bound, node: nodeIdentity(context, nodeName) } : { pod: bound };
}

const boundKinds: Readonly<Record<string, "pods" | "nodes" | "secrets">> = { Pod: "pods", Node: "nodes", Secret: "secrets" };

function find(context: RestContext, plural: string, { namespace, name }: { namespace: string; name: string }): Readonly<ApiObject> {
  const kind = findKind(context, "", plural);
  const stored = kind === undefined ? undefined : collectionOf(context, kind).get(kind.namespaced ? namespace : "", name);
  if (stored === undefined) throw notFound({ group: "", plural }, name);
  return stored.object;
}

function nodeIdentity(context: RestContext, name: string): BoundObject {
  const nodes = findKind(context, "", "nodes");
  const stored = nodes === undefined ? undefined : collectionOf(context, nodes).get("", name);
  return stored === undefined ? { name, uid: "" } : identityOf(stored.object);
}

function identityOf({ metadata }: Readonly<ApiObject>): BoundObject {
  return { name: metadata.name, uid: metadata.uid };
}
