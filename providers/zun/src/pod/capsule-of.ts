import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import { initContainersMinor, type Minor } from "../zun/microversion.ts";
import { environmentOf, type ResolvedContainer } from "./container-of.ts";
import { objectName, refOf } from "./pod-labels.ts";
import type { ZunVolume } from "./pod-volumes.ts";
import { resourcesOf } from "./resources-of.ts";

/** Input of {@link capsuleOf}. */
export interface CapsulePlan {
  readonly pod: DeepReadonly<Pod>;
  readonly labels: Readonly<Record<string, string>>;
  /** Values by container name. */
  readonly resolved: ReadonlyMap<string, ResolvedContainer>;
  readonly volumes: ReadonlyMap<string, ZunVolume>;
  readonly availabilityZone?: string | undefined;
  readonly sendImagePullPolicy: boolean;
  readonly minor: Minor;
}

/**
 * Returns the body of the request that creates a capsule for a pod.
 *
 * @throws UnsupportedError with a field that capsules do not support
 */
export function capsuleOf(plan: CapsulePlan): { readonly template: Readonly<Record<string, unknown>> } {
  const { pod, labels, availabilityZone, minor } = plan;
  const { containers = [], initContainers = [], restartPolicy = "Always" } = pod.spec ?? {};
  if (initContainers.length > 0 && minor < initContainersMinor)
    throw new UnsupportedError(`this Zun knows API 1.${minor}, and init containers need 1.${initContainersMinor}`, {
      fieldPath: "spec.initContainers",
    });
  const used = new Set([...containers, ...initContainers].flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)));
  const volumes = [...plan.volumes].flatMap(([name, volume]) => (used.has(name) ? capsuleVolume(name, volume, pod) : []));
  return {
    template: {
      kind: "capsule",
      capsuleVersion: "beta",
      metadata: { name: objectName(refOf(pod)), labels },
      spec: {
        restartPolicy,
        containers: containers.map((container, index) => memberOf(container, `spec.containers[${index}]`, plan)),
        ...(initContainers.length > 0 && {
          initContainers: initContainers.map((container, index) => memberOf(container, `spec.initContainers[${index}]`, plan)),
        }),
        ...(volumes.length > 0 && { volumes }),
      },
      ...(availabilityZone !== undefined && { availabilityZone }),
    },
  };
}

function memberOf(container: DeepReadonly<Container>, path: string, { resolved, volumes, sendImagePullPolicy }: CapsulePlan): object {
  const { env = [], command = [], args = [] } = resolved.get(container.name) ?? {};
  const resources = resourcesOf(container);
  const mounts = (container.volumeMounts ?? []).filter(({ name }) => isCinder(volumes.get(name)));
  for (const [index, { subPath, subPathExpr }] of (container.volumeMounts ?? []).entries())
    if (subPath ?? subPathExpr)
      throw new UnsupportedError("Zun mounts a Cinder volume as a whole", { fieldPath: `${path}.volumeMounts[${index}].subPath` });
  return {
    image: container.image,
    // Zun passes both on as arguments of the image's own entrypoint.
    ...(command.length > 0 && { command }),
    ...(args.length > 0 && { args }),
    env: environmentOf(env),
    ...(container.workingDir !== undefined && { workDir: container.workingDir }),
    ...(Object.keys(resources).length > 0 && { resources: { requests: resources } }),
    ...(container.stdin === true && { stdin: true }),
    ...(container.tty === true && { tty: true }),
    ...(mounts.length > 0 && { volumeMounts: mounts.map(({ name, mountPath }) => ({ name: volumeName(name), mountPath })) }),
    ...(sendImagePullPolicy && container.imagePullPolicy && { imagePullPolicy: container.imagePullPolicy.toLowerCase() }),
  };
}

function isCinder(volume: ZunVolume | undefined): boolean {
  return volume?.kind === "cinder" || volume?.kind === "new-cinder";
}

function capsuleVolume(name: string, volume: ZunVolume, pod: DeepReadonly<Pod>): object[] {
  switch (volume.kind) {
    case "none":
      return [];
    case "cinder":
      return [{ name: volumeName(name), cinder: { volumeID: volume.volumeId } }];
    case "new-cinder":
      return [{ name: volumeName(name), cinder: { size: volume.sizeGib, autoRemove: true } }];
    default: {
      const index = pod.spec?.volumes?.findIndex((each) => each.name === name) ?? 0;
      const what =
        volume.kind === "files"
          ? "has no files of secrets and config maps"
          : "has an emptyDir only with emptyDir: cinder in the configuration";
      throw new UnsupportedError(`a pod with several containers is a Zun capsule, which ${what}`, {
        fieldPath: `spec.volumes[${index}]`,
      });
    }
  }
}

/** Zun requires at least two characters. */
function volumeName(name: string): string {
  return `v-${name}`;
}
