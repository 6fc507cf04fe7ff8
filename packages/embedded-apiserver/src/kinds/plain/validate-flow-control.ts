import type { ApiObject, FieldError } from "../kind.ts";
import { duplicate, forbiddenField, invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { each } from "../validation/labels.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../validation/names.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/flowcontrol/validation/validation.go. */

interface FlowSchemaSpec {
  readonly matchingPrecedence: number;
  readonly distinguisherMethod?: { readonly type: string };
  readonly priorityLevelConfiguration: { readonly name: string };
  readonly rules?: readonly FlowRule[];
}

interface FlowRule {
  readonly subjects?: readonly Subject[];
  readonly resourceRules?: readonly ResourceRule[];
  readonly nonResourceRules?: readonly { readonly verbs?: readonly string[]; readonly nonResourceURLs?: readonly string[] }[];
}

interface Subject {
  readonly kind: string;
  readonly user?: { readonly name: string };
  readonly group?: { readonly name: string };
  readonly serviceAccount?: { readonly name: string; readonly namespace?: string };
}

interface ResourceRule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly namespaces?: readonly string[];
  readonly clusterScope?: boolean;
}

interface PriorityLevelSpec {
  readonly type: string;
  readonly limited?: Limits & { readonly limitResponse?: { readonly type?: string; readonly queuing?: Queuing } };
  readonly exempt?: Limits;
}

interface Limits {
  readonly nominalConcurrencyShares?: number;
  readonly lendablePercent?: number;
  readonly borrowingLimitPercent?: number;
}

interface Queuing {
  readonly queues: number;
  readonly handSize: number;
  readonly queueLengthLimit: number;
}

const maxPrecedence = 10_000;
const maxQueues = 10_000_000;
const maxHashBits = 60;
const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

