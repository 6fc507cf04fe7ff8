import type { Container, DeepReadonly, Pod, PodSpec } from "@virtual-kubelet/kube-client";
import { isSidecar } from "@virtual-kubelet/kubernetes";
import type { Capabilities } from "../provider/capabilities.ts";
import { isServiceAccountVolume } from "./service-account-volume.ts";

/** A field of a pod that the provider does not support. */
export interface UnsupportedField {
  /** Path of the field, such as `spec.containers[0].livenessProbe`. */
  readonly fieldPath: string;
  /** The unsupported feature as it follows "does not support", such as `probes`. */
  readonly message: string;
}

/** A container of the pod, of any list, with its path. */
interface PlacedContainer {
  readonly path: string;
  readonly container: DeepReadonly<Container>;
}

/**
 * Returns the fields of a pod that exceed the capabilities, in the order of the spec. Init and ephemeral
 * containers are named once by their own capability, and are not examined further if it is missing. The `kube-api-access-*`
 * volume that the API server adds to every pod is ignored, unless tokens are required.
 */
export function unsupportedFields(
  pod: DeepReadonly<Pod>,
  capabilities: Capabilities,
  { requireToken = false }: { readonly requireToken?: boolean } = {},
): readonly UnsupportedField[] {
  const spec = pod.spec ?? { containers: [] };
  return [
    ...unsupportedContainerLists(spec, capabilities),
    ...supportedContainers(spec, capabilities).flatMap((placed) => unsupportedInContainer(placed, spec, capabilities)),
    ...unsupportedInSpec(spec, capabilities),
    ...unsupportedVolumes(spec, capabilities, requireToken),
  ];
}

/** Lists fields as text that follows "does not support". */
export function listFields(fields: readonly UnsupportedField[]): string {
  return fields.map(({ fieldPath, message }) => `${fieldPath}: ${message}`).join("; ");
}

function unsupportedContainerLists(spec: DeepReadonly<PodSpec>, capabilities: Capabilities): UnsupportedField[] {
  const fields: UnsupportedField[] = [];
  for (const [index, container] of (spec.initContainers ?? []).entries()) {
    const fieldPath = `spec.initContainers[${index}]`;
    if (isSidecar(container)) {
      if (!capabilities.sidecarContainers) fields.push({ fieldPath: `${fieldPath}.restartPolicy`, message: "sidecar containers" });
    } else if (!capabilities.initContainers) fields.push({ fieldPath, message: "init containers" });
  }
  if (spec.containers.length > 1 && !capabilities.multipleContainers) {
    fields.push({ fieldPath: "spec.containers[1]", message: "more than one container in a pod" });
  }
  if (spec.ephemeralContainers?.length && !capabilities.ephemeralContainers) {
    fields.push({ fieldPath: "spec.ephemeralContainers[0]", message: "ephemeral containers" });
  }
  return fields;
}

function supportedContainers(spec: DeepReadonly<PodSpec>, capabilities: Capabilities): PlacedContainer[] {
  const place = (list: string, containers: readonly DeepReadonly<Container>[] | undefined): PlacedContainer[] =>
    (containers ?? []).map((container, index) => ({ path: `spec.${list}[${index}]`, container }));
  const init = place("initContainers", spec.initContainers).filter(({ container }) =>
    isSidecar(container) ? capabilities.sidecarContainers : capabilities.initContainers,
  );
  const ephemeral = capabilities.ephemeralContainers ? place("ephemeralContainers", spec.ephemeralContainers) : [];
  return [...init, ...place("containers", spec.containers), ...ephemeral];
}

/** A capability that a provider needs for fields of a container. */
interface ContainerNeed {
  readonly capability: Exclude<keyof Capabilities, "volumes" | "operatingSystems">;
  /** As in {@link UnsupportedField}. */
  readonly message: string;
  /** Returns the fields that the container sets, relative to it. */
  readonly fieldsOf: (container: DeepReadonly<Container>, spec: DeepReadonly<PodSpec>) => readonly string[];
}

