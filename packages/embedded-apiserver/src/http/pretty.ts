import { jsonText, parseExactJson } from "../json/exact-json.ts";
import type { ApiRequest, ApiResponse } from "./api-request.ts";

/** Indents JSON for `?pretty=true` and for tools such as curl. */
export function pretty(request: ApiRequest, response: ApiResponse): ApiResponse {
  if (!(response.body instanceof Uint8Array) || response.headers["content-type"] !== "application/json") return response;
  const asked = request.url.includes("pretty") ? new URLSearchParams(request.url.split("?", 2)[1]).get("pretty") : null;
  const isPerson = /^(curl|Wget|Mozilla\/5\.0)/.test(request.headers["user-agent"] ?? "");
  const isAccepted = request.headers["accept"]?.includes("pretty=1") === true;
  if (!isAccepted && (asked === null ? !isPerson : asked === "0" || asked === "false")) return response;
  return indented(response);
}

/** Indents JSON. */
export function indented(response: ApiResponse): ApiResponse {
  if (!(response.body instanceof Uint8Array)) return response;
  return { ...response, body: Buffer.from(jsonText(parseExactJson(Buffer.from(response.body).toString()), 2)) };
}
