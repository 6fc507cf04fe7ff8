import type { LabelSelector } from "@virtual-kubelet/kubernetes";
import { areExpressionsLoaded, expressions } from "../../cel/engine.ts";
import { groupVersionProblem } from "../api-version.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import { duplicate, forbiddenField, invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { each, labelNameErrors, labelSelectorErrors } from "../validation/labels.ts";
import { dns1035LabelProblems, dnsSubdomainProblems, kindProblems, pathSegmentProblems } from "../validation/names.ts";
import { matchConditionErrors, type MatchCondition, type MatchResources, matchResourcesErrors } from "./validate-matching.ts";
import { oneOf } from "./validate-webhooks.ts";

/** Admission policies and their bindings. Source: Kubernetes v1.36.3 pkg/apis/admissionregistration/validation/validation.go. */

interface PolicySpec {
  readonly failurePolicy?: string;
  readonly paramKind?: { readonly apiVersion?: string; readonly kind?: string };
  readonly matchConstraints?: MatchResources;
  readonly matchConditions?: readonly MatchCondition[];
  readonly variables?: readonly { readonly name: string; readonly expression: string }[];
  readonly validations?: readonly Validation[];
  readonly auditAnnotations?: readonly { readonly key: string; readonly valueExpression: string }[];
  readonly mutations?: readonly Mutation[];
  readonly reinvocationPolicy?: string;
}

interface Validation {
  readonly expression?: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
}

interface Mutation {
  readonly patchType?: string;
  readonly applyConfiguration?: { readonly expression?: string };
  readonly jsonPatch?: { readonly expression?: string };
}

interface BindingSpec {
  readonly policyName?: string;
  readonly paramRef?: ParamRef;
  readonly matchResources?: MatchResources;
  readonly validationActions?: readonly string[];
}

interface ParamRef {
  readonly name?: string;
  readonly selector?: LabelSelector;
  readonly parameterNotFoundAction?: string;
}

const limits = { auditAnnotations: 20, valueExpressionBytes: 5 * 1024 };
const mutatingOperations = ["*", "CONNECT", "CREATE", "UPDATE"];
const reservedWords: ReadonlySet<string> = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(" "),
);

export function policyErrors(policy: ApiObject, old: ApiObject | undefined): FieldError[] {
  const { spec } = policy;
  if (old !== undefined && old["spec"] === spec) return [];
  return [...writtenErrors(policy), ...(areExpressionsLoaded() ? expressions().policyExpressionErrors(spec) : [])];
}

function writtenErrors(policy: ApiObject): FieldError[] {
  const spec: PolicySpec = policy["spec"];
  const isMutating = policy.kind.startsWith("Mutating");
  const { matchConstraints, paramKind, variables = [] } = spec;
  return [
    ...oneOf(spec.failurePolicy, "spec.failurePolicy", ["Fail", "Ignore"]),
    ...(paramKind === undefined ? [] : paramKindErrors(paramKind, "spec.paramKind")),
    ...(matchConstraints === undefined
      ? [required("spec.matchConstraints")]
      : matchResourcesErrors(matchConstraints, "spec.matchConstraints")),
    ...(matchConstraints !== undefined && (matchConstraints.resourceRules ?? []).length === 0
      ? [required("spec.matchConstraints.resourceRules")]
      : []),
    ...(isMutating ? mutatingRuleErrors(matchConstraints, "spec.matchConstraints") : []),
    ...matchConditionErrors(spec.matchConditions ?? [], "spec.matchConditions"),
    ...variables.flatMap(({ name, expression }, index) => variableErrors(name, expression, `spec.variables[${index}]`)),
    ...(isMutating ? mutationsErrors(spec) : validationsErrors(spec, policy.metadata.name)),
  ];
}

function mutatingRuleErrors(resources: MatchResources | undefined, field: string): FieldError[] {
  return (resources?.resourceRules ?? [])
    .flatMap(({ operations = [] }) => operations)
    .filter((operation) => !mutatingOperations.includes(operation))
    .map((operation) => notSupported(`${field}.resourceRules.operations`, operation, mutatingOperations));
}

