import { notFound } from "../errors/api-status-error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { namespaceFinalizeKind } from "../kinds/namespace.ts";
import { certificatesGroup } from "../kinds/certificates/csr-fields.ts";
import { nodeProxyVerb } from "../kubelet-proxy/node-proxy.ts";
import { podLogVerb } from "../kubelet-proxy/pod-log.ts";
import { podProxyVerb, serviceProxyVerb } from "../kubelet-proxy/pod-network-proxy.ts";
import { podStreamVerb, type PodStream } from "../kubelet-proxy/pod-streams.ts";
import { decodeBody, decodeObject, decodePatchedBody, type DecodedType } from "../rest/decode-object.ts";
import { bindingType, bindPod } from "../rest/pod/pod-binding.ts";
import { evictPod } from "../rest/pod/pod-eviction.ts";
import { updateEphemeralContainers } from "../rest/pod/ephemeral-containers.ts";
import { checkName, checkNamespace } from "../rest/metadata.ts";
import { resizePod } from "../rest/pod/pod-resize.ts";
import type { PodSpecUpdate } from "../rest/pod/pod-spec-update.ts";
import { admitBody, bodyObject } from "../rest/admit-body.ts";
import { admissionSubject, collectionOf, type WriteOptions } from "../rest/rest-context.ts";
import { readScale, scaleOfKind, updateScale } from "../rest/scale.ts";
import { defaultTokenSeconds, requestToken } from "../authentication/token-request.ts";
import type { Steps } from "../rest/steps.ts";
import type { StoredObject } from "../storage/storage.ts";
import { patchJson } from "../patch/patch-json.ts";
import type { ApiResponse } from "./api-request.ts";
import { checkPatchOptions, isApply, scaleApplication } from "./apply-verb.ts";
import { parseDeleteOptions } from "./delete-options.ts";
import { parseBody } from "./json-body.ts";
import { patchTypeOf } from "./negotiation.ts";
import { connecting, connectObjects, proxyOptions } from "./connect-admission.ts";
import { getVerb } from "./read-verbs.ts";
import { addressOf, objectResponse, type ResourceCall, type ResourceContext } from "./resource-call.ts";
import { json } from "./respond.ts";
import { scaleResponse } from "./scale-response.ts";
import { type Verb, type Verbs, writing } from "./verb.ts";
import { jsonBodyOf, parsePatch, parsePatchBody, patchedObject, patchVerb, replaceVerb, writeOptionsOf } from "./write-verbs.ts";

const statusVerbs: Verbs = {
  GET: getVerb,
  PUT: writing((context, call) => replaceVerb(context, call, "status")),
  PATCH: writing((context, call) => patchVerb(context, call, "status")),
};

const scaleVerbs: Verbs = { GET: getScale, PUT: writing(replaceScale), PATCH: writing(patchScale) };

const specialVerbs: Readonly<Record<string, Verbs>> = {
  "certificatesigningrequests/approval": statusVerbs,
  "nodes/proxy": proxyVerbs("NodeProxyOptions", nodeProxyVerb),
  "pods/attach": streamVerbs("attach"),
  "pods/binding": { POST: writing(bindingVerb) },
  "pods/eviction": { POST: writing(evictionVerb) },
  "pods/exec": streamVerbs("exec"),
  "pods/ephemeralcontainers": specVerbs(updateEphemeralContainers),
  "pods/log": { GET: podLogVerb },
  "pods/portforward": streamVerbs("portforward"),
  "pods/proxy": proxyVerbs("PodProxyOptions", podProxyVerb),
  "pods/resize": specVerbs(resizePod),
  "services/proxy": proxyVerbs("ServiceProxyOptions", serviceProxyVerb),
  "serviceaccounts/token": { POST: writing(tokenVerb) },
  "namespaces/finalize": { PUT: writing(finalizeVerb) },
};

