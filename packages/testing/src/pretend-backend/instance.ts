import type { DeepReadonly, Owner, Pod, PodRef } from "@virtual-kubelet/core";

/** What an instance of a pretend back end does. */
export type InstanceState =
  /** Accepted; its containers start after the start delay. */
  | { readonly kind: "starting"; readonly runsAtMs: number }
  | { readonly kind: "running"; readonly startedAtMs: number }
  /** Told to end; it does so at `endsAtMs`, by itself or because the grace is over. */
  | { readonly kind: "stopping"; readonly startedAtMs: number | undefined; readonly endsAtMs: number; readonly killed: boolean }
  /** All its containers have ended; it is kept until it is deleted. */
  | { readonly kind: "ended"; readonly startedAtMs: number | undefined; readonly endedAtMs: number; readonly exitCode: number };

/** One thing a pretend back end runs for a pod. Another create makes another instance, with another id. */
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

/** What an instance does by itself, where the back end's timings do not say it. */
export interface InstanceScript {
  /** Milliseconds after its start until all its containers end. */
  readonly exitAfterMs?: number | undefined;
  /** What they end with; default 0. */
  readonly exitCode?: number | undefined;
  /** Milliseconds it takes to end when told to. */
  readonly stopDelayMs?: number | undefined;
}

/** What a pretend back end is asked to run. */
export interface InstanceRequest {
  readonly ref: PodRef;
  readonly owner: Owner;
  readonly containers: readonly InstanceContainer[];
  readonly initContainers: readonly InstanceContainer[];
  readonly script?: InstanceScript | undefined;
}

/** Prefix of the annotations that script a pod: `exit-after-ms`, `exit-code`, `stop-delay-ms`. */
export const instanceScriptDomain = "pretend.virtual-kubelet.io";

/** What is to be run for a pod. */
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
