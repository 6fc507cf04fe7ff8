import type { TranslatedPod } from "./translate-pod.ts";

/** What a pod asks for and Zun cannot keep: a warning for people. */
export interface KeptLimit {
  readonly reason: string;
  readonly message: string;
}

/** All that a pod asks for and Zun cannot keep, and that is no reason to refuse it. */
export function keptLimits(translated: TranslatedPod): readonly KeptLimit[] {
  const { kind, pod, settings, volumes } = translated;
  const limits: KeptLimit[] = kind === "capsule" ? limitsOfCapsule(translated) : [];
  if (pod.spec?.imagePullSecrets?.length && settings.registry === undefined)
    limits.push({
      reason: "PullSecretsUnused",
      message: "Zun pulls images with the credentials of a registry that it knows, not with imagePullSecrets: name one by registry",
    });
  const mounts = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])].flatMap(({ volumeMounts = [] }) => volumeMounts);
  const isCinder = (name: string): boolean => ["cinder", "new-cinder"].includes(volumes.get(name)?.kind ?? "");
  const writable = mounts.filter(({ name, readOnly }) => readOnly && isCinder(name));
  if (writable.length > 0)
    limits.push({
      reason: "VolumeWritable",
      message: `Zun mounts Cinder volumes for writing, whatever readOnly says: ${[...new Set(writable.map(({ name }) => name))].join(", ")}`,
    });
  return limits;
}

function limitsOfCapsule({ pod, labels }: TranslatedPod): KeptLimit[] {
  const limits: KeptLimit[] = [];
  if (labels.restartPolicy !== "Always")
    limits.push({
      reason: "EndNotSeen",
      message: "Zun does not tell when a container of a pod of several containers ends: this pod is said to run until it is deleted",
    });
  if (pod.spec?.containers.some(({ command = [] }) => command.length > 0))
    limits.push({
      reason: "EntryPointStays",
      message: "Zun runs the command of a pod of several containers as arguments of the image's entry point, if it has one",
    });
  return limits;
}
