import { badRequest } from "../api-status-error.ts";
import type { JsonValue } from "../json-value.ts";
import { decodeProtobuf, isProtobuf } from "../kinds/schema/protobuf.ts";

const decoder = new TextDecoder("utf-8", { ignoreBOM: false });

/**
 * Reads a request's body: JSON, or Kubernetes' protobuf, which is known by its first bytes.
 *
 * @param expected - names what it should be in the error, such as `Pod`
 * @throws ApiStatusError 400 if it is neither
 */
export function parseJsonBody(body: Uint8Array, expected: string): JsonValue {
  if (isProtobuf(body)) return parseProtobuf(body, expected);
  const text = decoder.decode(body);
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw badRequest(
      `the object provided is unrecognized (must be of type ${expected}): couldn't get version/kind; json parse error: ${problem}`,
    );
  }
}

function parseProtobuf(body: Uint8Array, expected: string): JsonValue {
  try {
    return decodeProtobuf(body) as JsonValue;
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw badRequest(`the object provided is unrecognized (must be of type ${expected}): cannot read it as protobuf: ${problem}`);
  }
}
