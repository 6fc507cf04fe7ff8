import type { DeepReadonly, Node, Pod } from "@virtual-kubelet/kube-client";
import type { ApiServer } from "@virtual-kubelet/embedded-apiserver";
import type { BackEnd } from "./back-end.ts";
import { containerIdOf, isLive, type Instance } from "./instance.ts";
import { isTerminal, nodeKind, podKind, toPod } from "./invariants.ts";
import { nodeName } from "./program.ts";

/** Label of a pod that cannot be run: the reason it waits for. */
export const waitsLabel = "simulation/waits";

/** Label of a pod that the node has to refuse: the reason it fails for. */
export const failsLabel = "simulation/fails";

interface RestingProgram {
  readonly node: { readonly health: { readonly ready: boolean } };
  readonly calls: { knowsEnd(uid: string): boolean };
}

/** What is looked at. */
interface RestingWorld {
  readonly server: ApiServer;
  readonly backEnd: BackEnd;
  /** UIDs of the pods that the back end has lost. */
  readonly lost: ReadonlySet<string>;
  /** By UID, the instance that the back end has removed because it had ended by itself. */
  readonly forgotten: ReadonlyMap<string, Instance>;
  /** By UID, the program that made the pod and ran when its labels were edited. */
  readonly relabelled: ReadonlyMap<string, unknown>;
  readonly program: RestingProgram | undefined;
  /** Another instance; one of the two stands by. */
  readonly rival: RestingProgram | undefined;
  /** Whether two instances ran the node at one time: what one says has ended the other one may still end. */
  readonly hadTwoInstances: boolean;
  readonly invariants: { readonly overwritten: ReadonlyMap<string, number> };
}

/** Reasons why a world is not at rest, one sentence each. */
export interface Unrest {
  /** Problems of the node and its pods. */
  readonly pods: readonly string[];
  /** Instances on the back end without a pod. */
  readonly orphans: readonly string[];
}

/**
 * Looks whether a world is at rest: each pod runs and says so, or has ended, or waits for what it cannot have; and
 * nothing runs that nobody wants.
 */
export function unrestOf(world: RestingWorld): Unrest {
  const { server, backEnd } = world;
  const pods = server.cluster.list(podKind).map(toPod);
  const byUid = new Map(pods.map((pod) => [pod.metadata?.uid ?? "", pod]));
  return {
    pods: [
      // The node's conditions may be those that an earlier program wrote.
      ...(world.program && ![world.program, world.rival].some((program) => program?.node.health.ready)
        ? ["the program has not listed the provider's pods yet"]
        : []),
      ...nodeProblems(server.cluster.get(nodeKind, undefined, nodeName)),
      ...pods.flatMap((pod) => {
        const { name, uid = "" } = pod.metadata ?? {};
        return podProblems(pod, backEnd.of(uid), world).map((problem) => `pod ${name} ${problem}`);
      }),
    ],
    orphans: backEnd.list().flatMap(({ id, ref }) => (byUid.has(ref.uid) ? [] : [`${id} is there for pod ${ref.name}, which is gone`])),
  };
}

function nodeProblems(node: Node | undefined): string[] {
  if (!node) return ["the node is gone"];
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status !== "True") return [`the node is not ready: ${ready?.reason}`];
  return (node.spec?.taints ?? []).map(({ key }) => `the node is tainted ${key}`);
}

function podProblems(pod: Pod, instances: readonly Instance[], world: RestingWorld): string[] {
  const { deletionTimestamp, finalizers = [] } = pod.metadata ?? {};
  const isHeld = deletionTimestamp !== undefined && finalizers.length > 0;
  if (!pod.spec?.nodeName) return isHeld ? [] : ["is not scheduled"];
  if (deletionTimestamp && !isHeld) return ["is deleted and still there"];
  const phase = pod.status?.phase;
  const isEnded = isTerminal(phase);
  if ((isHeld || isEnded) && instances.some(isLive)) return [`is ${isHeld ? "deleted" : phase} and runs`];
  if (isHeld) return isEnded ? [] : [`has ended and is ${phase}`];
  const [instance] = instances;
  if (isEnded) return endProblems(pod, instance, world);
  if (pod.spec.activeDeadlineSeconds !== undefined) return ["has a deadline, and has not ended"];
  return instance ? runProblems(pod, instance, world) : waitProblems(pod);
}

