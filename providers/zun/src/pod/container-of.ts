import type { Container, DeepReadonly, Pod, ResolvedEnvVar } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { Minor } from "../zun/microversion.ts";
import { entrypointMinor } from "../zun/microversion.ts";
import { objectName, refOf } from "./pod-labels.ts";
import type { ZunMount } from "./pod-volumes.ts";
import { resourcesOf } from "./resources-of.ts";

/** Network of a container. Source: zun 18.0.0 parameter_types.py (`nets`). */
export type ZunNet =
  | { readonly network: string; readonly "v4-fixed-ip"?: string; readonly "v6-fixed-ip"?: string }
  | { readonly port: string };

/** Resolved references of a container. They may contain secrets. */
export interface ResolvedContainer {
  readonly env: readonly ResolvedEnvVar[];
  readonly command: readonly string[];
  readonly args: readonly string[];
}

/** Input of {@link containerOf}. */
export interface ContainerPlan {
  readonly pod: DeepReadonly<Pod>;
  readonly labels: Readonly<Record<string, string>>;
  readonly resolved: ResolvedContainer;
  readonly mounts: readonly ZunMount[];
  readonly nets: readonly ZunNet[];
  /** Absent if the container's ports already have their security groups. */
  readonly securityGroups: readonly string[];
  readonly availabilityZone?: string | undefined;
  readonly registry?: string | undefined;
  readonly runtime?: string | undefined;
  readonly sendImagePullPolicy: boolean;
  readonly minor: Minor;
}

/** Source: zun 18.0.0 zun/common/utils.py (`check_for_restart_policy`); 0 retries means no limit. */
const restartPolicies: Readonly<Record<string, string>> = { Always: "always", OnFailure: "on-failure", Never: "no" };
const maxHostName = 63;

/**
 * Returns the body of the request that creates a pod's only container.
 *
 * @throws UnsupportedError if Zun is too old for a field
 */
export function containerOf(plan: ContainerPlan): Readonly<Record<string, unknown>> {
  const { pod, labels, resolved, mounts, nets, securityGroups, minor } = plan;
  const spec = pod.spec;
  const container: DeepReadonly<Container> = spec?.containers[0] ?? { name: "" };
  const { command, args } = resolved;
  if (command.length > 0 && minor < entrypointMinor)
    throw new UnsupportedError(
      `this Zun knows API 1.${minor}, and a command that replaces the image's entrypoint needs 1.${entrypointMinor}`,
      {
        fieldPath: "spec.containers[0].command",
      },
    );
  const ref = refOf(pod);
  return {
    name: objectName(ref),
    image: container.image,
    ...(command.length > 0 && { entrypoint: command }),
    ...(args.length > 0 && { command: args }),
    environment: environmentOf(resolved.env),
    ...(container.workingDir !== undefined && { workdir: container.workingDir }),
    ...resourcesOf(container),
    labels,
    restart_policy: { Name: restartPolicies[spec?.restartPolicy ?? "Always"] },
    interactive: container.stdin === true,
    tty: container.tty === true,
    hostname: (spec?.hostname ?? ref.name).slice(0, maxHostName).replace(/[.-]+$/, ""),
    ...(mounts.length > 0 && { mounts }),
    ...(nets.length > 0 && { nets }),
    ...(securityGroups.length > 0 && { security_groups: securityGroups }),
    ...(plan.availabilityZone !== undefined && { availability_zone: plan.availabilityZone }),
    ...(plan.registry !== undefined && { registry: plan.registry }),
    ...(plan.runtime !== undefined && { runtime: plan.runtime }),
    ...(plan.sendImagePullPolicy && container.imagePullPolicy && { image_pull_policy: container.imagePullPolicy.toLowerCase() }),
  };
}

/** Environment in Zun's format. If a name occurs twice, the later value is used. */
export function environmentOf(env: readonly ResolvedEnvVar[]): Record<string, string> {
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}