function paramKindErrors({ apiVersion = "", kind = "" }: NonNullable<PolicySpec["paramKind"]>, field: string): FieldError[] {
  return [
    ...versionErrors(apiVersion, `${field}.apiVersion`),
    ...(kind === "" ? [required(`${field}.kind`)] : each(`${field}.kind`, kind, kindProblems(kind))),
  ];
}

function versionErrors(apiVersion: string, field: string): FieldError[] {
  if (apiVersion === "") return [required(field)];
  const problem = groupVersionProblem(apiVersion);
  if (problem !== undefined) return [invalidValue(field, apiVersion, problem)];
  const parts = apiVersion.split("/");
  const [group = "", version = ""] = parts.length === 1 ? ["", apiVersion] : parts;
  const groupProblems = group === "" ? [] : dnsSubdomainProblems(group);
  const versionProblems = version === "" ? [] : dns1035LabelProblems(version);
  return [
    ...(groupProblems.length === 0 ? [] : [invalidValue(field, group, groupProblems.join(","))]),
    ...(version === "" ? [invalidValue(field, apiVersion, "version must be specified")] : []),
    ...(versionProblems.length === 0 ? [] : [invalidValue(field, version, versionProblems.join(","))]),
  ];
}

function variableErrors(name: string, expression: string, field: string): FieldError[] {
  const isIdentifier = /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !reservedWords.has(name);
  return [
    ...(name.trim() === "" ? [required(`${field}.name`, "name is not specified")] : []),
    ...(name.trim() === "" || isIdentifier ? [] : [invalidValue(`${field}.name`, name, "must be a valid CEL identifier")]),
    ...(expression.trim() === "" ? [required(`${field}.expression`, "expression is not specified")] : []),
  ];
}

const neither = "validations or auditAnnotations must contain at least one item";

function validationsErrors({ validations = [], auditAnnotations = [] }: PolicySpec, name: string): FieldError[] {
  if (validations.length === 0 && auditAnnotations.length === 0)
    return [required("spec.validations", neither), required("spec.auditAnnotations", neither)];
  const keys = auditAnnotations.map(({ key }) => key);
  return [
    ...validations.flatMap((validation, index) => validationErrors(validation, `spec.validations[${index}]`)),
    ...(auditAnnotations.length > limits.auditAnnotations
      ? [invalidValue("spec.auditAnnotations", auditAnnotations, `must not have more than ${limits.auditAnnotations} auditAnnotations`)]
      : []),
    ...auditAnnotations.flatMap(({ key, valueExpression }, index) => {
      const field = `spec.auditAnnotations[${index}]`;
      return [
        ...labelNameErrors(`${name}/${key}`, `${field}.key`),
        ...valueExpressionErrors(valueExpression, `${field}.valueExpression`),
        ...(keys.indexOf(key) < index ? [duplicate(`${field}.key`, key)] : []),
      ];
    }),
  ];
}

function valueExpressionErrors(expression: string, field: string): FieldError[] {
  const { length } = expression.trim();
  if (length === 0) return [required(field, "valueExpression is not specified")];
  return length > limits.valueExpressionBytes ? [required(field, `must not exceed ${limits.valueExpressionBytes} bytes in length`)] : [];
}

function validationErrors({ expression = "", message = "", messageExpression = "", reason }: Validation, field: string): FieldError[] {
  const isBlank = (text: string): boolean => text !== "" && text.trim() === "";
  const blank = "must be non-empty if specified";
  return [
    ...(expression.trim() === "" ? [required(`${field}.expression`, "expression is not specified")] : []),
    ...(isBlank(messageExpression) ? [invalidValue(`${field}.messageExpression`, messageExpression, blank)] : []),
    ...(isBlank(message) ? [invalidValue(`${field}.message`, message, blank)] : []),
    ...(/[\n\r]/.test(message.trim()) ? [invalidValue(`${field}.message`, message, "must not contain line breaks")] : []),
    ...oneOf(reason, `${field}.reason`, ["Forbidden", "Invalid", "RequestEntityTooLarge"]),
  ];
}

