import { posix } from "node:path";
import { badRequest } from "../errors/api-status-error.ts";
import { base64Problem } from "../json/go-base64.ts";
import { goJsonError } from "../json/go-json-error.ts";
import { goJsonType, goJsonTypeWithDigits } from "../json/go-json.ts";
import { isJsonObject, type JsonValue } from "../json/json-value.ts";

/** Content of a continue token. */
export interface Continuation {
  /** Version that all pages show; negative for the latest. */
  readonly rv: number;
  /** Namespace and name of the last object on the page. */
  readonly after: string;
}

const version = "meta.k8s.io/v1";

export function toContinueToken({ rv, after }: Continuation): string {
  return Buffer.from(JSON.stringify({ v: version, rv, start: after })).toString("base64url");
}

/**
 * Reads a token of {@link toContinueToken}.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/storage/continue.go, `DecodeContinue`.
 *
 * @throws ApiStatusError 400
 */
export function parseContinueToken(token: string): Continuation {
  const problem = base64Problem(token, "raw URL");
  if (problem !== undefined) throw invalidToken(problem);
  const { v, rv, start } = fieldsOf(Buffer.from(token, "base64url").toString());
  if (v !== version) throw invalidToken(`server does not recognize this encoded version ${v}`);
  if (rv === 0) throw invalidToken(`incorrect encoded start resourceVersion (version ${version})`);
  if (start === "") throw invalidToken(`encoded start key empty (version ${version})`);
  const key = start.startsWith("/") ? start : `/${start}`;
  if (posix.normalize(key) !== key || key.endsWith("/")) throw invalidToken(start);
  return { rv, after: start };
}

function fieldsOf(text: string): { readonly v: string; readonly rv: number; readonly start: string } {
  const syntaxProblem = goJsonError(text);
  if (syntaxProblem !== undefined) throw invalidToken(syntaxProblem);
  const value = (JSON.parse(text) as JsonValue) ?? {};
  const cannotRead = `json: cannot unmarshal`;
  if (!isJsonObject<JsonValue>(value)) throw invalidToken(`${cannotRead} ${goJsonType(value)} into Go value of type storage.continueToken`);
  const { v, rv, start } = value;
  for (const [field, given] of Object.entries({ v, start }))
    if (given !== undefined && given !== null && typeof given !== "string")
      throw invalidToken(`${cannotRead} ${goJsonType(given)} into Go struct field continueToken.${field} of type string`);
  if (rv !== undefined && rv !== null && !Number.isInteger(rv))
    throw invalidToken(`${cannotRead} ${goJsonTypeWithDigits(rv)} into Go struct field continueToken.rv of type int64`);
  return { v: String(v ?? ""), rv: Number(rv ?? 0), start: String(start ?? "") };
}

function invalidToken(problem: string): Error {
  return badRequest(`invalid continue token: continue key is not valid: ${problem}`);
}
