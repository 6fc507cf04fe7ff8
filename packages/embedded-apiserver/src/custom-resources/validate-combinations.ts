import type { FieldError } from "../kinds/kind.ts";
import { invalidValue } from "../kinds/validation/field-errors.ts";
import type { JsonSchema } from "./crd-fields.ts";
import type { SchemaResult } from "./schema-result.ts";

/** Validates the same value against one of the schemas that are combined. */
type Check = (schema: JsonSchema) => SchemaResult;

/**
 * Validates a value against `anyOf`, `oneOf`, `allOf` and `not`. Where no alternative fits, the errors of that with the most matches follow.
 *
 * Source: k8s.io/kube-openapi pkg/validation/validate/schema_props.go. Its errors of the combinations name no field.
 *
 * @param path - such as `spec.replicas`
 */
export function checkCombinations(
  result: SchemaResult,
  { anyOf = [], oneOf = [], allOf = [], not }: JsonSchema,
  path: string,
  check: Check,
): void {
  const fail = (problem: string): void => result.add(combinationError(path, problem));
  if (anyOf.length > 0) checkAnyOf(result, anyOf, check, fail);
  if (oneOf.length > 0) checkOneOf(result, oneOf, check, fail);
  if (allOf.length > 0) checkAllOf(result, allOf, check, fail);
  if (not !== undefined && check(not).isValid) fail("must not validate the schema (not)");
}

function checkAnyOf(result: SchemaResult, schemas: readonly JsonSchema[], check: Check, fail: (problem: string) => void): void {
  const failed: SchemaResult[] = [];
  for (const schema of schemas) {
    const one = check(schema);
    if (one.isValid) {
      result.merge(one);
      return;
    }
    failed.push(one);
  }
  fail("must validate at least one schema (anyOf)");
  result.merge(withMostMatches(failed));
}

function checkOneOf(result: SchemaResult, schemas: readonly JsonSchema[], check: Check, fail: (problem: string) => void): void {
  const results = schemas.map(check);
  const [first, ...others] = results.filter(({ isValid }) => isValid);
  if (first === undefined) {
    fail("must validate one and only one schema (oneOf). Found none valid");
    result.merge(withMostMatches(results));
  } else if (others.length === 0) result.merge(first);
  else fail(`must validate one and only one schema (oneOf). Found ${1 + others.length} valid alternatives`);
}

function checkAllOf(result: SchemaResult, schemas: readonly JsonSchema[], check: Check, fail: (problem: string) => void): void {
  const results = schemas.map(check);
  for (const one of results) result.merge(one);
  if (results.every(({ isValid }) => isValid)) return;
  fail(`must validate all the schemas (allOf)${results.some(({ isValid }) => isValid) ? "" : ". None validated"}`);
}

/** The first of those with the most matches. */
function withMostMatches(results: readonly SchemaResult[]): SchemaResult {
  return results.reduce((best, one) => (one.matches > best.matches ? one : best));
}

function combinationError(path: string, problem: string): FieldError {
  return invalidValue("<nil>", "", `${JSON.stringify(path)} ${problem}`);
}
