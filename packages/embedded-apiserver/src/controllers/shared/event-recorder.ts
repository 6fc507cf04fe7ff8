import type { Clock } from "@virtual-kubelet/clock";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import type { Cluster } from "../../rest/cluster.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { eventKind } from "../../kinds/event/event.ts";

export interface EventText {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** Writes events on behalf of the server's controllers. */
export interface EventRecorder {
  /** @param component - source of the event, such as `deployment-controller` */
  record(component: string, about: Readonly<ApiObject>, text: EventText): void;
}

/** Maximum number of events remembered for counting repetitions. */
const rememberedLimit = 4096;
/** Interval after which a repetition becomes a new event. Source: k8s.io/client-go v0.36.3 tools/record/events_cache.go. */
const aggregationMs = 10 * 60_000;

/** Creates a recorder. Events that cannot be written are dropped, so that no controller waits for one. */
export function createEventRecorder({ cluster, clock }: { readonly cluster: Cluster; readonly clock: Clock }): EventRecorder {
  const remembered = new Map<string, { readonly name: string; readonly lastMs: number }>();
  let sequence = 0;

  function repeat(namespace: string, name: string, now: string): boolean {
    const updated = cluster.update(eventKind, namespace, name, (event) => ({
      ...event,
      count: (event["count"] ?? 1) + 1,
      lastTimestamp: now,
    }));
    return updated !== undefined;
  }

  return {
    record(component, about, { type, reason, message }) {
      const { name, uid, resourceVersion, namespace } = about.metadata;
      const nowMs = clock.now();
      const now = rfc3339(nowMs);
      const eventNamespace = namespace ?? "default";
      const key = JSON.stringify([component, uid, type, reason, message]);
      const known = remembered.get(key);
      remembered.delete(key);
      try {
        if (known !== undefined && nowMs - known.lastMs < aggregationMs && repeat(eventNamespace, known.name, now)) {
          remembered.set(key, { name: known.name, lastMs: nowMs });
          return;
        }
        const eventName = `${name}.${(BigInt(nowMs) * 1_000_000n + BigInt(sequence++ % 1_000_000)).toString(16)}`;
        cluster.create(eventKind, {
          metadata: { name: eventName, namespace: eventNamespace },
          involvedObject: { apiVersion: about.apiVersion, kind: about.kind, name, namespace, uid, resourceVersion },
          reason,
          message,
          type,
          source: { component },
          reportingComponent: component,
          reportingInstance: "",
          firstTimestamp: now,
          lastTimestamp: now,
          count: 1,
        });
        remembered.set(key, { name: eventName, lastMs: nowMs });
      } catch {
        return;
      }
      const oldest = remembered.keys().next();
      if (remembered.size > rememberedLimit && !oldest.done) remembered.delete(oldest.value);
    },
  };
}