function waitProblems({ metadata, status }: Pod): string[] {
  const waits = metadata?.labels?.[waitsLabel];
  if (!waits) return [`is ${status?.phase} and runs nowhere`];
  const reason = status?.containerStatuses?.[0]?.state?.waiting?.reason;
  return status?.phase === "Pending" && reason === waits ? [] : [`is ${status?.phase} and waits for ${reason}, not for ${waits}`];
}

function hasExpired({ spec, status }: Pod): boolean {
  return status?.phase === "Failed" && status.reason === "DeadlineExceeded" && spec?.activeDeadlineSeconds !== undefined;
}

/** Tells whether a pod of a workload that is made to fail has failed for the reason that its label names. */
function failsAsAsked({ metadata, status }: Pod): boolean {
  const fails = metadata?.labels?.[failsLabel];
  return fails !== undefined && fails === status?.reason;
}

function endProblems(pod: Pod, held: Instance | undefined, world: RestingWorld): string[] {
  const { forgotten, hadTwoInstances, invariants, lost, program } = world;
  const { phase, reason } = pod.status ?? {};
  const uid = pod.metadata?.uid ?? "";
  // Another writer's word stands; and what is over its time has failed, however its containers ended.
  if (invariants.overwritten.has(uid)) return [];
  if (hasExpired(pod)) return [];
  const gone = forgotten.get(uid);
  const isKnown = program?.calls.knowsEnd(uid) === true;
  // An end that only an earlier program knew of, or none, counts as a loss.
  if (!held && gone && !isKnown) return [];
  const instance = held ?? gone;
  if (instance?.state.kind !== "ended") return lost.has(uid) || hadTwoInstances || failsAsAsked(pod) ? [] : [`is ${phase} for ${reason}`];
  const expected = instance.state.exitCode === 0 ? "Succeeded" : "Failed";
  return phase === expected ? [] : [`is ${phase}, its containers ${expected}`];
}

function runProblems(pod: Pod, instance: Instance, world: RestingWorld): string[] {
  const { status } = pod;
  if (instance.state.kind !== "running") return [`is ${status?.phase}, its instance ${instance.state.kind}`];
  const idle = instance.containers.find(({ state }) => state.kind === "waiting" || (state.kind === "ended" && state.isRestarting));
  if (idle) return [`waits for its container ${idle.name}`];
  const isWhole = instance.containers.every(({ role, state }) => role === "init" || state.kind === "running");
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return differences([
    ["phase", status?.phase, "Running"],
    ["Ready", ready?.status, isWhole ? "True" : "False"],
    ["address", status?.podIP, instance.podIP],
    ...instance.containers.flatMap((run) => {
      const is = statuses.find(({ name }) => name === run.name);
      return [
        [`id of ${run.name}`, is?.containerID, containerIdOf(instance, run)] as const,
        [`state of ${run.name}`, Object.keys(is?.state ?? {}).join(), run.state.kind === "ended" ? "terminated" : "running"] as const,
        // A pod that was lost and made again has restarted, too.
        [`restarts of ${run.name}`, Math.min(is?.restartCount ?? 0, run.restarts), run.restarts] as const,
      ];
    }),
    ["images at the back end", imagesOf(instance.applied), imagesOf(pod)],
    ...(knowsLabels(pod, world) ? [["label at the back end", labelOf(instance.applied), labelOf(pod)] as const] : []),
  ]);
}

/** Whether the program can know that the pod's labels were edited. Edits while no program ran are unknown. */
function knowsLabels({ metadata }: Pod, { program, relabelled }: RestingWorld): boolean {
  return program !== undefined && relabelled.get(metadata?.uid ?? "") === program;
}

function imagesOf({ spec }: DeepReadonly<Pod>): string {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(({ image }) => image).join(", ");
}

function labelOf({ metadata }: DeepReadonly<Pod>): string | undefined {
  return metadata?.labels?.["round"];
}

function differences(table: readonly (readonly [what: string, is: unknown, ought: unknown])[]): string[] {
  return table
    .filter(([, is, ought]) => is !== ought)
    .map(([what, is, ought]) => `runs; its ${what} is ${String(is)}, not ${String(ought)}`);
}
