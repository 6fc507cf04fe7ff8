import type { FieldError } from "../kind.ts";
import { forbiddenField, invalidValue, notFoundField, notSupported, required, tooLong } from "../validation/field-errors.ts";
import { each, labelsErrors } from "../validation/labels.ts";
import { dnsLabelProblems, dnsSubdomainProblems, inclusiveRange, ipProblems, underscoreSubdomainProblems } from "../validation/names.ts";
import type { Container, PodSpec } from "./pod-fields.ts";
import { containersErrors, ephemeralContainersErrors, initContainersErrors } from "./validate-containers.ts";
import { affinityErrors, gateErrors, spreadErrors, tolerationsErrors } from "./validate-placement.ts";
import { podResourceErrors } from "./validate-resources.ts";
import { hostUsersErrors, podSecurityErrors } from "./validate-security-context.ts";
import { checkVolumes } from "./validate-volumes.ts";

const maxInt32 = 2 ** 31 - 1;

/** Validates the spec of a pod or a template. Source: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, ValidatePodSpec. */
export function podSpecErrors(spec: PodSpec, field: string, isPod: boolean): FieldError[] {
  const { volumes, errors: volumeErrors } = checkVolumes(spec.volumes ?? [], `${field}.volumes`);
  const scope = { spec, volumes };
  return [
    ...volumeErrors,
    ...containersErrors(spec.containers, scope, `${field}.containers`),
    ...initContainersErrors(spec.initContainers ?? [], scope, `${field}.initContainers`),
    ...ephemeralContainersErrors(spec.ephemeralContainers ?? [], scope, `${field}.ephemeralContainers`),
    ...podResourceErrors(spec, `${field}.resources`),
    ...hostPortErrors(spec, field, isPod),
    ...oneOf(spec.restartPolicy, ["Always", "OnFailure", "Never"], `${field}.restartPolicy`),
    ...oneOf(spec.dnsPolicy, ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], `${field}.dnsPolicy`),
    ...labelsErrors(spec.nodeSelector, `${field}.nodeSelector`),
    ...podSecurityErrors(spec, `${field}.securityContext`),
    ...(spec.affinity === undefined ? [] : affinityErrors(spec.affinity, `${field}.affinity`)),
    ...dnsErrors(spec, `${field}.dnsConfig`),
    ...gateErrors(spec.schedulingGates ?? [], spec.readinessGates ?? [], field),
    ...spreadErrors(spec.topologySpreadConstraints ?? [], `${field}.topologySpreadConstraints`),
    ...hostUsersErrors(spec, field),
    ...hostnameOverrideErrors(spec, `${field}.hostnameOverride`),
    ...nameErrors(spec, field),
    ...tolerationsErrors(spec.tolerations ?? [], `${field}.tolerations`),
    ...hostAliasErrors(spec, `${field}.hostAliases`),
    ...subdomain(spec.priorityClassName, `${field}.priorityClassName`),
    ...subdomain(spec.runtimeClassName, `${field}.runtimeClassName`),
    ...(spec.preemptionPolicy === undefined
      ? []
      : oneOf(spec.preemptionPolicy, ["PreemptLowerPriority", "Never"], `${field}.preemptionPolicy`)),
    ...(spec.os === undefined ? [] : osErrors(spec.os.name, `${field}.os`)),
    ...fileReferenceErrors(spec, field),
  ];
}

function oneOf(value: string | undefined, supported: readonly string[], field: string): FieldError[] {
  if (value === undefined) return [required(field)];
  return supported.includes(value) ? [] : [notSupported(field, value, supported)];
}

function subdomain(value: string | undefined, field: string): FieldError[] {
  return value === undefined ? [] : each(field, value, dnsSubdomainProblems(value));
}

function osErrors(name: string, field: string): FieldError[] {
  if (name === "") return [required(`${field}.name`)];
  return name === "linux" || name === "windows" ? [] : [notSupported(field, name, ["linux", "windows"])];
}

function hostPortErrors({ hostNetwork, containers }: PodSpec, field: string, isPod: boolean): FieldError[] {
  if (!hostNetwork) return [];
  return (containers ?? []).flatMap(({ ports = [] }, index) =>
    ports.flatMap(({ hostPort = 0, containerPort }, at) => {
      const isWrong = (isPod || hostPort !== 0) && hostPort !== containerPort;
      return isWrong
        ? [
            invalidValue(
              `${field}.containers[${index}].ports[${at}].hostPort`,
              hostPort,
              "must match `containerPort` when `hostNetwork` is true",
            ),
          ]
        : [];
    }),
  );
}

