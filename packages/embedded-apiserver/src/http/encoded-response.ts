import { parseExactJson } from "../json/exact-json.ts";
import { encodeProtobuf, hasProtobuf, type JsonFields } from "../kinds/schema/protobuf-encode.ts";
import { writeYaml } from "../json/yaml-writer.ts";
import type { ApiResponse } from "./api-request.ts";
import { mediaTypes, type Encoding } from "./negotiation.ts";

/** Response with an object or list in protobuf. */
export function protobufBytes(status: number, body: Uint8Array): ApiResponse {
  return { status, headers: { "cache-control": "no-cache, private", "content-type": mediaTypes.protobuf }, body };
}

/** Converts a JSON response to another encoding. Documents without a protobuf form, such as tables, stay JSON. */
export function inEncoding(response: ApiResponse, encoding: Encoding): ApiResponse {
  if (encoding === "json" || !(response.body instanceof Uint8Array) || response.headers["content-type"] !== mediaTypes.json)
    return response;
  const value = parseExactJson(Buffer.from(response.body).toString()) as JsonFields;
  const body = encoding === "yaml" ? Buffer.from(writeYaml(value)) : toProtobuf(value);
  return body === undefined ? response : { ...response, headers: { ...response.headers, "content-type": mediaTypes[encoding] }, body };
}

function toProtobuf(value: JsonFields): Uint8Array | undefined {
  return hasProtobuf(String(value["apiVersion"] ?? ""), String(value["kind"])) ? encodeProtobuf(value) : undefined;
}