export function flowSchemaErrors(schema: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: FlowSchemaSpec = schema["spec"];
  if (old !== undefined && old["spec"] === spec) return conditionErrors(schema);
  const { matchingPrecedence: precedence, distinguisherMethod: method, rules = [] } = spec;
  const { name } = spec.priorityLevelConfiguration;
  const level = "spec.priorityLevelConfiguration.name";
  const path = "spec.matchingPrecedence";
  const methods = ["ByNamespace", "ByUser"];
  return [
    ...(precedence <= 0 ? [invalidValue(path, precedence, "must be a positive value")] : []),
    ...(precedence > maxPrecedence ? [invalidValue(path, precedence, `must not be greater than ${maxPrecedence}`)] : []),
    ...(precedence === 1 && schema.metadata.name !== "exempt"
      ? [invalidValue(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")]
      : []),
    ...(method === undefined || methods.includes(method.type)
      ? []
      : [notSupported("spec.distinguisherMethod.type", { Type: method.type }, methods)]),
    ...(name === "" ? [required(level, "must reference a priority level")] : each(level, name, dnsSubdomainProblems(name))),
    ...rules.flatMap((rule, index) => ruleErrors(rule, `spec.rules[${index}]`)),
    ...conditionErrors(schema),
  ];
}

function conditionErrors({ status }: ApiObject): FieldError[] {
  const conditions: readonly { readonly type?: string }[] = status?.conditions ?? [];
  const types = conditions.map(({ type = "" }) => type);
  return types.flatMap((type, index) => [
    ...(types.indexOf(type) < index ? [duplicate(`status.conditions[${index}].type`, type)] : []),
    ...(type === "" ? [required(`status.conditions[${index}].type`)] : []),
  ]);
}

function ruleErrors({ subjects = [], resourceRules = [], nonResourceRules = [] }: FlowRule, field: string): FieldError[] {
  return [
    ...subjects.flatMap((subject, index) => subjectErrors(subject, `${field}.subjects[${index}]`)),
    ...(subjects.length === 0 ? [required(`${field}.subjects`, "subjects must contain at least one value")] : []),
    ...(resourceRules.length === 0 && nonResourceRules.length === 0
      ? [required(field, "at least one of resourceRules and nonResourceRules has to be non-empty")]
      : []),
    ...resourceRules.flatMap((rule, index) => resourceRuleErrors(rule, `${field}.resourceRules[${index}]`)),
    ...nonResourceRules.flatMap(({ verbs: given = [], nonResourceURLs: urls = [] }, index) => {
      const path = `${field}.nonResourceRules[${index}]`;
      return [...verbErrors(given, `${path}.verbs`), ...urlErrors(urls, `${path}.nonResourceURLs`)];
    }),
  ];
}

const subjectFields = [
  { kind: "ServiceAccount", name: "serviceAccount" },
  { kind: "User", name: "user" },
  { kind: "Group", name: "group" },
] as const;

function subjectErrors(subject: Subject, field: string): FieldError[] {
  const own = subjectFields.find(({ kind }) => kind === subject.kind);
  if (own === undefined) return [notSupported(`${field}.kind`, subject.kind, ["Group", "ServiceAccount", "User"])];
  return [
    ...ownSubjectErrors(subject, own, `${field}.${own.name}`),
    ...subjectFields
      .filter((other) => other !== own && subject[other.name] !== undefined)
      .map(({ kind, name }) => forbiddenField(`${field}.${name}`, `${name} is forbidden when subject kind is not '${kind}'`)),
  ];
}

function ownSubjectErrors(subject: Subject, { kind, name: member }: (typeof subjectFields)[number], field: string): FieldError[] {
  const value = subject[member];
  if (value === undefined) return [required(field, `${member} is required when subject kind is '${kind}'`)];
  const nameErrors = value.name === "" ? [required(`${field}.name`)] : [];
  if (member !== "serviceAccount") return nameErrors;
  const { name, namespace = "" } = subject.serviceAccount ?? { name: "" };
  return [
    ...nameErrors,
    ...(name === "" || name === "*" ? [] : each(`${field}.name`, name, dnsSubdomainProblems(name))),
    ...(namespace === ""
      ? [required(`${field}.namespace`, "must specify namespace for service account")]
      : each(`${field}.namespace`, namespace, dnsLabelProblems(namespace))),
  ];
}

function verbErrors(given: readonly string[], field: string): FieldError[] {
  if (given.length === 0) return [required(field, "verbs must contain at least one value")];
  if (given.includes("*")) return given.length > 1 ? [invalidValue(field, given, "if '*' is present, must not specify other verbs")] : [];
  return given.every((verb) => verbs.includes(verb)) ? [] : [notSupported(field, given, verbs)];
}

function urlErrors(urls: readonly string[], field: string): FieldError[] {
  if (urls.length === 0) return [required(field, "nonResourceURLs must contain at least one value")];
  if (urls.includes("*"))
    return urls.length > 1 ? [invalidValue(field, urls, "if '*' is present, must not specify other non-resource URLs")] : [];
  return urls.flatMap((url, index) => {
    const problem = urlProblem(url);
    return problem === undefined ? [] : [invalidValue(`${field}[${index}]`, url, problem)];
  });
}

function urlProblem(url: string): string | undefined {
  if (url === "") return "must not be empty";
  if (!url.startsWith("/")) return "must start with slash";
  if (url.includes(" ")) return "must not contain white-space";
  if (url.includes("//")) return "must not contain double slash";
  const wildcards = url.split("*").length - 1;
  return wildcards > 1 || (wildcards === 1 && !url.endsWith("/*")) ? "wildcard can only do suffix matching" : undefined;
}

function resourceRuleErrors(rule: ResourceRule, field: string): FieldError[] {
  const { apiGroups = [], resources = [], namespaces = [], clusterScope = false } = rule;
  const listErrors = (values: readonly string[], name: string, [missing, others]: readonly [string, string]): FieldError[] => {
    if (values.length === 0) return [required(`${field}.${name}`, `resource rules must supply at least one ${missing}`)];
    return values.length > 1 && values.includes("*")
      ? [invalidValue(`${field}.${name}`, values, `if '*' is present, must not specify other ${others}`)]
      : [];
  };
  return [
    ...verbErrors(rule.verbs ?? [], `${field}.verbs`),
    ...listErrors(apiGroups, "apiGroups", ["api group", "api groups"]),
    ...listErrors(resources, "resources", ["resource", "resources"]),
    ...namespaceErrors(namespaces, clusterScope, `${field}.namespaces`),
  ];
}

function namespaceErrors(namespaces: readonly string[], clusterScope: boolean, field: string): FieldError[] {
  if (namespaces.length === 0)
    return clusterScope ? [] : [required(field, "resource rules that are not cluster scoped must supply at least one namespace")];
  if (namespaces.includes("*"))
    return namespaces.length > 1 ? [invalidValue(field, namespaces, "if '*' is present, must not specify other namespaces")] : [];
  return namespaces.flatMap((namespace, index) =>
    dnsLabelProblems(namespace).map((problem) =>
      invalidValue(`${field}[${index}]`, namespace, `each member of this list must be '*' or a DNS-1123 label; ${problem}`),
    ),
  );
}

export function priorityLevelErrors(level: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: PriorityLevelSpec = level["spec"];
  if (old !== undefined && old["spec"] === spec) return conditionErrors(level);
  const isExempt = spec.type === "Exempt";
  return [
    ...((level.metadata.name === "exempt") === isExempt
      ? []
      : [invalidValue("spec.type", spec.type, "must be 'Exempt' if and only if `name` is 'exempt'")]),
    ...typeErrors(spec),
    ...conditionErrors(level),
  ];
}

function typeErrors({ type, limited, exempt }: PriorityLevelSpec): FieldError[] {
  switch (type) {
    case "Exempt":
      return [
        ...(limited === undefined ? [] : [forbiddenField("spec.limited", "must be nil if the type is not Limited")]),
        ...limitErrors(exempt, "spec.exempt"),
      ];
    case "Limited":
      return [
        ...(exempt === undefined ? [] : [forbiddenField("spec.exempt", "must be nil if the type is Limited")]),
        ...(limited === undefined
          ? [required("spec.limited", "must not be empty when type is Limited")]
          : limitErrors(limited, "spec.limited")),
      ];
    case "":
      return [required("spec.type")];
    default:
      return [notSupported("spec.type", type, ["Exempt", "Limited"])];
  }
}

function limitErrors(limits: PriorityLevelSpec["limited"] | Limits, field: string): FieldError[] {
  if (limits === undefined) return [];
  const { nominalConcurrencyShares: shares = 0, lendablePercent: lendable = 0, borrowingLimitPercent: borrowing = 0 } = limits;
  return [
    ...(shares < 0 ? [invalidValue(`${field}.nominalConcurrencyShares`, shares, "must be a non-negative integer")] : []),
    ...(field === "spec.limited" ? responseErrors(limits, `${field}.limitResponse`) : []),
    ...(lendable < 0 || lendable > 100 ? [invalidValue(`${field}.lendablePercent`, lendable, "must be between 0 and 100, inclusive")] : []),
    ...(borrowing < 0 ? [invalidValue(`${field}.borrowingLimitPercent`, borrowing, "if specified, must be a non-negative integer")] : []),
  ];
}

function responseErrors(limited: PriorityLevelSpec["limited"], field: string): FieldError[] {
  const { type = "", queuing } = limited?.limitResponse ?? {};
  switch (type) {
    case "Reject":
      return queuing === undefined ? [] : [forbiddenField(`${field}.queuing`, "must be nil if limited.limitResponse.type is not Limited")];
    case "Queue":
      return queuing === undefined
        ? [required(`${field}.queuing`, "must not be empty if limited.limitResponse.type is Limited")]
        : queuingErrors(queuing, `${field}.queuing`);
    case "":
      return [required(`${field}.type`)];
    default:
      return [notSupported(`${field}.type`, type, ["Queue", "Reject"])];
  }
}

function queuingErrors({ queues, handSize, queueLengthLimit }: Queuing, field: string): FieldError[] {
  const handProblem = handSizeProblem(queues, handSize);
  return [
    ...(queueLengthLimit <= 0 ? [invalidValue(`${field}.queueLengthLimit`, queueLengthLimit, "must be positive")] : []),
    ...(queues <= 0 ? [invalidValue(`${field}.queues`, queues, "must be positive")] : []),
    ...(queues > maxQueues ? [invalidValue(`${field}.queues`, queues, `must not be greater than ${maxQueues}`)] : []),
    ...(handProblem === undefined ? [] : [invalidValue(`${field}.handSize`, handSize, handProblem)]),
  ];
}

/** Shuffle sharding needs log2(queues) bits of the hash for each card of the hand. */
function handSizeProblem(queues: number, handSize: number): string | undefined {
  if (handSize <= 0) return "must be positive";
  if (handSize > queues) return `should not be greater than queues (${queues})`;
  const bits = Math.ceil(Math.log2(queues) * handSize);
  return bits > maxHashBits
    ? `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${maxHashBits}`
    : undefined;
}
