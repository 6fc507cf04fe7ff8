import type { Random } from "@virtual-kubelet/clock";
import { plainFailure } from "../errors/api-status-error.ts";
import { aggregateProblems } from "../errors/aggregate-problems.ts";
import { goJson, goJsonType, goTypeOf } from "../json/go-json.ts";
import { equalJson, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import type { ApiObject, FieldError, WebhookConversion } from "../kinds/kind.ts";
import { labelsErrors } from "../kinds/validation/labels.ts";
import { conversionReviewKind, decodeReview } from "../outbound/decode-review.ts";
import { GoError } from "../outbound/go-error.ts";
import type { WebhookClient } from "../outbound/webhook-client.ts";
import { hasKind, missingKind } from "../rest/custom-type.ts";
import { annotationsErrors } from "../rest/metadata.ts";
import type { CrdConversion } from "./crd-fields.ts";

/** Source of this file: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/conversion/webhook_converter.go. */

/** Timeout of a call; source: k8s.io/apiserver v0.36.3 pkg/util/webhook/authentication.go. */
const timeoutSeconds = 30;

/** Dependencies of {@link conversionByWebhook}. */
export interface ConversionCaller {
  readonly client: Pick<WebhookClient, "post">;
  readonly random: Pick<Random, "uuid">;
}

/** Conversion of a definition's objects by its webhook; `undefined` if their versions differ only in `apiVersion`. */
export function conversionByWebhook(
  { client, random }: ConversionCaller,
  conversion: CrdConversion | undefined,
): WebhookConversion | undefined {
  const { strategy, webhook } = conversion ?? {};
  if (strategy !== "Webhook" || webhook?.clientConfig === undefined) return undefined;
  const { clientConfig, conversionReviewVersions = [] } = webhook;
  return async (objects, apiVersion) => {
    const wanted = objects.filter((object) => object.apiVersion !== apiVersion);
    const [first] = wanted;
    if (first === undefined) return [...objects];
    const version = conversionReviewVersions.find((each) => each === "v1" || each === "v1beta1");
    if (version === undefined) throw plainFailure("no supported conversion review versions");
    const type = `${first.apiVersion}, Kind=${first.kind}`;
    const uid = random.uuid();
    const review: JsonObject = {
      kind: "ConversionReview",
      apiVersion: `apiextensions.k8s.io/${version}`,
      request: { uid, desiredAPIVersion: apiVersion, objects: wanted as readonly JsonObject[] as JsonValue[] },
      response: { uid: "", convertedObjects: null, result: { metadata: {} } },
    };
    const converted = await client
      .post(clientConfig, review, timeoutSeconds)
      .then(
        (answer) => convertedObjects(answer, uid, version),
        (error: unknown) => error,
      )
      .catch((error: unknown) => error);
    if (!Array.isArray(converted)) throw plainFailure(`conversion webhook for ${type} failed: ${textOf(converted)}`);
    if (converted.length !== wanted.length)
      throw plainFailure(`conversion webhook for ${type} returned ${converted.length} objects, expected ${wanted.length}`);
    const rest = (converted as readonly JsonValue[]).values();
    return objects.map((object) => (object.apiVersion === apiVersion ? object : checked(object, rest.next().value, apiVersion)));
  };
}

/** The real server's client has the timeout here, and not its context. */
function textOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/context deadline exceeded$/, "net/http: request canceled (Client.Timeout exceeded while awaiting headers)");
}

function convertedObjects(answer: JsonValue, uid: string, version: string): readonly JsonValue[] {
  const { response, kind, apiVersion } = decodeReview(conversionReviewKind, version, answer);
  const type = `${apiVersion === "" ? "/" : apiVersion}, Kind=${kind}`;
  const wanted = `apiextensions.k8s.io/${version}, Kind=ConversionReview`;
  if (version === "v1" && type !== wanted) throw new GoError(`expected webhook response of ${wanted}, got ${type}`);
  if (response === undefined) throw new GoError("no response provided");
  const given = String(response["uid"] ?? "");
  if (version === "v1" && given !== uid) throw new GoError(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(given)}`);
  const { status = "", message = "" } = (response["result"] ?? {}) as { readonly status?: string; readonly message?: string };
  if (status !== "Success") throw new GoError(message === "" ? `response.result.status was '${status}', not 'Success'` : message);
  return (response["convertedObjects"] ?? []) as readonly JsonValue[];
}

/** Checks a converted object, and restores its metadata except labels and annotations. */
function checked(original: Readonly<ApiObject>, converted: JsonValue | undefined, apiVersion: string): ApiObject {
  const subject = `conversion webhook for ${original.apiVersion}, Kind=${original.kind} returned invalid`;
  if (!isJsonObject<JsonValue>(converted)) throw plainFailure(undecodable(converted));
  if (!hasKind(converted)) throw plainFailure(missingKind(goJson(converted)));
  const { kind, apiVersion: given, metadata } = converted;
  if (given !== apiVersion)
    throw plainFailure(`${subject} object at index 0: invalid groupVersion (expected ${apiVersion}, received ${String(given ?? "")})`);
  if (kind !== original.kind)
    throw plainFailure(`${subject} object at index 0: invalid kind (expected ${original.kind}, received ${String(kind)})`);
  const problem = identityProblem(original, isJsonObject(metadata) ? metadata : {});
  if (problem !== undefined) throw plainFailure(`${subject} object: ${problem}`);
  if (!isJsonObject(metadata)) throw plainFailure(`${subject} metadata: missing metadata in converted object`);
  return { ...converted, metadata: restored(original, metadata, subject) } as unknown as ApiObject;
}

/** Words of Go's decoder for something that is no object. */
function undecodable(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return "unexpected end of JSON input";
  return `json: cannot unmarshal ${goJsonType(value)} into Go value of type map[string]interface {}`;
}

function identityProblem({ metadata }: Readonly<ApiObject>, given: JsonObject): string | undefined {
  for (const [field, text] of [
    ["name", "name"],
    ["namespace", "namespace"],
    ["uid", "UID"],
  ] as const) {
    const before = metadata[field] ?? "";
    const after = given[field] ?? "";
    if (before !== after) return `must have the same ${text}: ${before} != ${String(after)}`;
  }
  return undefined;
}

const errorsOf = {
  labels: (values: Record<string, string>): FieldError[] => labelsErrors(values, "metadata.labels"),
  annotations: (values: Record<string, string>): FieldError[] => annotationsErrors(values, "metadata.annotation"),
};

function restored({ metadata }: Readonly<ApiObject>, given: JsonObject, subject: string): ApiObject["metadata"] {
  const { labels: _labels, annotations: _annotations, ...kept } = metadata;
  const result: ApiObject["metadata"] = { ...kept };
  for (const field of ["labels", "annotations"] as const) {
    const values = given[field];
    if (values === undefined || values === null) continue;
    if (!isJsonObject<JsonValue>(values))
      throw plainFailure(`${subject} metadata: invalid metadata.${field} of type ${goTypeOf(values)} in converted object`);
    for (const [key, value] of Object.entries(values))
      if (typeof value !== "string")
        throw plainFailure(
          `${subject} metadata: metadata.${field}[${key}] must be a string, but is ${goTypeOf(value)} in converted object`,
        );
    const texts = values as Record<string, string>;
    const errors = equalJson(texts, metadata[field]) ? [] : errorsOf[field](texts);
    if (errors.length > 0)
      throw plainFailure(`${subject} metadata: ${aggregateProblems(errors.map(({ field: path, message }) => `${path}: ${message}`))}`);
    result[field] = texts;
  }
  return result;
}
