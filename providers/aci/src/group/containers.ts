import type { DeepReadonly, Pod, ResolvedPod } from "@virtual-kubelet/core";
import type { GroupContainer, GroupInitContainer, GroupResources, GroupVolumeMount } from "../azure/container-group.ts";
import { variablesOf } from "./environment.ts";
import type { PlacedContainer } from "./fields.ts";
import { portsOf } from "./network.ts";
import { probeOf } from "./probes.ts";
import { securityOf } from "./security.ts";

/** Context of a container's translation. */
export interface ContainerContext {
  readonly pod: DeepReadonly<Pod>;
  readonly resolved: ResolvedPod;
  readonly mounts: ReadonlyMap<string, readonly GroupVolumeMount[]>;
}

/** Translates a container that runs together with others. @throws UnsupportedError, InvalidInputError, what `resolved` throws */
export async function containerOf(
  placed: PlacedContainer,
  { resources, ...context }: ContainerContext & { readonly resources: GroupResources },
  signal: AbortSignal,
): Promise<GroupContainer> {
  const ports = portsOf(placed);
  const livenessProbe = probeOf(placed, "livenessProbe");
  const readinessProbe = probeOf(placed, "readinessProbe");
  return {
    name: placed.container.name,
    properties: {
      ...(await commonOf(placed, context, signal)),
      ...(ports.length > 0 && { ports }),
      resources,
      ...(livenessProbe && { livenessProbe }),
      ...(readinessProbe && { readinessProbe }),
    },
  };
}

/** Translates an init container. @throws as {@link containerOf} */
export async function initContainerOf(
  placed: PlacedContainer,
  context: ContainerContext,
  signal: AbortSignal,
): Promise<GroupInitContainer> {
  return { name: placed.container.name, properties: await commonOf(placed, context, signal) };
}

async function commonOf(
  placed: PlacedContainer,
  { pod, resolved, mounts }: ContainerContext,
  signal: AbortSignal,
): Promise<GroupInitContainer["properties"]> {
  const { name, image = "" } = placed.container;
  const variables = variablesOf(placed, await resolved.environment(name, signal));
  const { command, args } = await resolved.commandLine(name, signal);
  const words = [...command, ...args];
  const volumeMounts = mounts.get(name) ?? [];
  const securityContext = securityOf(placed, pod.spec?.securityContext);
  return {
    image,
    ...(words.length > 0 && { command: words }),
    ...(variables.length > 0 && { environmentVariables: variables }),
    ...(volumeMounts.length > 0 && { volumeMounts }),
    ...(securityContext && { securityContext }),
  };
}