const evictionType: DecodedType = { group: "policy", version: "v1", kind: "Eviction", schema: "io.k8s.api.policy.v1.Eviction" };
const scaleType: DecodedType = { group: "autoscaling", version: "v1", kind: "Scale", schema: "io.k8s.api.autoscaling.v1.Scale" };
const tokenRequestType: DecodedType = {
  group: "authentication.k8s.io",
  version: "v1",
  kind: "TokenRequest",
  schema: "io.k8s.api.authentication.v1.TokenRequest",
};

/** Subresources whose response comes from another server. */
const connectedSubresources: ReadonlySet<string> = new Set([
  "nodes/proxy",
  "pods/attach",
  "pods/exec",
  "pods/portforward",
  "pods/proxy",
  "services/proxy",
]);

/** Whether the response of a subresource comes from another server, so that the accepted forms of objects do not matter. */
export function isConnected({ group, plural }: Kind, subresource: string | undefined): boolean {
  return group === "" && connectedSubresources.has(`${plural}/${subresource}`);
}

/** Verbs of a subresource by HTTP method; `undefined` if the kind has no such subresource. */
export function subresourceVerbs(kind: Kind, subresource: string): Verbs | undefined {
  if (subresource === "status") return kind.hasStatus === true ? statusVerbs : undefined;
  if (subresource === "scale") return kind.hasScale === true ? scaleVerbs : undefined;
  if (kind.group !== "" && kind.group !== certificatesGroup) return undefined;
  return specialVerbs[`${kind.plural}/${subresource}`];
}

/** Source: pkg/registry/core/pod/rest/subresources.go of Kubernetes v1.36.3, `upgradeableMethods`. */
function streamVerbs(stream: PodStream): Verbs {
  const verb = connecting(connectObjects[stream], (context, call) => podStreamVerb(context, call, stream));
  return { GET: verb, POST: verb };
}

function proxyVerbs(options: string, run: Verb): Verbs {
  const verb = connecting(proxyOptions(options), run);
  return Object.fromEntries(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].map((method) => [method, verb]));
}

/** POST of a Binding, to the pod's subresource or to the collection `bindings`. */
export function* bindingVerb(context: ResourceContext, call: ResourceCall): Steps<ApiResponse> {
  const { namespace = "", name } = call.target;
  const options = writeOptionsOf(call, "CreateOptions");
  yield* bindPod(context.rest, { pods: call.kind, namespace, name }, bodyOf(call, bindingType, options), options);
  return success();
}

function* evictionVerb(context: ResourceContext, call: ResourceCall): Steps<ApiResponse> {
  const writeOptions = writeOptionsOf(call, "CreateOptions");
  const sent = bodyOf(call, evictionType, writeOptions);
  const body = (yield* admitted(context, call, evictionType, sent)) ?? sent;
  const options = parseDeleteOptions(
    { ...call.request, headers: {}, body: Buffer.from(JSON.stringify(body["deleteOptions"] ?? {})) },
    call.query,
  );
  const isDryRun = writeOptions.dryRun === true || options.dryRun === true;
  yield* evictPod(context.rest, addressOf(call), String(metadataOf(body)["name"] ?? ""), { ...options, dryRun: isDryRun, user: call.user });
  return success();
}

function* tokenVerb(context: ResourceContext, call: ResourceCall): Steps<ApiResponse> {
  const sent = bodyOf(call, tokenRequestType, writeOptionsOf(call, "CreateOptions"));
  const body = (yield* admitted(context, call, tokenRequestType, sent)) ?? sent;
  return json(201, requestToken(context.rest, context.tokens, addressOf(call), body));
}

