import { badRequest } from "../errors/api-status-error.ts";
import type { JsonValue } from "../json/json-value.ts";
import { duplicateFields } from "../kinds/schema/duplicate-fields.ts";
import { decodeProtobuf, isProtobuf } from "../kinds/schema/protobuf.ts";

const decoder = new TextDecoder("utf-8", { ignoreBOM: false });

/**
 * Parses a request's body: a JSON object, or Kubernetes protobuf, which is recognized by its first bytes.
 *
 * @param expected - type for the error message, such as `Pod`
 * @throws ApiStatusError 400 if it is neither
 */
export function parseJsonBody(body: Uint8Array, expected: string): JsonValue {
  if (isProtobuf(body)) return parseProtobuf(body, expected);
  const value = parseText(decoder.decode(body), expected);
  if (typeof value === "object" && !Array.isArray(value)) return value;
  const given = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  throw unrecognized(
    expected,
    `json: cannot unmarshal ${given} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
  );
}

/** Fields that occur twice in the body; empty for protobuf. */
export function duplicatesOf(body: Uint8Array): string[] {
  return isProtobuf(body) ? [] : duplicateFields(decoder.decode(body));
}

function parseText(text: string, expected: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw unrecognized(expected, error instanceof Error ? error.message : String(error));
  }
}

function unrecognized(expected: string, problem: string): Error {
  return badRequest(
    `the object provided is unrecognized (must be of type ${expected}): couldn't get version/kind; json parse error: ${problem}`,
  );
}

function parseProtobuf(body: Uint8Array, expected: string): JsonValue {
  try {
    return decodeProtobuf(body) as JsonValue;
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw badRequest(`the object provided is unrecognized (must be of type ${expected}): cannot read it as protobuf: ${problem}`);
  }
}
