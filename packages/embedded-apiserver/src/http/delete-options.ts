import { badRequest, invalid } from "../errors/api-status-error.ts";
import { InexactIntegerError } from "../json/exact-json.ts";
import { goJsonTypeWithDigits } from "../json/go-json.ts";
import { isJsonObject, type JsonObject } from "../json/json-value.ts";
import type { FieldError } from "../kinds/kind.ts";
import type { DeleteOptions } from "../rest/delete.ts";
import { notRegistered } from "../rest/type-mismatch.ts";
import type { ApiRequest } from "./api-request.ts";
import { parseBody } from "./json-body.ts";
import { integerOf } from "./query-options.ts";

/** Options of a deletion. `orphanDependents: false` also makes the response 202 if the object is not gone yet. */
export interface ParsedDeleteOptions extends DeleteOptions {
  readonly acceptedIfPending: boolean;
}

/**
 * Reads `DeleteOptions` from the body, or from the query if there is no body.
 *
 * @throws ApiStatusError 400, 415 or 422
 */
export function parseDeleteOptions(request: ApiRequest, query: URLSearchParams): ParsedDeleteOptions {
  return toDeleteOptions(request.body.length > 0 ? bodyOptions(request) : queryOptions(query));
}

function bodyOptions(request: ApiRequest): JsonObject {
  const body = parseBody(request, "DeleteOptions");
  const { kind, apiVersion } = body;
  if (typeof kind === "string" && kind !== "" && kind !== "DeleteOptions")
    throw badRequest(notRegistered(kind, textOf(apiVersion) ?? "meta.k8s.io/v1"));
  return body;
}

function queryOptions(query: URLSearchParams): JsonObject {
  const options: JsonObject = {};
  const gracePeriodSeconds = integerOf(query, "gracePeriodSeconds");
  if (gracePeriodSeconds !== undefined) options["gracePeriodSeconds"] = gracePeriodSeconds;
  const policy = query.get("propagationPolicy");
  if (policy !== null) options["propagationPolicy"] = policy;
  const orphan = query.get("orphanDependents");
  if (orphan !== null) options["orphanDependents"] = orphan !== "0" && orphan !== "false";
  const dryRun = query.getAll("dryRun");
  if (dryRun.length > 0) options["dryRun"] = dryRun;
  return options;
}

function toDeleteOptions(options: JsonObject): ParsedDeleteOptions {
  const { gracePeriodSeconds, orphanDependents, propagationPolicy, dryRun } = options;
  const preconditions = isJsonObject(options["preconditions"]) ? options["preconditions"] : {};
  if (typeof gracePeriodSeconds === "bigint")
    throw badRequest(new InexactIntegerError("gracePeriodSeconds", String(gracePeriodSeconds)).message);
  if (gracePeriodSeconds !== undefined && gracePeriodSeconds !== null && !Number.isInteger(gracePeriodSeconds)) {
    throw badRequest(
      `json: cannot unmarshal ${goJsonTypeWithDigits(gracePeriodSeconds)} into Go struct field DeleteOptions.gracePeriodSeconds of type int64`,
    );
  }
  checkOptions(options);
  const policy = typeof orphanDependents === "boolean" ? (orphanDependents ? "Orphan" : "Background") : propagationPolicy;
  return {
    gracePeriodSeconds: typeof gracePeriodSeconds === "number" ? gracePeriodSeconds : undefined,
    uid: textOf(preconditions["uid"]),
    resourceVersion: textOf(preconditions["resourceVersion"]),
    propagationPolicy: (typeof policy === "string" ? policy : undefined) as DeleteOptions["propagationPolicy"],
    dryRun: Array.isArray(dryRun) && dryRun.length > 0,
    acceptedIfPending: orphanDependents === false,
    requestOptions: () => {
      const { kind: _kind, apiVersion: _version, ...sent } = options;
      return sent;
    },
  };
}

/** Source: k8s.io/apimachinery v0.36.3 pkg/apis/meta/v1/validation/validation.go, `ValidateDeleteOptions`. */
function checkOptions({ orphanDependents, propagationPolicy, dryRun }: JsonObject): void {
  const errors: FieldError[] = [];
  if (typeof orphanDependents === "boolean" && typeof propagationPolicy === "string") {
    const message = `Invalid value: ${JSON.stringify(propagationPolicy)}: orphanDependents and deletionPropagation cannot be both set`;
    errors.push({ field: "propagationPolicy", reason: "FieldValueInvalid", message });
  }
  if (Array.isArray(dryRun) && dryRun.some((value) => value !== "All")) {
    errors.push({
      field: "dryRun",
      reason: "FieldValueNotSupported",
      message: `Unsupported value: ${JSON.stringify(dryRun)}: supported values: "All"`,
    });
  }
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", errors);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
