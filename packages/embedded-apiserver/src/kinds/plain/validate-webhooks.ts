import type { LabelSelector } from "@virtual-kubelet/kubernetes";
import { areExpressionsLoaded, expressions } from "../../cel/engine.ts";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import { fullyQualifiedNameErrors } from "../validation/domain-names.ts";
import { duplicate, invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { each, labelSelectorErrors } from "../validation/labels.ts";
import { dns1035LabelProblems, dnsSubdomainProblems, portNumberProblems } from "../validation/names.ts";
import { matchConditionErrors, type MatchCondition, ruleErrors, type RuleWithOperations } from "./validate-matching.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/admissionregistration/validation and k8s.io/apiserver v0.36.3 pkg/util/webhook. */

interface Webhook {
  readonly name: string;
  readonly rules?: readonly RuleWithOperations[];
  readonly failurePolicy?: string;
  readonly matchPolicy?: string;
  readonly reinvocationPolicy?: string;
  readonly sideEffects?: string;
  readonly timeoutSeconds?: number;
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
  readonly matchConditions?: readonly MatchCondition[];
  readonly admissionReviewVersions?: readonly string[];
  readonly clientConfig: { readonly url?: string; readonly service?: WebhookService };
}

/** Service of a webhook. */
interface WebhookService {
  readonly namespace?: string;
  readonly name?: string;
  readonly path?: string;
  readonly port?: number;
}

const sideEffectFree = ["None", "NoneOnDryRun"];
const sideEffects = ["None", "NoneOnDryRun", "Some", "Unknown"];
const acceptedVersions = ["v1", "v1beta1"];

/** Validates a configuration; rules that the stored one breaks are not enforced on an update. */
export function webhookConfigurationErrors(configuration: ApiObject, old: ApiObject | undefined): FieldError[] {
  const webhooks: readonly Webhook[] = configuration["webhooks"] ?? [];
  const before: readonly Webhook[] = old?.["webhooks"] ?? [];
  const names = webhooks.map(({ name }) => name);
  const areNamesUnique = new Set(before.map(({ name }) => name)).size === before.length;
  const isMatchUnchanged =
    old !== undefined &&
    before.length === webhooks.length &&
    webhooks.every(({ matchConditions }, index) => equalJson(matchConditions, before[index]?.matchConditions));
  const allowed = before.every(({ sideEffects: effects = "" }) => sideEffectFree.includes(effects)) ? sideEffectFree : sideEffects;
  const needsKnownVersion = before.every(({ admissionReviewVersions = [] }) =>
    admissionReviewVersions.some((one) => acceptedVersions.includes(one)),
  );
  return webhooks.flatMap((webhook, index) => {
    const field = `webhooks[${index}]`;
    return [
      ...webhookErrors(webhook, field, allowed),
      ...(isMatchUnchanged ? [] : matchConditionErrors(webhook.matchConditions ?? [], `${field}.matchConditions`, compileCondition)),
      ...reviewVersionErrors(webhook.admissionReviewVersions ?? [], `${field}.admissionReviewVersions`, needsKnownVersion),
      ...(areNamesUnique && webhook.name !== "" && names.indexOf(webhook.name) < index ? [duplicate(`${field}.name`, webhook.name)] : []),
    ];
  });
}

function compileCondition({ expression }: MatchCondition, field: string): FieldError[] {
  return areExpressionsLoaded() ? expressions().matchExpressionErrors(expression, field, false) : [];
}

function webhookErrors(webhook: Webhook, field: string, allowedEffects: readonly string[]): FieldError[] {
  const { name, rules = [], failurePolicy, matchPolicy, reinvocationPolicy, timeoutSeconds: timeout = 10 } = webhook;
  return [
    ...fullyQualifiedNameErrors(name, `${field}.name`),
    ...rules.flatMap((rule, index) => ruleErrors(rule, `${field}.rules[${index}]`)),
    ...oneOf(failurePolicy, `${field}.failurePolicy`, ["Fail", "Ignore"]),
    ...oneOf(matchPolicy, `${field}.matchPolicy`, ["Equivalent", "Exact"]),
    ...(webhook.sideEffects === undefined || webhook.sideEffects === null
      ? [required(`${field}.sideEffects`, `must specify one of ${allowedEffects.join(", ")}`)]
      : oneOf(webhook.sideEffects, `${field}.sideEffects`, allowedEffects)),
    ...(timeout > 30 || timeout < 1
      ? [invalidValue(`${field}.timeoutSeconds`, timeout, "the timeout value must be between 1 and 30 seconds")]
      : []),
    ...labelSelectorErrors(webhook.namespaceSelector, `${field}.namespaceSelector`),
    ...labelSelectorErrors(webhook.objectSelector, `${field}.objectSelector`),
    ...oneOf(reinvocationPolicy, `${field}.reinvocationPolicy`, ["IfNeeded", "Never"]),
    ...clientConfigErrors(webhook.clientConfig, `${field}.clientConfig`),
  ];
}

/** @returns an error if the value is set and not one of these */
export function oneOf(value: string | undefined, field: string, supported: readonly string[]): FieldError[] {
  return value === undefined || supported.includes(value) ? [] : [notSupported(field, value, supported)];
}

/** Errors of `clientConfig`: one of `url` and `service`. */
export function clientConfigErrors({ url, service }: Webhook["clientConfig"], field: string): FieldError[] {
  if ((url === undefined) === (service === undefined)) return [required(field, "exactly one of url or service is required")];
  return url === undefined ? webhookServiceErrors(service ?? {}, `${field}.service`) : webhookUrlErrors(url, `${field}.url`);
}

const form = "; desired format: https://host[/path]";

function webhookUrlErrors(text: string, field: string): FieldError[] {
  const [, scheme = "", authority = "", query, fragment] =
    /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?[^?#]*(?:\?([^#]*))?(?:#(.*))?$/.exec(text) ?? [];
  const [user, host = ""] = authority.includes("@") ? authority.split("@") : [undefined, authority];
  return [
    ...(scheme === "https" ? [] : [invalidValue(field, scheme, `'https' is the only allowed URL scheme${form}`)]),
    ...(host === "" ? [invalidValue(field, host, `host must be specified${form}`)] : []),
    ...(user === undefined ? [] : [invalidValue(field, user, "user information is not permitted in the URL")]),
    ...(fragment === undefined || fragment === "" ? [] : [invalidValue(field, fragment, "fragments are not permitted in the URL")]),
    ...(query === undefined || query === "" ? [] : [invalidValue(field, query, "query parameters are not permitted in the URL")]),
  ];
}

/** The real server passes name and namespace in the wrong order, so a missing name is reported as a missing namespace. */
function webhookServiceErrors({ namespace = "", name = "", path = "", port = 0 }: WebhookService, field: string): FieldError[] {
  const portProblems = portNumberProblems(port);
  return [
    ...(namespace === "" ? [required(`${field}.name`)] : []),
    ...(name === "" ? [required(`${field}.namespace`)] : []),
    ...(portProblems.length === 0 ? [] : [invalidValue(`${field}.port`, port, `port is not valid: ${portProblems.join(", ")}`)]),
    ...pathErrors(path, `${field}.path`),
  ];
}

function pathErrors(path: string, field: string): FieldError[] {
  if (path === "/" || path === "") return [];
  if (path === "//") return [invalidValue(field, path, "segment[0] may not be empty")];
  const steps = path.slice(1).replace(/\/$/, "").split("/");
  return each(field, path, [
    ...(path.startsWith("/") ? [] : ["must start with a '/'"]),
    ...steps.flatMap((step, index) =>
      step === "" ? [`segment[${index}] may not be empty`] : dnsSubdomainProblems(step).map((problem) => `segment[${index}]: ${problem}`),
    ),
  ]);
}

function reviewVersionErrors(versions: readonly string[], field: string, needsKnownVersion: boolean): FieldError[] {
  if (versions.length === 0) return [required(field, `must specify one of ${acceptedVersions.join(", ")}`)];
  return [
    ...versions.flatMap((version, index) =>
      versions.indexOf(version) < index
        ? [invalidValue(`${field}[${index}]`, version, "duplicate version")]
        : each(`${field}[${index}]`, version, dns1035LabelProblems(version)),
    ),
    ...(needsKnownVersion && !versions.some((version) => acceptedVersions.includes(version))
      ? [invalidValue(field, versions, `must include at least one of ${acceptedVersions.join(", ")}`)]
      : []),
  ];
}
