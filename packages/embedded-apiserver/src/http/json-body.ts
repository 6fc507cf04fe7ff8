import { badRequest } from "../errors/api-status-error.ts";
import { InexactIntegerError, parseExactJson, withExactNumbers } from "../json/exact-json.ts";
import { goJsonError } from "../json/go-json-error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { withSortedKeys } from "../json/key-order.ts";
import { parseYaml } from "../json/yaml.ts";
import type { Kind } from "../kinds/kind.ts";
import { decodeProtobuf, isProtobuf } from "../kinds/schema/protobuf.ts";
import { type ErrorPlace, ProtobufError, protobufMagic } from "../kinds/schema/protobuf-wire.ts";
import { checkCustomVersion, hasKind, missingKind } from "../rest/custom-type.ts";
import { typeMetaProblem, unhandled } from "../rest/type-mismatch.ts";
import type { ApiRequest } from "./api-request.ts";
import { bodyEncoding } from "./negotiation.ts";

const decoder = new TextDecoder("utf-8", { ignoreBOM: false });

/**
 * Parses a request's body: JSON, YAML, or Kubernetes protobuf, which is also recognized by its first bytes. `null` is an empty object.
 *
 * @param expected - type for the error message, such as `Pod`
 * @throws ApiStatusError 415 for another content type, 400 if the body is no object
 */
export function parseBody({ headers, body }: Pick<ApiRequest, "headers" | "body">, expected: string): JsonObject {
  const encoding = bodyEncoding(headers["content-type"]);
  if (encoding === "protobuf" || isProtobuf(body)) return parseProtobuf(body, expected);
  const value = encoding === "yaml" ? parseYamlText(body, expected) : parseText(body, expected);
  const problem = typeMetaProblem(value);
  if (problem !== undefined) throw unrecognized({ expected, body }, problem);
  return isJsonObject<JsonValue>(value) ? value : {};
}

/**
 * Parses the body of a custom resource, which must name its type.
 *
 * @throws ApiStatusError 400 or 415
 */
export function parseCustomBody(request: Pick<ApiRequest, "headers" | "body">, kind: Pick<Kind, "group" | "version" | "kind">): JsonObject {
  const object = parseBody(request, kind.kind);
  const { body } = request;
  if (!hasKind(object)) throw unrecognized({ expected: kind.kind, body }, missingKind(decoder.decode(body)));
  checkCustomVersion(kind, object);
  return object;
}

function parseText(body: Uint8Array, expected: string): JsonValue {
  const text = decoder.decode(body);
  try {
    return parseExactJson(text);
  } catch (error) {
    throw unrecognized({ expected, body }, `couldn't get version/kind; json parse error: ${goJsonError(text) ?? messageOf(error)}`);
  }
}

function parseYamlText(body: Uint8Array, expected: string): JsonValue {
  try {
    // The real server turns YAML into JSON with sorted keys, and decodes that.
    return withSortedKeys(withExactNumbers(parseYaml(decoder.decode(body)).value)) as JsonValue;
  } catch (error) {
    throw unrecognized({ expected, body }, `yaml: ${messageOf(error)}`);
  }
}

function parseProtobuf(body: Uint8Array, expected: string): JsonObject {
  if (!isProtobuf(body)) {
    const prefix = [...protobufMagic].join(" ");
    throw unrecognized({ expected, body }, `provided data does not appear to be a protobuf message, expected prefix [${prefix}]`);
  }
  try {
    return decodeProtobuf(body) as JsonObject;
  } catch (error) {
    if (error instanceof InexactIntegerError) throw badRequest(error.message);
    const place = error instanceof ProtobufError ? error.place : undefined;
    if (place !== undefined) throw badRequest(unhandled(expected, versionOf(place), messageOf(error)));
    throw unrecognized({ expected, body }, messageOf(error));
  }
}

function versionOf({ kind, apiVersion }: ErrorPlace): { readonly kind: string; readonly version: string } {
  return { kind, version: apiVersion.slice(apiVersion.indexOf("/") + 1) };
}

/** Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/rest.go, `transformDecodeError`, and delete.go, which does not use it. */
function unrecognized({ expected, body }: { readonly expected: string; readonly body: Uint8Array }, problem: string): Error {
  if (expected === "DeleteOptions") return badRequest(problem);
  return badRequest(`the object provided is unrecognized (must be of type ${expected}): ${problem} (${summaryOf(body)})`);
}

const summaryBytes = 30;

/** Beginning of a body: as text if it may be JSON, otherwise in hexadecimal. Source: the same file, `summarizeData`. */
function summaryOf(body: Uint8Array): string {
  if (body.length === 0) return "<empty>";
  const start = Buffer.from(body.subarray(0, summaryBytes));
  return `${start.toString(body[0] === openingBrace ? "utf8" : "hex")}${body.length > summaryBytes ? " ..." : ""}`;
}

const openingBrace = "{".charCodeAt(0);

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