/** Passes a subresource's body through admission. @returns `undefined` if no plugin looked at it */
function admitted(context: ResourceContext, call: ResourceCall, type: DecodedType, sent: JsonObject): Steps<JsonObject | undefined> {
  const subject = admissionSubject("CREATE", addressOf(call), writeOptionsOf(call, "CreateOptions"));
  return admitBody(context.rest, subject, () => {
    const object = bodyObject(type, call.target.namespace ?? "", sent);
    if (type === tokenRequestType) {
      object.metadata = { ...object.metadata, name: object.metadata.name ?? call.target.name };
      object["spec"].expirationSeconds ??= defaultTokenSeconds;
    }
    return object;
  });
}

/** PUT of `namespaces/finalize`. */
function* finalizeVerb(context: ResourceContext, call: ResourceCall): Steps<ApiResponse> {
  return yield* replaceVerb(context, { ...call, kind: namespaceFinalizeKind });
}

function specVerbs(update: PodSpecUpdate): Verbs {
  return {
    GET: getVerb,
    PUT: writing(function* (context, call) {
      const options = writeOptionsOf(call, "UpdateOptions");
      const object = decodeObject(call.kind, jsonBodyOf(call), options);
      const uid = object.metadata.uid as string | undefined;
      return objectResponse(context, call, 200, yield* update(context.rest, addressOf(call), () => object, { ...options, uid }));
    }),
    PATCH: writing(function* (context, call) {
      const patch = parsePatch(call);
      const options = writeOptionsOf(call, "PatchOptions");
      const change = (object: Readonly<ApiObject>): ApiObject => patchedObject(call.kind, object, patch, options);
      return objectResponse(context, call, 200, yield* update(context.rest, addressOf(call), change, options));
    }),
  };
}

function getScale(context: ResourceContext, call: ResourceCall): ApiResponse {
  return scaleResponse(context, call, readScale(call.kind, storedOf(context, call).object));
}

function* replaceScale(context: ResourceContext, call: ResourceCall): Steps<ApiResponse> {
  const options = writeOptionsOf(call, "UpdateOptions");
  const body = bodyOf(call, scaleType, options);
  checkName(metadataOf(body), call.target.name ?? "");
  return scaleResponse(context, call, scaleOfKind(call.kind, yield* updateScale(context.rest, addressOf(call), () => body, options)));
}

function* patchScale(context: ResourceContext, call: ResourceCall): Steps<ApiResponse> {
  if (isApply(call.request)) {
    const { change, options } = scaleApplication(context, call, writeOptionsOf(call, "PatchOptions"));
    return scaleResponse(context, call, scaleOfKind(call.kind, yield* updateScale(context.rest, addressOf(call), change, options)));
  }
  checkPatchOptions(call.query);
  const type = patchTypeOf(call.request.headers["content-type"]);
  const options = writeOptionsOf(call, "PatchOptions");
  const body = parsePatchBody(call.request.body);
  const change = (scale: JsonObject): JsonObject => {
    const patched = decodePatchedBody(scaleType, patchJson(scale, { type, body }, scaleType.schema), options);
    checkName(metadataOf(patched), call.target.name ?? "");
    checkNamespace(call.kind, metadataOf(patched), call.target.namespace ?? "");
    return patched;
  };
  return scaleResponse(context, call, scaleOfKind(call.kind, yield* updateScale(context.rest, addressOf(call), change, options)));
}

function storedOf(context: ResourceContext, call: ResourceCall): StoredObject {
  const { kind, namespace, name } = addressOf(call);
  const stored = collectionOf(context.rest, kind).get(namespace, name);
  if (stored === undefined) throw notFound(kind, name);
  return stored;
}

function bodyOf({ kind, request, target }: ResourceCall, expected: DecodedType, options: WriteOptions): JsonObject {
  const body = decodeBody(expected, parseBody(request, expected.kind), options);
  checkNamespace(kind, metadataOf(body), target.namespace ?? "");
  return body;
}

function metadataOf({ metadata }: JsonObject): JsonObject {
  return isJsonObject<JsonValue>(metadata) ? metadata : {};
}

function success(): ApiResponse {
  return json(201, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 });
}
