import { badRequest, invalid } from "../errors/api-status-error.ts";
import type { FieldError } from "../kinds/kind.ts";
import { goQuoted } from "../json/go-quote.ts";
import { tooLong } from "../kinds/validation/field-errors.ts";
import { fieldManagerLimitBytes } from "./field-manager-name.ts";
import type { FieldValidation } from "../rest/rest-context.ts";
import { type FieldTerm, parseFieldSelector } from "../selectors/field-selector.ts";
import { type LabelMatcher, parseLabelSelector } from "../selectors/label-selector.ts";

/** Options of a list or watch. */
export interface ListOptions {
  readonly watch: boolean;
  /** `undefined`: all labels. */
  readonly labels: LabelMatcher | undefined;
  readonly fields: readonly FieldTerm[];
  /** As sent; `""` if absent. */
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  /** 0: no limit. */
  readonly limit: number;
  readonly continueToken: string;
  readonly sendInitialEvents: boolean | undefined;
  readonly allowWatchBookmarks: boolean;
  readonly timeoutSeconds: number | undefined;
}

/**
 * Parses the options of a list or watch.
 *
 * @throws ApiStatusError 400 for an invalid selector or a value of the wrong type, 422 for contradictory options
 */
export function parseListOptions(query: URLSearchParams): ListOptions {
  const options: ListOptions = {
    watch: booleanOf(query, "watch") ?? false,
    resourceVersion: query.get("resourceVersion") ?? "",
    resourceVersionMatch: query.get("resourceVersionMatch") ?? "",
    limit: integerOf(query, "limit") ?? 0,
    continueToken: query.get("continue") ?? "",
    sendInitialEvents: booleanOf(query, "sendInitialEvents"),
    allowWatchBookmarks: booleanOf(query, "allowWatchBookmarks") ?? false,
    timeoutSeconds: integerOf(query, "timeoutSeconds"),
    // Last, because the real server converts them after it has decoded all numbers.
    labels: parseLabelSelector(query.get("labelSelector") ?? ""),
    fields: parseFieldSelector(query.get("fieldSelector") ?? ""),
  };
  const errors = options.watch ? watchErrors(options) : listErrors(options);
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", errors);
  return options;
}

/** Source: k8s.io/apimachinery v0.36.3 pkg/apis/meta/internalversion/validation/validation.go. */
function listErrors({ resourceVersion, resourceVersionMatch: match, continueToken, sendInitialEvents }: ListOptions): FieldError[] {
  const errors: FieldError[] = [];
  if (match !== "") {
    if (resourceVersion === "") errors.push(matchForbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"));
    if (continueToken !== "") errors.push(matchForbidden("resourceVersionMatch is forbidden when continue is provided"));
    if (match !== "Exact" && match !== "NotOlderThan") errors.push(matchNotSupported(match, '"Exact", "NotOlderThan", ""'));
    if (match === "Exact" && resourceVersion === "0")
      errors.push(matchForbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
  }
  if (sendInitialEvents !== undefined) errors.push(forbiddenField("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  return errors;
}

/** Source: the same file, and pkg/apis/meta/internalversion/defaults.go, `SetListOptionsDefaults`. */
function watchErrors({ resourceVersion, resourceVersionMatch: match, continueToken, sendInitialEvents }: ListOptions): FieldError[] {
  const errors: FieldError[] = [];
  // A watch without a version gets initial events and a match, which are validated, too.
  const isMatchSet = match === "" && sendInitialEvents === undefined && (resourceVersion === "" || resourceVersion === "0");
  if (isMatchSet && continueToken !== "") errors.push(matchForbidden("resourceVersionMatch is forbidden when continue is provided"));
  if (sendInitialEvents !== undefined && match !== "NotOlderThan")
    errors.push(matchForbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  if (match !== "") {
    if (sendInitialEvents === undefined)
      errors.push(matchForbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
    if (match !== "NotOlderThan") errors.push(matchNotSupported(match, '"NotOlderThan"'));
    if (continueToken !== "") errors.push(matchForbidden("resourceVersionMatch is forbidden when continue is provided"));
  }
  return errors;
}

function matchForbidden(problem: string): FieldError {
  return forbiddenField("resourceVersionMatch", problem);
}

function matchNotSupported(value: string, supported: string): FieldError {
  return {
    field: "resourceVersionMatch",
    reason: "FieldValueNotSupported",
    message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}`,
  };
}

function forbiddenField(field: string, problem: string): FieldError {
  return { field, reason: "FieldValueForbidden", message: `Forbidden: ${problem}` };
}

/** Options of a write. */
export interface WriteQuery {
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
}

/**
 * Parses the options of a write.
 *
 * @param optionsKind - kind for the error message, such as `CreateOptions`
 * @throws ApiStatusError 422
 */
export function parseWriteQuery(query: URLSearchParams, optionsKind: string): WriteQuery {
  const errors: FieldError[] = fieldManagerErrors(query.get("fieldManager") ?? "");
  const dryRun = query.getAll("dryRun");
  const fieldValidation = query.get("fieldValidation") ?? "";
  for (const value of dryRun) {
    if (value !== "All")
      errors.push({
        field: "dryRun",
        reason: "FieldValueNotSupported",
        message: `Unsupported value: ${JSON.stringify(dryRun)}: supported values: "All"`,
      });
  }
  if (!["", "Ignore", "Warn", "Strict"].includes(fieldValidation)) {
    errors.push({
      field: "fieldValidation",
      reason: "FieldValueNotSupported",
      message: `Unsupported value: ${JSON.stringify(fieldValidation)}: supported values: "", "Ignore", "Strict", "Warn"`,
    });
  }
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: optionsKind }, "", errors);
  return { dryRun: dryRun.length > 0, fieldValidation: fieldValidation === "" ? "Warn" : (fieldValidation as FieldValidation) };
}

/** Source: k8s.io/apimachinery v0.36.3 pkg/apis/meta/v1/validation/validation.go, `ValidateFieldManager`. */
function fieldManagerErrors(name: string): FieldError[] {
  const errors = Buffer.byteLength(name) > fieldManagerLimitBytes ? [tooLong("fieldManager", fieldManagerLimitBytes)] : [];
  let position = 0;
  for (const character of name) {
    if (!/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character)) {
      const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
      const problem = `Invalid value: ${goQuoted(name)}: invalid character U+${code} (at position ${position})`;
      errors.push({ field: "fieldManager", reason: "FieldValueInvalid", message: problem });
    }
    position += Buffer.byteLength(character);
  }
  return errors;
}

/** Integer parameter of the query. @throws ApiStatusError 400 */
export function integerOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^[+-]?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  const whole = BigInt(text.replace("+", ""));
  if (BigInt.asIntN(64, whole) !== whole) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: value out of range`);
  return Number(whole);
}

/** Boolean parameter of the query. As in Kubernetes, everything but `0` and `false` is true, even an empty value. */
export function booleanOf(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  return text !== "0" && text.toLowerCase() !== "false";
}
