import { messageOf } from "@virtual-kubelet/errdefs";
import { resources, type CoreEvent } from "@virtual-kubelet/kube-client";
import type { FarNode } from "../far/far-node.ts";

/** Why a far pod was ended that is gone, in the form of `endedStatusOf`. */
export interface EndingCause {
  readonly reason?: string | undefined;
  readonly words: string;
}

/** Time limit for the question, because an end is shown without its cause rather than late. */
const readMs = 10_000;

/**
 * Reasons of events that tell of a pod's end, with the reason that the pod's condition has for it.
 * Source: kubernetes v1.36.3 pkg/scheduler/framework/preemption, pkg/controller/tainteviction, pkg/kubelet/eviction.
 */
const endings: Readonly<Record<string, string>> = {
  Evicted: "Evicted",
  Preempted: "PreemptionByScheduler",
  TaintManagerEviction: "DeletionByTaintManager",
};

/**
 * Reads why a far pod ended while the program was stopped, from its events, which the far cluster keeps for about an hour. Without the right to
 * read them, or an answer, only its deletion is known.
 */
export async function readEndingCause(
  { config, far, host }: FarNode,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<EndingCause> {
  const words = "was deleted in the far cluster while its virtual node was away";
  if (!config.events) return { words };
  const limit = new AbortController();
  using _timer = host.clock.setTimer(readMs, () => limit.abort(new Error("the far cluster lists no events")));
  try {
    const query = { namespace, fieldSelector: `involvedObject.kind=Pod,involvedObject.name=${name}` };
    const { items } = await far.connection.client.list(resources.events, query, { signal: AbortSignal.any([signal, limit.signal]) });
    const events = items.toSorted((a, b) => timeOf(a) - timeOf(b));
    const ending = events.findLast(isEnding);
    const last = ending ?? events.at(-1);
    return { reason: ending && endings[ending.reason ?? ""], words: last ? `${words}; its last event: ${textOf(last)}` : words };
  } catch (error) {
    signal.throwIfAborted();
    host.logger.debug({ pod: `${namespace}/${name}`, err: messageOf(error) }, "the events of a far pod that is gone were not read");
    return { words };
  }
}

/** The controller of taints has the same reason for an eviction that it takes back. */
function isEnding({ reason = "", message = "" }: CoreEvent): boolean {
  return Object.hasOwn(endings, reason) && !message.startsWith("Cancelling ");
}

function textOf({ reason, message }: CoreEvent): string {
  return message ? `${reason}: ${message}` : `${reason}`;
}

/** When the event happened last, in milliseconds since 1970. */
function timeOf({ series, lastTimestamp, eventTime, metadata }: CoreEvent): number {
  const time = series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata.creationTimestamp;
  return Date.parse(String(time ?? "")) || 0;
}
