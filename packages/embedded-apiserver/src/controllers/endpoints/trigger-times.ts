import type { ApiObject } from "../../kinds/kind.ts";
import { podCondition } from "../shared/pod-state.ts";

/**
 * Times of the changes that endpoints follow, for the annotation `endpoints.kubernetes.io/last-change-trigger-time`.
 *
 * Source: k8s.io/endpointslice v0.36.3 util/trigger_time_tracker.go.
 */
export class TriggerTimes {
  /** By the service's UID: its creation, and the last change of each pod's readiness. */
  readonly #known = new Map<string, ReadonlyMap<string, string>>();

  /** Time of the earliest change since the last call, RFC 3339; `undefined` if there was none. */
  next(service: Readonly<ApiObject>, pods: readonly Readonly<ApiObject>[]): string | undefined {
    const { uid, creationTimestamp } = service.metadata;
    const before = this.#known.get(uid);
    const times = new Map<string, string>();
    let earliest: string | undefined;
    for (const pod of pods) {
      const time = podCondition(pod, "Ready")?.lastTransitionTime;
      if (time === undefined || time === null) continue;
      times.set(pod.metadata.name, time);
      const isNew = time > (before?.get(pod.metadata.name) ?? "");
      if (isNew && (earliest === undefined || time < earliest)) earliest = time;
    }
    this.#known.set(uid, times);
    return before === undefined ? creationTimestamp : earliest;
  }

  forget({ metadata: { uid } }: Readonly<ApiObject>): void {
    this.#known.delete(uid);
  }
}