/** Source: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, `validatePodHostName`. */
function hostnameOverrideErrors({ hostnameOverride: name, setHostnameAsFQDN, hostNetwork }: PodSpec, field: string): FieldError[] {
  if (name === undefined) return [];
  return [
    ...(setHostnameAsFQDN === true ? [forbiddenField(field, "may not be specified when setHostnameAsFQDN is true")] : []),
    ...(hostNetwork === true ? [forbiddenField(field, "may not be specified when hostNetwork is true")] : []),
    ...(Buffer.byteLength(name) > 64 ? [tooLong(field, 64)] : []),
    ...each(field, name, dnsSubdomainProblems(name)),
  ];
}

function nameErrors(
  { serviceAccountName, nodeName, activeDeadlineSeconds: deadline, hostname, subdomain: domain }: PodSpec,
  field: string,
): FieldError[] {
  return [
    ...subdomain(serviceAccountName, `${field}.serviceAccountName`),
    ...subdomain(nodeName, `${field}.nodeName`),
    ...(deadline !== undefined && (deadline < 1 || deadline > maxInt32)
      ? [invalidValue(`${field}.activeDeadlineSeconds`, deadline, inclusiveRange(1, maxInt32))]
      : []),
    ...(hostname === undefined ? [] : each(`${field}.hostname`, hostname, dnsLabelProblems(hostname))),
    ...(domain === undefined ? [] : each(`${field}.subdomain`, domain, dnsLabelProblems(domain))),
  ];
}

function dnsErrors({ dnsConfig, dnsPolicy }: PodSpec, field: string): FieldError[] {
  if (dnsPolicy === "None" && dnsConfig === undefined) return [required(field, "must provide `dnsConfig` when `dnsPolicy` is None")];
  const { nameservers = [], searches = [], options = [] } = dnsConfig ?? {};
  if (dnsPolicy === "None" && nameservers.length === 0)
    return [required(`${field}.nameservers`, "must provide at least one DNS nameserver when `dnsPolicy` is None")];
  return [
    ...(nameservers.length > 3 ? [invalidValue(`${field}.nameservers`, nameservers, "must not have more than 3 nameservers")] : []),
    ...nameservers.flatMap((server, index) => each(`${field}.nameservers[${index}]`, server, ipProblems(server))),
    ...(searches.length > 32 ? [invalidValue(`${field}.searches`, searches, "must not have more than 32 search paths")] : []),
    ...(searches.join(" ").length > 2048
      ? [invalidValue(`${field}.searches`, searches, "must not have more than 2048 characters (including spaces) in the search list")]
      : []),
    ...searches.flatMap((search, index) => {
      const name = search.replace(/\.$/, "");
      return search === "." ? [] : each(`${field}.searches[${index}]`, name, underscoreSubdomainProblems(name));
    }),
    ...options.flatMap(({ name }, index) => (name === undefined ? [required(`${field}.options[${index}]`, "must not be empty")] : [])),
  ];
}

function hostAliasErrors({ hostAliases = [] }: PodSpec, field: string): FieldError[] {
  return hostAliases.flatMap(({ ip, hostnames = [] }, index) => [
    ...each(`${field}[${index}].ip`, ip, ipProblems(ip)),
    ...hostnames.flatMap((name, at) => each(`${field}[${index}].hostnames[${at}]`, name, dnsSubdomainProblems(name))),
  ]);
}

function fileReferenceErrors(spec: PodSpec, field: string): FieldError[] {
  const lists: readonly [string, readonly Container[]][] = [
    ["initContainers", spec.initContainers ?? []],
    ["containers", spec.containers ?? []],
    ["ephemeralContainers", spec.ephemeralContainers ?? []],
  ];
  return lists.flatMap(([list, containers]) =>
    containers.flatMap(({ env = [] }, index) =>
      env.flatMap(({ valueFrom }, at) => {
        const name = valueFrom?.fileKeyRef?.volumeName;
        if (name === undefined) return [];
        const path = `${field}.${list}[${index}].env[${at}].valueFrom.fileKeyRef.volumeName`;
        const volume = spec.volumes?.find((one) => one.name === name);
        if (volume === undefined) return [notFoundField(path, name)];
        return volume.emptyDir === undefined ? [invalidValue(path, name, "referenced volume must be of type emptyDir")] : [];
      }),
    ),
  );
}
