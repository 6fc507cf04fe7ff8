import { podRef, type DeepReadonly, type Pod, type RegistryEntry, type ResolvedPod } from "@virtual-kubelet/core";
import type { ContainerGroupBody } from "../azure/container-group.ts";
import type { AciSettings } from "../config/settings.ts";
import { addressOf } from "./network.ts";
import { annotationOf, annotations } from "./annotations.ts";
import { containerOf, initContainerOf } from "./containers.ts";
import { diagnosticsOf } from "./diagnostics.ts";
import { dnsOf } from "./dns.ts";
import { extensionsOf, type ExtensionChoice } from "./extensions.ts";
import { groupContainers, unsupported } from "./fields.ts";
import { identityOf } from "./identity.ts";
import type { Note } from "./note.ts";
import { placementOf } from "./placement.ts";
import { refuse } from "./refused-fields.ts";
import { registriesOf } from "./registries.ts";
import { resourcesOf } from "./resources.ts";
import { volumesOf } from "./volumes.ts";

/** Maximum number of containers of a group, without init containers. */
const maxContainers = 60;

/** Tag that names the sidecars among a group's containers, which Azure does not tell from others. */
export const sidecarsTag = "vk.aci.sidecars";

/** A container group to be created. It may hold secrets. */
export interface GroupRequest {
  readonly resourceGroup: string;
  readonly body: ContainerGroupBody;
  readonly notes: readonly Note[];
}

/** Facts besides the pod. */
export interface GroupContext {
  readonly settings: AciSettings;
  readonly nodeName: string;
  readonly clusterDomain: string;
  /** Tags of the pod's identity. */
  readonly tags: Readonly<Record<string, string>>;
  /** Credentials of the pod's pull secrets. */
  readonly registryEntries: readonly RegistryEntry[];
  readonly kubeProxy: ExtensionChoice["kubeProxy"];
}

/**
 * Translates a pod to a container group of api-version 2025-09-01.
 *
 * @throws UnsupportedError or InvalidInputError with the field; what `resolved` throws
 */
export async function containerGroupOf(
  pod: DeepReadonly<Pod>,
  resolved: ResolvedPod,
  { settings, ...context }: GroupContext,
  signal: AbortSignal,
): Promise<GroupRequest> {
  const { config } = settings;
  const { operatingSystem } = config;
  refuse(pod, operatingSystem);
  const { init, main, sidecars } = groupContainers(pod);
  if (main.length > maxContainers)
    throw unsupported(`spec.containers[${maxContainers}]`, `a container group has at most ${maxContainers} containers`);
  const placement = placementOf(pod, { resourceGroups: settings.resourceGroups, subnetId: settings.subnet?.id, zones: config.zones });
  const hasSubnet = placement.subnetId !== undefined;
  const { dns, notes: dnsNotes } = dnsOf(pod, {
    hasSubnet,
    operatingSystem,
    kubeDnsIp: config.kubeDnsIp,
    clusterDomain: context.clusterDomain,
  });
  const { address, notes: addressNotes } = addressOf(pod, main, { hasSubnet, publicAddress: config.publicAddress });
  const resources = resourcesOf(main, { skus: config.gpuSkus, wanted: annotationOf(pod, annotations.gpuType) });
  const all = [...init, ...main];
  const registries = registriesOf(pod, all, { entries: context.registryEntries, identities: config.registryIdentities });
  const identity = identityOf(
    pod,
    config,
    registries.credentials.map((credential) => credential.identity),
  );
  const files = await volumesOf(
    { pod, containers: all, resolved, operatingSystem, serviceAccountToken: config.serviceAccountToken },
    signal,
  );
  const within = { pod, resolved, mounts: files.mounts };
  const containers = [];
  for (const placed of main) {
    const own = resources.byName.get(placed.container.name);
    if (own) containers.push(await containerOf(placed, { ...within, resources: own }, signal));
  }
  const initContainers = [];
  for (const placed of init) initContainers.push(await initContainerOf(placed, within, signal));
  const extensions =
    hasSubnet && operatingSystem === "Linux"
      ? extensionsOf({ realTimeMetrics: config.realTimeMetrics, kubeProxy: context.kubeProxy })
      : undefined;
  const diagnostics = diagnosticsOf({
    logAnalytics: settings.logAnalytics,
    insights: settings.insights,
    nodeName: context.nodeName,
    podUid: podRef(pod).uid,
  });
  const body: ContainerGroupBody = {
    location: settings.region,
    tags: { ...context.tags, ...(sidecars.length > 0 && { [sidecarsTag]: sidecars.join(",") }) },
    ...(placement.zones && { zones: placement.zones }),
    ...(identity && { identity }),
    properties: {
      osType: operatingSystem,
      restartPolicy: restartPolicyOf(pod),
      ...placement.properties,
      containers,
      ...(initContainers.length > 0 && { initContainers }),
      ...(files.volumes.length > 0 && { volumes: files.volumes }),
      ...(registries.credentials.length > 0 && { imageRegistryCredentials: registries.credentials }),
      ...(placement.subnetId !== undefined && { subnetIds: [{ id: placement.subnetId }] }),
      ...(dns && { dnsConfig: dns }),
      ...(address && { ipAddress: address }),
      ...(extensions && { extensions }),
      ...(diagnostics && { diagnostics }),
      ...(config.encryption && { encryptionProperties: config.encryption }),
    },
  };
  const notes = [...dnsNotes, ...addressNotes, ...resources.notes, ...registries.notes, ...files.notes, ...podNotes(pod, sidecars)];
  return { resourceGroup: placement.resourceGroup, body, notes };
}

function podNotes({ spec }: DeepReadonly<Pod>, sidecars: readonly string[]): readonly Note[] {
  const hostname: Note = {
    reason: "HostnameIgnored",
    type: "Warning",
    message: `Azure chooses the host name: spec.hostname ${spec?.hostname} and spec.subdomain have no effect.`,
  };
  const sidecar: Note = {
    reason: "SidecarStartsWithContainers",
    type: "Normal",
    message: `Sidecars (${sidecars.join(", ")}) start with the regular containers, after all init containers, because Azure Container Instances has no sidecars.`,
  };
  return [...(spec?.hostname ? [hostname] : []), ...(sidecars.length > 0 ? [sidecar] : [])];
}

function restartPolicyOf({ spec }: DeepReadonly<Pod>): "Always" | "OnFailure" | "Never" {
  const policy = spec?.restartPolicy;
  return policy === "OnFailure" || policy === "Never" ? policy : "Always";
}