const containerNeeds: readonly ContainerNeed[] = [
  { capability: "env", message: "environment variables", fieldsOf: setOf("env", "envFrom") },
  { capability: "probes", message: "probes", fieldsOf: setOf("startupProbe", "readinessProbe", "livenessProbe") },
  { capability: "lifecycleHooks", message: "lifecycle hooks", fieldsOf: setOf("lifecycle") },
  { capability: "hostPorts", message: "host ports", fieldsOf: hostPortsOf },
  {
    capability: "privileged",
    message: "privileged containers",
    fieldsOf: ({ securityContext }) => (securityContext?.privileged === true ? ["securityContext.privileged"] : []),
  },
  {
    capability: "securityContext",
    message: "security contexts",
    fieldsOf: ({ securityContext }) =>
      fieldsSet(securityContext).flatMap((field) => (field === "privileged" ? [] : [`securityContext.${field}`])),
  },
  { capability: "gpus", message: "GPUs", fieldsOf: (container) => gpusOf(container).map((gpu) => `resources.limits['${gpu}']`) },
];

function setOf(...fields: readonly (keyof Container)[]): ContainerNeed["fieldsOf"] {
  return (container) => fields.filter((field) => isSet(container[field] as object | undefined));
}

/** On the host's network every port is a host port, and the API server sets it as such. */
function hostPortsOf({ ports = [] }: DeepReadonly<Container>, { hostNetwork }: DeepReadonly<PodSpec>): string[] {
  return hostNetwork ? [] : ports.flatMap(({ hostPort }, index) => (hostPort ? [`ports[${index}].hostPort`] : []));
}

function unsupportedInContainer(
  { path, container }: PlacedContainer,
  spec: DeepReadonly<PodSpec>,
  capabilities: Capabilities,
): UnsupportedField[] {
  const fields: UnsupportedField[] = [];
  for (const { capability, message, fieldsOf } of containerNeeds) {
    if (capabilities[capability]) continue;
    for (const field of fieldsOf(container, spec)) fields.push({ fieldPath: `${path}.${field}`, message });
  }
  return fields;
}

function unsupportedInSpec(spec: DeepReadonly<PodSpec>, capabilities: Capabilities): UnsupportedField[] {
  const fields: UnsupportedField[] = [];
  const check = (isAsked: boolean, isSupported: boolean | undefined, fieldPath: string, message: string): void => {
    if (isAsked && !isSupported) fields.push({ fieldPath: `spec.${fieldPath}`, message });
  };
  const policy = spec.restartPolicy ?? "Always";
  check(policy !== "Never", capabilities.restarts, "restartPolicy", `restart policy ${policy}`);
  check(spec.hostNetwork === true, capabilities.hostNetwork, "hostNetwork", "the host's network");
  for (const field of ["hostPID", "hostIPC", "shareProcessNamespace"] as const) {
    check(spec[field] === true, capabilities.sharedNamespaces, field, "shared namespaces");
  }
  if (!capabilities.securityContext)
    for (const field of fieldsSet(spec.securityContext)) check(true, false, `securityContext.${field}`, "security contexts");
  const systems = capabilities.operatingSystems;
  const system = spec.os?.name;
  check(
    system !== undefined && systems !== undefined,
    systems?.some((name) => name === system),
    "os.name",
    `operating system ${system}`,
  );
  return fields;
}

function unsupportedVolumes(spec: DeepReadonly<PodSpec>, { volumes = [] }: Capabilities, requireToken: boolean): UnsupportedField[] {
  return (spec.volumes ?? []).flatMap((volume, index) => {
    if (!requireToken && isServiceAccountVolume(volume)) return [];
    const sources = Object.entries(volume).filter(([field, source]) => field !== "name" && source !== undefined && source !== null);
    // The API server treats a volume without a source as an emptyDir.
    const names = sources.length > 0 ? sources.map(([field]) => field) : ["emptyDir"];
    const missing = names.filter((name) => !volumes.includes(name));
    return missing.map((name) => ({ fieldPath: `spec.volumes[${index}].${name}`, message: `volumes of type ${name}` }));
  });
}

/** Returns the names of the GPU resources that a container requests. */
function gpusOf({ resources }: DeepReadonly<Container>): string[] {
  const names = [...Object.keys(resources?.limits ?? {}), ...Object.keys(resources?.requests ?? {})];
  return [...new Set(names)].filter((name) => /(^|[./-])gpu/.test(name) || name.startsWith("nvidia.com/"));
}

/** Whether a field is set to anything but an empty map or list. */
function isSet(value: object | undefined | null): boolean {
  return fieldsSet(value).length > 0;
}

/** Returns the names of the fields that are set. */
function fieldsSet(value: object | undefined | null): string[] {
  return Object.entries(value ?? {}).flatMap(([field, entry]) => (entry === undefined || entry === null ? [] : [field]));
}
