import type { DeepReadonly, Pod, ResolvedPod, VolumePayload } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { refuseFields, type PodIdentity } from "@virtual-kubelet/remote-pods";
import type { ZunConfig } from "../config/schema.ts";
import { capsuleOf } from "../pod/capsule-of.ts";
import { containerOf, type ResolvedContainer, type ZunNet } from "../pod/container-of.ts";
import { toLabels, type PodLabels } from "../pod/pod-labels.ts";
import { checkCapsule, chooseKind, type ObjectKind } from "../pod/pod-mode.ts";
import { toPodSettings, type PodSettings } from "../pod/pod-settings.ts";
import { refuse } from "../pod/refused-fields.ts";
import { refusedProbes } from "../pod/refused-probes.ts";
import { mountsOf, volumesOf, type ZunMount, type ZunVolume } from "../pod/pod-volumes.ts";
import type { Minor } from "../zun/microversion.ts";

/** A pod whose references are resolved and whose kind is settled. It may hold secrets. */
export interface TranslatedPod {
  readonly pod: DeepReadonly<Pod>;
  readonly kind: ObjectKind;
  readonly settings: PodSettings;
  readonly labels: PodLabels;
  readonly resolved: ReadonlyMap<string, ResolvedContainer>;
  readonly volumes: ReadonlyMap<string, ZunVolume>;
  readonly mounts: readonly ZunMount[];
}

/**
 * Settles what becomes of a pod, before anything is made.
 *
 * @throws UnsupportedError and InvalidInputError naming the field; what the resolver throws
 */
export async function translatePod(
  pod: DeepReadonly<Pod>,
  resolver: ResolvedPod,
  { config, identity }: { readonly config: ZunConfig; readonly identity: PodIdentity },
  signal: AbortSignal,
): Promise<TranslatedPod> {
  const { ref, owner, attempt } = identity;
  refuse(pod);
  const settings = toPodSettings(pod, config);
  const kind = chooseKind(pod, settings);
  if (kind === "capsule") checkCapsule(settings);
  refuseFields(refusedProbes(pod, { kind, config }));
  const { containers = [], initContainers = [], restartPolicy } = pod.spec ?? {};
  const [only] = containers;
  if (!only) throw new InvalidInputError(`create pod ${ref.namespace}/${ref.name}: it has no container`);
  const volumes = volumesOf(pod, config);
  const resolved = await resolveAll([...containers, ...initContainers], resolver, signal);
  const payloads = kind === "container" ? await readFiles(volumes, only.volumeMounts ?? [], { resolver, signal }) : new Map();
  const ownsPorts = kind === "container" && settings.subnets.length > 0;
  return {
    pod,
    kind,
    settings,
    resolved,
    volumes,
    mounts: kind === "container" ? mountsOf(only, volumes, payloads) : [],
    labels: {
      ref,
      owner,
      containers: containers.map(({ name }) => name),
      initContainers: initContainers.map(({ name }) => name),
      restartPolicy: restartPolicy === "OnFailure" || restartPolicy === "Never" ? restartPolicy : "Always",
      ownsPorts,
      securityGroups: kind === "capsule" ? settings.securityGroups : [],
      floatingIp: settings.floatingIp,
      attempt,
    },
  };
}

/** Where the request goes, and its body. */
export function requestOf(
  translated: TranslatedPod,
  { config, nets, minor }: { readonly config: ZunConfig; readonly nets: readonly ZunNet[]; readonly minor: Minor },
): { readonly path: "/containers/?run=true" | "/capsules/"; readonly body: object } {
  const { pod, settings, resolved, mounts, volumes } = translated;
  const labels = toLabels(translated.labels, pod.metadata?.creationTimestamp ?? "");
  const common = { pod, labels, minor, availabilityZone: settings.availabilityZone, sendImagePullPolicy: config.sendImagePullPolicy };
  if (translated.kind === "capsule") return { path: "/capsules/", body: capsuleOf({ ...common, resolved, volumes }) };
  const [name = ""] = translated.labels.containers;
  const body = containerOf({
    ...common,
    resolved: resolved.get(name) ?? { env: [], command: [], args: [] },
    mounts,
    nets,
    securityGroups: translated.labels.ownsPorts ? [] : settings.securityGroups,
    registry: settings.registry,
    runtime: config.runtime,
  });
  return { path: "/containers/?run=true", body };
}

async function resolveAll(
  containers: readonly { readonly name: string }[],
  resolver: ResolvedPod,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ResolvedContainer>> {
  const resolved = new Map<string, ResolvedContainer>();
  for (const { name } of containers) {
    const [env, commandLine] = await Promise.all([resolver.environment(name, signal), resolver.commandLine(name, signal)]);
    resolved.set(name, { env, ...commandLine });
  }
  return resolved;
}

async function readFiles(
  volumes: ReadonlyMap<string, ZunVolume>,
  mounts: readonly { readonly name: string }[],
  { resolver, signal }: { readonly resolver: ResolvedPod; readonly signal: AbortSignal },
): Promise<ReadonlyMap<string, VolumePayload>> {
  const payloads = new Map<string, VolumePayload>();
  for (const { name } of mounts)
    if (volumes.get(name)?.kind === "files" && !payloads.has(name)) payloads.set(name, await resolver.volume(name, signal));
  return payloads;
}
