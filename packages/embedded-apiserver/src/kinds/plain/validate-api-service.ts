import type { ApiObject, FieldError } from "../kind.ts";
import { invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { each } from "../validation/labels.ts";
import { dns1035LabelProblems, dnsSubdomainProblems, pathSegmentProblems, portNumberProblems } from "../validation/names.ts";

/** Source of this file: k8s.io/kube-aggregator v0.36.3 pkg/apis/apiregistration/validation/validation.go. */

interface ApiServiceSpec {
  readonly group?: string;
  readonly version?: string;
  readonly groupPriorityMinimum?: number;
  readonly versionPriority?: number;
  readonly service?: { readonly namespace?: string; readonly name?: string; readonly port?: number } | null;
  readonly caBundle?: string;
  readonly insecureSkipTLSVerify?: boolean;
}

export function apiServiceErrors(object: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: ApiServiceSpec = object["spec"];
  if (old !== undefined && old["spec"] === spec) return statusErrors(object["status"]?.conditions ?? []);
  const { group = "", version = "", groupPriorityMinimum: groupPriority = 0, versionPriority = 0, service } = spec;
  const wanted = `${version}.${group}`;
  return [
    ...(object.metadata.name === wanted || pathSegmentProblems(object.metadata.name).length > 0
      ? []
      : [invalidValue("metadata.name", object.metadata.name, `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(wanted)}`)]),
    ...(group === "" && version !== "v1" ? [required("spec.group", "only v1 may have an empty group and it better be legacy kube")] : []),
    ...(group === "" ? [] : each("spec.group", group, dnsSubdomainProblems(group))),
    ...each("spec.version", version, dns1035LabelProblems(version)),
    ...(groupPriority <= 0 || groupPriority > 20_000
      ? [invalidValue("spec.groupPriorityMinimum", groupPriority, "must be positive and less than 20000")]
      : []),
    ...(versionPriority <= 0 || versionPriority > 1000
      ? [invalidValue("spec.versionPriority", versionPriority, "must be positive and less than 1000")]
      : []),
    ...(service === undefined || service === null ? localErrors(spec) : serviceErrors(service, spec)),
  ];
}

function localErrors({ caBundle = "", insecureSkipTLSVerify = false }: ApiServiceSpec): FieldError[] {
  const bytes = Buffer.from(caBundle, "base64").length;
  return [
    ...(bytes === 0 ? [] : [invalidValue("spec.caBundle", `${bytes} bytes`, "local APIServices may not have a caBundle")]),
    ...(insecureSkipTLSVerify
      ? [invalidValue("spec.insecureSkipTLSVerify", true, "local APIServices may not have insecureSkipTLSVerify")]
      : []),
  ];
}

function serviceErrors(
  { namespace = "", name = "", port = 0 }: NonNullable<ApiServiceSpec["service"]>,
  { caBundle = "", insecureSkipTLSVerify = false }: ApiServiceSpec,
): FieldError[] {
  const portProblems = portNumberProblems(port);
  return [
    ...(namespace === "" ? [required("spec.service.namespace")] : []),
    ...(name === "" ? [required("spec.service.name")] : []),
    ...(portProblems.length === 0 ? [] : [invalidValue("spec.service.port", port, `port is not valid: ${portProblems.join(", ")}`)]),
    ...(insecureSkipTLSVerify && caBundle !== ""
      ? [invalidValue("spec.insecureSkipTLSVerify", true, "may not be true if caBundle is present")]
      : []),
  ];
}

function statusErrors(conditions: readonly { readonly status: string }[]): FieldError[] {
  const statuses = ["True", "False", "Unknown"];
  return conditions.flatMap(({ status }, index) =>
    statuses.includes(status) ? [] : [notSupported(`status.conditions[${index}].status`, status, statuses)],
  );
}
