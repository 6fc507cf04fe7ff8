import {
  containerResources,
  divideRoundingUp,
  formatQuantity,
  formatResources,
  isPodLevelResource,
  parseQuantity,
  type Quantity,
} from "@virtual-kubelet/kubernetes";
import { defaultPullPolicy } from "./image-reference.ts";
import type { Container, DownwardApiFile, Handler, PodSpec, Probe, ResourceList, ResourceRequirements, Volume } from "./pod-fields.ts";

/** Default mode of files in volumes, octal 0644. */
const defaultFileMode = 0o644;

/**
 * Applies the defaults of a pod's spec, in a pod or a template.
 * Source: Kubernetes v1.36.3 pkg/apis/core/v1/defaults.go and conversion.go.
 */
export function applyPodSpecDefaults(spec: PodSpec): void {
  spec.dnsPolicy ??= "ClusterFirst";
  spec.restartPolicy ??= "Always";
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  spec.schedulerName ??= "default-scheduler";
  const serviceAccount = spec.serviceAccountName ?? spec.serviceAccount;
  if (serviceAccount !== undefined) spec.serviceAccountName = spec.serviceAccount = serviceAccount;
  for (const volume of spec.volumes ?? []) applyVolumeDefaults(volume);
  for (const container of spec.initContainers ?? []) applyContainerDefaults(container);
  for (const container of spec.containers ?? []) applyContainerDefaults(container);
  for (const container of spec.ephemeralContainers ?? []) applyContainerDefaults(container);
  roundResources(spec.overhead);
  roundRequirements(spec.resources);
}

/** Applies the defaults that only pods have, not templates. */
export function applyPodDefaults(spec: PodSpec): void {
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    const { resources } = container;
    if (resources.limits !== undefined) resources.requests = { ...resources.limits, ...resources.requests };
  }
  applyPodLevelRequests(spec);
  spec.enableServiceLinks ??= true;
  if (spec.terminationGracePeriodSeconds !== undefined && spec.terminationGracePeriodSeconds < 0) spec.terminationGracePeriodSeconds = 1;
  if (spec.hostNetwork) {
    const ports = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].flatMap((container) => container.ports ?? []);
    for (const port of ports) port.hostPort ??= port.containerPort;
  }
}

function applyPodLevelRequests({ resources, ...spec }: PodSpec): void {
  if (resources?.limits === undefined) return;
  const requests: ResourceList = { ...resources.requests };
  for (const [name, text] of Object.entries(formatResources(containerResources(spec, "requests")))) {
    if (isPodLevelResource(name) && !name.startsWith("hugepages-")) requests[name] ??= text;
  }
  for (const [name, text] of Object.entries(resources.limits)) if (isPodLevelResource(name)) requests[name] ??= text;
  if (Object.keys(requests).length > 0) resources.requests = requests;
}

function applyContainerDefaults(container: Container): void {
  container.imagePullPolicy ??= defaultPullPolicy(container.image ?? "");
  container.terminationMessagePath ??= "/dev/termination-log";
  container.terminationMessagePolicy ??= "File";
  for (const port of container.ports ?? []) port.protocol ??= "TCP";
  for (const { valueFrom } of container.env ?? []) if (valueFrom?.fieldRef !== undefined) valueFrom.fieldRef.apiVersion ??= "v1";
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe])
    if (probe !== undefined) applyProbeDefaults(probe);
  for (const handler of [container.lifecycle?.postStart, container.lifecycle?.preStop])
    if (handler !== undefined) applyHandlerDefaults(handler);
  roundRequirements(container.resources);
}

function applyProbeDefaults(probe: Probe): void {
  probe.timeoutSeconds ??= 1;
  probe.periodSeconds ??= 10;
  probe.successThreshold ??= 1;
  probe.failureThreshold ??= 3;
  if (probe.grpc !== undefined) probe.grpc.service ??= "";
  applyHandlerDefaults(probe);
}

function applyHandlerDefaults({ httpGet }: Handler): void {
  if (httpGet === undefined) return;
  httpGet.path ??= "/";
  httpGet.scheme ??= "HTTP";
}

function applyVolumeDefaults(volume: Volume): void {
  // A volume without a source is an empty directory. Its only key is then the name.
  if (Object.keys(volume).every((key) => key === "name")) volume.emptyDir = {};
  for (const source of [volume.secret, volume.configMap, volume.downwardAPI, volume.projected])
    if (source !== undefined) source.defaultMode ??= defaultFileMode;
  if (volume.hostPath !== undefined) volume.hostPath.type ??= "";
  if (volume.image !== undefined) volume.image.pullPolicy ??= defaultPullPolicy(volume.image.reference ?? "");
  applyFileDefaults(volume.downwardAPI?.items);
  for (const source of volume.projected?.sources ?? []) {
    if (source.serviceAccountToken !== undefined) source.serviceAccountToken.expirationSeconds ??= 3600;
    applyFileDefaults(source.downwardAPI?.items);
  }
}

function applyFileDefaults(files: readonly DownwardApiFile[] | undefined): void {
  for (const { fieldRef } of files ?? []) if (fieldRef !== undefined) fieldRef.apiVersion ??= "v1";
}

function roundRequirements(resources: ResourceRequirements | undefined): void {
  roundResources(resources?.limits);
  roundResources(resources?.requests);
}

const nanoPerMilli = 1_000_000n;

/** Rounds amounts up to thousandths. */
export function roundResources(list: ResourceList | undefined): void {
  if (list === undefined) return;
  for (const [name, text] of Object.entries(list)) if (/[nu]|e-/.test(text)) list[name] = roundedUpToMilli(parseQuantity(text));
}

function roundedUpToMilli({ nano, format }: Quantity): string {
  return formatQuantity({ nano: divideRoundingUp(nano, nanoPerMilli) * nanoPerMilli, format });
}
