import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { JsonSchema } from "../custom-resources/crd-fields.ts";
import type { JsonValue } from "../json/json-value.ts";
import { compileRules } from "./rule-compilation.ts";
import { createRuleValidator } from "./rule-validator.ts";
import { schemaType } from "./schema-types.ts";

interface Group {
  readonly name: string;
  readonly isResource: boolean;
  readonly schema: JsonSchema;
  readonly object: JsonValue;
  readonly old?: JsonValue;
  readonly budget?: number;
  readonly cases: readonly {
    readonly rule: string;
    readonly cost: number;
    readonly estimate: number;
    readonly errors?: readonly string[];
  }[];
}

/**
 * Rules of k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/schema/cel/validation_test.go (Apache-2.0, The Kubernetes Authors), with the
 * errors, the cost and the greatest cost that the code beside it computes for them.
 */
const groups = JSON.parse(readFileSync(new URL("fixtures/rule-cases.json", import.meta.url), "utf8")) as readonly Group[];

test.each(groups)(
  "rules about $name have the errors and costs of the real server",
  ({ isResource, schema, object, old, budget, cases }) => {
    const results = cases.map(({ rule }) => {
      const ruled: JsonSchema = { ...schema, "x-kubernetes-validations": [{ rule }] };
      const type = schemaType(ruled, isResource, "selfType0");
      const [compiled] = type === undefined ? [] : compileRules([{ rule }], ruled, type);
      let cost = 0;
      const errors = createRuleValidator(ruled, isResource)
        ?.validate(object, { old, path: "root", ...(budget === undefined ? {} : { budget }), onCost: (sum) => (cost = sum) })
        .map(({ field, message }) => `${field}: ${message}`);
      return { rule, cost, estimate: compiled?.maxCost ?? 0, ...(errors === undefined || errors.length === 0 ? {} : { errors }) };
    });
    expect(results).toEqual(cases);
  },
);
