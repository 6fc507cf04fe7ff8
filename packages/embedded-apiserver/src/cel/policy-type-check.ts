import type { PolicySpec } from "../admission/policies/policy-fields.ts";
import type { JsonSchema } from "../custom-resources/crd-fields.ts";
import { checkAdmissionExpression, type AdmissionVariables } from "./admission-expressions.ts";
import { variableType } from "./policy-run.ts";
import { fieldTypes, schemaType, type SchemaType } from "./schema-types.ts";
import { dynType, type CelType } from "./types.ts";

/** A kind against whose type the expressions of a policy are checked. */
export interface TypedKind {
  /** Such as `apps/v1, Kind=Deployment`. */
  readonly title: string;
  /** Unique name of its type, which is shown in warnings. */
  readonly typeName: string;
  /** Schema without references. */
  readonly schema: JsonSchema;
}

/** A warning in the status of a ValidatingAdmissionPolicy. */
export interface ExpressionWarning {
  /** Such as `spec.validations[0].expression`. */
  readonly fieldRef: string;
  readonly warning: string;
}

/**
 * Warnings about validations, and their messages, that do not fit the types of a policy's resources.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/policy/validating/typechecking.go.
 *
 * @param kinds - kinds of `object` and `oldObject`, each of which is checked
 * @param params - kind of `params`; `undefined` if it is unknown, so that all fields are permitted
 */
export function policyTypeWarnings(spec: PolicySpec, kinds: readonly TypedKind[], params: TypedKind | undefined): ExpressionWarning[] {
  const paramsType = params === undefined ? undefined : typeOf(params);
  const checks = kinds.map((kind) => ({ kind, variables: typedVariables(spec, typeOf(kind), paramsType) }));
  const warnings = (fieldRef: string, expression: string): ExpressionWarning[] => {
    const problems = checks.flatMap(({ kind, variables }) => {
      const { issues } = checkAdmissionExpression(expression, variables);
      return issues === undefined ? [] : [`${kind.title}: ${issues}\n`];
    });
    return problems.length === 0 ? [] : [{ fieldRef, warning: problems.join("\n") }];
  };
  return (spec.validations ?? []).flatMap(({ expression, messageExpression = "" }, index) => [
    ...warnings(`spec.validations[${index}].expression`, expression),
    ...(messageExpression === "" ? [] : warnings(`spec.validations[${index}].messageExpression`, messageExpression)),
  ]);
}

function typeOf({ schema, typeName }: TypedKind): SchemaType | undefined {
  return schemaType(schema, true, typeName);
}

/** What the validations of a policy can refer to if its objects have a type. */
function typedVariables(
  { paramKind, variables = [] }: PolicySpec,
  objectType: SchemaType | undefined,
  paramsType: SchemaType | undefined,
): AdmissionVariables {
  const composed = new Map<string, CelType>();
  const known: AdmissionVariables = {
    params: paramKind !== undefined,
    authorizer: true,
    // The real server does not declare it here, and so warns of each use.
    requestResource: false,
    composed,
    ...(objectType === undefined ? {} : { objectType: objectType.celType }),
    ...(paramsType === undefined ? {} : { paramsType: paramsType.celType }),
    fieldType: fieldTypes([objectType, paramsType].filter((type) => type !== undefined)),
  };
  for (const { name, expression } of variables)
    composed.set(name, variableType(checkAdmissionExpression(expression, known).outputType ?? dynType));
  return known;
}
