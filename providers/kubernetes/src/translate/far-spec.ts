import type { PodSpec } from "@virtual-kubelet/kube-client";
import { farAffinity, farTopologySpread } from "./far-affinity.ts";
import { farContainer, farEphemeralContainer } from "./far-container.ts";
import { farTolerations } from "./far-tolerations.ts";
import { farVolumes } from "./far-volumes.ts";
import { applyTable, type FieldTable } from "./field-table.ts";
import type { EphemeralContainer, Scope } from "./scope.ts";
import { isTokenVolume } from "./token-volume.ts";

/** Longest hostname of Linux. */
const maxHostnameLength = 63;

/** How each field of a pod's spec travels. */
export const podSpecFields: FieldTable<PodSpec, Scope> = {
  // The core ends the pod with the same reason and message. The far cluster does it while this program is away.
  activeDeadlineSeconds: "keep",
  affinity: farAffinity,
  automountServiceAccountToken: (spec, { context }) =>
    context.config.carry.serviceAccountToken === "far" && spec.volumes?.some(isTokenVolume) === true,
  containers: ({ containers }, pod) =>
    containers.map((container, index) => farContainer(container, { pod, path: `spec.containers[${index}]` })),
  dnsConfig: "keep",
  dnsPolicy: "keep",
  enableServiceLinks: ({ enableServiceLinks }, { context }) =>
    context.config.network.serviceVariables === "home" ? false : enableServiceLinks,
  // A new pod has none. They are added through their subresource.
  ephemeralContainers: "drop",
  hostAliases: "keep",
  hostIPC: "keep",
  hostNetwork: "keep",
  hostPID: "keep",
  hostUsers: "keep",
  hostname: farHostname,
  hostnameOverride: "keep",
  imagePullSecrets: ({ imagePullSecrets }, { references }) =>
    imagePullSecrets?.map((secret, index) =>
      // A kubelet pulls without a secret that is missing.
      references.rename(secret, { kind: "Secret", fieldPath: `spec.imagePullSecrets[${index}]`, optional: true }),
    ),
  initContainers: ({ initContainers }, pod) =>
    initContainers?.map((container, index) => farContainer(container, { pod, path: `spec.initContainers[${index}]` })),
  // The far scheduler chooses.
  nodeName: "drop",
  nodeSelector: (_spec, { context }) => {
    const selector = context.config.scheduling.nodeSelector;
    return Object.keys(selector).length === 0 ? undefined : { ...selector };
  },
  os: "keep",
  // The far admission takes it from the runtime class, and refuses any other.
  overhead: "drop",
  // The far admission takes both from the priority class, and refuses any other.
  preemptionPolicy: "drop",
  priority: "drop",
  priorityClassName: farPriorityClass,
  // Evaluated at home.
  readinessGates: "drop",
  resourceClaims: ({ resourceClaims }, { findings }) => {
    if (resourceClaims?.length)
      findings.refuse("spec.resourceClaims", "claims for devices do not travel; request devices as resources, such as nvidia.com/gpu");
    return undefined;
  },
  resources: "keep",
  restartPolicy: "keep",
  runtimeClassName: ({ runtimeClassName }, { context }) =>
    runtimeClassName && (ownEntry(context.config.scheduling.runtimeClasses, runtimeClassName) ?? runtimeClassName),
  schedulerName: (_spec, { context }) => context.config.scheduling.schedulerName,
  // Home has opened them, otherwise the pod would have no node.
  schedulingGates: "drop",
  schedulingGroup: ({ schedulingGroup }, { findings }) => {
    if (schedulingGroup) findings.note("spec.schedulingGroup", "left out, because its PodGroup is an object of the home cluster");
    return undefined;
  },
  securityContext: "keep",
  // The old name of serviceAccountName.
  serviceAccount: "drop",
  serviceAccountName: farServiceAccount,
  setHostnameAsFQDN: "keep",
  shareProcessNamespace: "keep",
  subdomain: "keep",
  terminationGracePeriodSeconds: "keep",
  tolerations: ({ tolerations }, { context }) => farTolerations(tolerations, context.config.scheduling),
  topologySpreadConstraints: farTopologySpread,
  volumes: (_spec, pod) => farVolumes(pod),
};

/** Returns the far pod's spec. */
export function farSpec(scope: Scope): PodSpec {
  const onUnknown = (field: string): void => scope.findings.note(`spec.${field}`, "left out, because this version does not know the field");
  return applyTable(scope.spec, podSpecFields, { scope, onUnknown });
}

/** Returns the named ones of the home pod's ephemeral containers as the far pod gets them. */
export function farEphemeralContainers(pod: Scope, names: ReadonlySet<string>): EphemeralContainer[] {
  const { ephemeralContainers = [] } = pod.spec;
  return ephemeralContainers.flatMap((container, index) =>
    names.has(container.name) ? [farEphemeralContainer(container, { pod, path: `spec.ephemeralContainers[${index}]` })] : [],
  );
}

/** The name of the home pod, because the far pod has another. */
function farHostname({ hostname }: PodSpec, { home, findings }: Scope): string {
  if (hostname) return hostname;
  const { name = "" } = home.metadata ?? {};
  const farName = name.replaceAll(".", "-").slice(0, maxHostnameLength).replace(/-+$/, "");
  if (name.includes("."))
    findings.note("metadata.name", `the hostname is ${farName}, without the name's dots; set spec.hostname for another`);
  return farName;
}

function farPriorityClass({ priorityClassName, priority = 0 }: PodSpec, { context, findings }: Scope): string | undefined {
  if (!priorityClassName) return undefined;
  const far = ownEntry(context.config.scheduling.priorityClasses, priorityClassName);
  if (far === undefined && priority !== 0)
    findings.note("spec.priorityClassName", `${priorityClassName} is left out; an entry in scheduling.priorityClasses names the far class`);
  return far;
}

function farServiceAccount({ serviceAccountName = "default", volumes = [] }: PodSpec, { context, findings }: Scope): string | undefined {
  const { serviceAccountToken, farServiceAccount: far } = context.config.carry;
  if (serviceAccountToken === "drop" && serviceAccountName !== "default" && volumes.some(isTokenVolume))
    findings.note(
      "spec.serviceAccountName",
      `the token of ${serviceAccountName} is not mounted; carry.serviceAccountToken: home mounts it, far mounts one of the far cluster`,
    );
  return far;
}

function ownEntry(map: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}