function mutationsErrors({ mutations = [], reinvocationPolicy = "" }: PolicySpec): FieldError[] {
  return [
    ...(mutations.length === 0 ? [required("spec.mutations", "mutations must contain at least one item")] : []),
    ...mutations.flatMap((mutation, index) => mutationErrors(mutation, `spec.mutations[${index}]`)),
    ...(reinvocationPolicy === ""
      ? [required("spec.reinvocationPolicy")]
      : oneOf(reinvocationPolicy, "spec.reinvocationPolicy", ["IfNeeded", "Never"])),
  ];
}

const patches = [
  { type: "JSONPatch", name: "jsonPatch", other: "applyConfiguration" },
  { type: "ApplyConfiguration", name: "applyConfiguration", other: "jsonPatch" },
] as const;

function mutationErrors(mutation: Mutation, field: string): FieldError[] {
  const { patchType = "" } = mutation;
  if (patchType === "") return [required(`${field}.patchType`)];
  const patch = patches.find(({ type }) => type === patchType);
  if (patch === undefined) return [notSupported(`${field}.patchType`, patchType, ["ApplyConfiguration", "JSONPatch"])];
  const own = mutation[patch.name];
  return [
    ...(own === undefined ? [required(`${field}.${patch.name}`, `must be specified when patchType is ${patchType}`)] : []),
    ...(own !== undefined && (own.expression ?? "").trim() === "" ? [required(`${field}.${patch.name}.expression`)] : []),
    ...(mutation[patch.other] === undefined
      ? []
      : [invalidValue(`${field}.${patch.other}`, `{${patch.other}}`, `must not be specified when patchType is ${patchType}`)]),
  ];
}

export function policyBindingErrors(binding: ApiObject): FieldError[] {
  const { policyName = "", paramRef, matchResources, validationActions }: BindingSpec = binding["spec"];
  const isMutating = binding.kind.startsWith("Mutating");
  return [
    ...(policyName === "" ? [required("spec.policyName")] : each("spec.policyName", policyName, dnsSubdomainProblems(policyName))),
    ...(paramRef === undefined ? [] : paramRefErrors(paramRef, "spec.paramRef")),
    ...matchResourcesErrors(matchResources, "spec.matchResources"),
    ...(isMutating
      ? mutatingRuleErrors(matchResources, "spec.matchResources")
      : actionErrors(validationActions ?? [], "spec.validationActions")),
  ];
}

function paramRefErrors({ name = "", selector, parameterNotFoundAction: action = "" }: ParamRef, field: string): FieldError[] {
  const isBoth = name !== "" && selector !== undefined;
  const exclusive = "name and selector are mutually exclusive";
  return [
    ...each(`${field}.name`, name, pathSegmentProblems(name)),
    ...(isBoth ? [forbiddenField(`${field}.name`, exclusive)] : []),
    ...labelSelectorErrors(selector, `${field}.selector`),
    ...(isBoth ? [forbiddenField(`${field}.selector`, exclusive)] : []),
    ...(name === "" && selector === undefined ? [required(field, "one of name or selector must be specified")] : []),
    ...(action === ""
      ? [required(`${field}.parameterNotFoundAction`)]
      : oneOf(action, `${field}.parameterNotFoundAction`, ["Deny", "Allow"])),
  ];
}

function actionErrors(actions: readonly string[], field: string): FieldError[] {
  const both =
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
  return [
    ...actions.flatMap((action, index) => [
      ...oneOf(action, `${field}[${index}]`, ["Audit", "Deny", "Warn"]),
      ...(actions.indexOf(action) < index ? [duplicate(`${field}[${index}]`, action)] : []),
    ]),
    ...(actions.includes("Deny") && actions.includes("Warn") ? [invalidValue(field, actions, both)] : []),
    ...(actions.length === 0 ? [required(field, "at least one validation action is required")] : []),
  ];
}
