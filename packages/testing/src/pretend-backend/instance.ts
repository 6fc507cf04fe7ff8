import type { DeepReadonly, Owner, Pod, PodRef } from "@virtual-kubelet/core";

/** State of an instance of a pretend back end. */
export type InstanceState =
  /** Accepted; its containers start after the start delay. */
  | { readonly kind: "starting"; readonly runsAtMs: number }
  | { readonly kind: "running"; readonly startedAtMs: number }
  /** Stopping; it ends at `endsAtMs`, by itself or because the grace period is over. */
  | { readonly kind: "stopping"; readonly startedAtMs: number | undefined; readonly endsAtMs: number; readonly killed: boolean }
  /** All containers have ended; the instance is kept until it is deleted. */
  | { readonly kind: "ended"; readonly startedAtMs: number | undefined; readonly endedAtMs: number; readonly exitCode: number };

/** An instance of a pod on a pretend back end. Every create makes a new instance with a new id. */
export interface Instance {
  readonly instanceId: string;
  readonly ref: PodRef;
  readonly owner: Owner;
  readonly createdAtMs: number;
  readonly podIP: string;
  readonly state: InstanceState;
  /** Containers of the pod, as far as their statuses need them. */
  readonly containers: readonly InstanceContainer[];
  readonly initContainers: readonly InstanceContainer[];
  readonly script?: InstanceScript | undefined;
}

/** A container of an {@link Instance}. */
export interface InstanceContainer {
  readonly name: string;
  readonly image: string;
}

/** Behavior of an instance that overrides the back end's timings. */
export interface InstanceScript {
  /** Milliseconds after its start until all its containers end. */
  readonly exitAfterMs?: number | undefined;
  /** Exit code of all containers; default 0. */
  readonly exitCode?: number | undefined;
  /** Milliseconds until it ends after a stop. */
  readonly stopDelayMs?: number | undefined;
}

/** Request to create an instance. */
export interface InstanceRequest {
  readonly ref: PodRef;
  readonly owner: Owner;
  readonly containers: readonly InstanceContainer[];
  readonly initContainers: readonly InstanceContainer[];
  readonly script?: InstanceScript | undefined;
}

/** Prefix of the annotations that script a pod: `exit-after-ms`, `exit-code`, `stop-delay-ms`. */
export const instanceScriptDomain = "pretend.virtual-kubelet.io";

/** Converts a pod to a request. */
export function toInstanceRequest(pod: DeepReadonly<Pod>, owner: Owner): InstanceRequest {
  const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
  const container = ({
    name: containerName,
    image = "",
  }: {
    readonly name: string;
    readonly image?: string | undefined;
  }): InstanceContainer => ({
    name: containerName,
    image,
  });
  return {
    ref: { namespace, name, uid },
    owner,
    containers: (pod.spec?.containers ?? []).map(container),
    initContainers: (pod.spec?.initContainers ?? []).map(container),
    ...scriptOf(pod),
  };
}

function scriptOf({ metadata }: DeepReadonly<Pod>): { readonly script?: InstanceScript } {
  const read = (field: string): number | undefined => {
    const text = metadata?.annotations?.[`${instanceScriptDomain}/${field}`];
    return text === undefined ? undefined : Number(text);
  };
  const script = { exitAfterMs: read("exit-after-ms"), exitCode: read("exit-code"), stopDelayMs: read("stop-delay-ms") };
  return Object.values(script).every((value) => value === undefined) ? {} : { script };
}
