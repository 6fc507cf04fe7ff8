import type { NodeInspection, NodePoolState, PodInspection } from "@virtual-kubelet/core";
import { shortDuration } from "./short-duration.ts";

/** What is known of the program itself. */
export interface ProgramState {
  /** Version of the program. */
  readonly version: string;
  /** Version of Kubernetes whose rules the program follows. */
  readonly kubernetes: string;
  readonly pid: number;
  /** Name of the host; in a pod, the pod's name. */
  readonly host: string;
  /** Milliseconds since the program started to run nodes. */
  readonly upMs: number;
  /** Program that runs a node of this one, and for whose end this one waits, because it stands by. */
  readonly waitsFor: string | undefined;
  /** The nodes that it shares with other instances; `undefined` if it shares none. */
  readonly shares?: NodePoolState | undefined;
}

/** A number of a node, or several that belong together. */
interface Figure {
  readonly label: string;
  readonly text: string;
}

/** A node in words. */
export interface NodeWords {
  readonly state: string;
  readonly figures: readonly Figure[];
}

/** A pod in words, for the columns of a table. `-` for nothing. */
export interface PodWords {
  /** The phase at the API server, and the wanted one if that is another. `*` if the status is not written yet. */
  readonly phase: string;
  readonly backEnd: string;
  readonly next: string;
  readonly doing: string;
}

/** Describes a node. */
export function nodeWords(node: NodeInspection): NodeWords {
  return { state: nodeState(node), figures: nodeFigures(node) };
}

/** Describes a pod. */
export function podWords(pod: PodInspection): PodWords {
  return { phase: phaseOf(pod), backEnd: backEndOf(pod), next: pod.next === "nothing" ? "-" : pod.next, doing: doingOf(pod) };
}

/** What happens to a pod, in a few words. */
function doingOf({ activity, next, failures }: PodInspection): string {
  switch (activity.kind) {
    case "idle":
      return "-";
    case "queued":
      return `waits for a worker, ${shortDuration(activity.forMs)}`;
    case "waitingForPermit":
      return `waits for its turn to ${activity.operation}, ${shortDuration(activity.forMs)}`;
    case "calling":
      return `${activity.isGivenUp ? "unanswered " : ""}${activity.operation}, ${shortDuration(activity.forMs)}`;
    case "working":
      return `${next === "inspect" ? "asks the provider" : next === "confirm" ? "asks the API server" : "at work"}, ${shortDuration(activity.forMs)}`;
    case "backingOff":
      return `again in ${shortDuration(activity.inMs)}, attempt ${failures + 1}`;
    case "scheduled":
      return `looks again in ${shortDuration(activity.inMs)}`;
    default:
      return activity satisfies never;
  }
}

/** The phase at the API server, and the one that is to be written if that is another. */
function phaseOf({ phase, wantedPhase, isStatusWritten }: PodInspection): string {
  const shown = phase ?? "(gone)";
  if (isStatusWritten) return shown;
  return wantedPhase === undefined || wantedPhase === phase ? `${shown} *` : `${shown} > ${wantedPhase}`;
}

/** The state at the back end, with the time that is left to a pod that ends. */
function backEndOf({ backEnd, ending }: PodInspection): string {
  if (backEnd !== "ending" || !ending) return backEnd;
  return ending.inMs >= 0 ? `ending, ${shortDuration(ending.inMs)}` : `ending, ${shortDuration(-ending.inMs)} late`;
}

/** How a node is, in one line. */
function nodeState({ stage, isReady, lease }: NodeInspection): string {
  switch (stage) {
    case "notStarted":
      return "not started";
    case "starting":
      return "starts";
    case "waitingForLease":
      return lease.holder === undefined ? "waits for its lease" : `stands by: instance ${lease.holder} holds the lease`;
    case "registering":
      return "registers itself";
    case "listing":
      return "waits for the first lists of pods";
    case "running":
      return isReady ? "ready" : "not ready";
    case "stopping":
      return stage;
    case "ended":
      return "has ended";
    default:
      return stage satisfies never;
  }
}

/** The numbers of a node, by what they are about. */
function nodeFigures(node: NodeInspection): Figure[] {
  const { counts, lease, ping, queues, permits, watch, orphans, events, inventory } = node;
  const phases = Object.entries(counts.byPhase).map(([phase, count]) => `${count} ${phase}`);
  const waiting = permits.filter(({ waiting: pods }) => pods > 0).map(({ kind, waiting: pods }) => `${pods} wait to ${kind}`);
  const calls = permits.reduce((sum, { held }) => sum + held, 0);
  const listed = inventory.ageMs === undefined ? [] : [`listed ${inventory.pods} pods ${shortDuration(inventory.ageMs)} ago`];
  const renewed = lease.renewedAgeMs === undefined ? "not held" : `renewed ${shortDuration(lease.renewedAgeMs)} ago`;
  const heard = watch.heardAgeMs === undefined ? "no news yet" : `news ${shortDuration(watch.heardAgeMs)} ago`;
  return [
    { label: "pods", text: [counts.total, ...phases, ...(counts.problems > 0 ? [`${counts.problems} with a problem`] : [])].join(", ") },
    { label: "provider", text: [`${node.provider} ${providerState(ping)}`, ...listed].join(", ") },
    { label: "lease", text: `${renewed}, instance ${lease.identity}` },
    ...queues.map(({ name, queued, working, delayed, failing }) => ({
      label: queueLabels[name] ?? name,
      text: `${queued} queued, ${working} at work, ${delayed} later, ${failing} failing`,
    })),
    ...(permits.length > 0 ? [{ label: "calls", text: [`${calls} under way`, ...waiting].join(", ") }] : []),
    { label: "watch", text: `${heard}, ${watch.lists} lists, ${watch.endedWatches} restarts` },
    { label: "orphans", text: `${orphans.suspected} suspected` },
    { label: "events", text: `${events.waiting} waiting, ${events.dropped} dropped, ${events.failed} failed` },
  ];
}

/** What the queues are called. */
const queueLabels: Readonly<Record<string, string>> = { pods: "actions", "pod-status": "statuses" };

function providerState({ kind, answeredAgeMs }: NodeInspection["ping"]): string {
  if (kind === "unknown") return "has not been pinged";
  const age = answeredAgeMs === undefined ? "never" : `${shortDuration(answeredAgeMs)} ago`;
  return kind === "up" ? `answered ${age}` : `does not answer, last answer ${age}`;
}

/** The program in one line. */
export function programWords({ version, pid, host, upMs, waitsFor, shares }: ProgramState): string {
  const wait = waitsFor === undefined ? "" : `; stands by until ${waitsFor} on this host ends`;
  return `virtual-kubelet ${version}, process ${pid} on ${host}, up ${shortDuration(upMs)}${wait}${shares ? `; ${sharesWords(shares)}` : ""}`;
}

/** How many nodes of a group the program runs. */
function sharesWords({ group, nodes, running, assigned, members, failing }: NodePoolState): string {
  if (members.length === 0) return `joins group ${group}`;
  const share = running === assigned ? "" : `, its share is ${assigned}`;
  const failed = failing.length === 0 ? "" : `, and ${failing.length} failed and ${failing.length === 1 ? "is" : "are"} tried again`;
  return `runs ${running} of the ${nodes} nodes of group ${group}, which has ${members.length} ${members.length === 1 ? "instance" : "instances"}${share}${failed}`;
}
