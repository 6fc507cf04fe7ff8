import type { ApiObject } from "../../kinds/kind.ts";
import type { EventRecorder } from "../shared/event-recorder.ts";
import { isNamespaceTerminating } from "../shared/pod-control.ts";
import { writeAndTell } from "../shared/write-and-tell.ts";
import { WriteWaits } from "../../rest/steps.ts";

const component = "statefulset-controller";

/** Runs an action for a StatefulSet and records an event with its result. */
export type Report = <T>(set: Readonly<ApiObject>, verb: "Create" | "Delete", what: string, action: () => T, success?: string) => T;

/** Source of the messages: Kubernetes v1.36.3 pkg/controller/statefulset/stateful_pod_control.go, recordPodEvent and recordClaimEvent. */
export function reportTo(events: EventRecorder): Report {
  return (set, verb, what, action, success = "successful") => {
    const subject = `${verb} ${what} in StatefulSet ${set.metadata.name}`;
    try {
      return writeAndTell(action, () =>
        events.record(component, set, { type: "Normal", reason: `Successful${verb}`, message: `${subject} ${success}` }),
      );
    } catch (error) {
      if (error instanceof WriteWaits) throw error;
      const message = `${subject} failed error: ${error instanceof Error ? error.message : String(error)}`;
      if (!isNamespaceTerminating(error)) events.record(component, set, { type: "Warning", reason: `Failed${verb}`, message });
      throw error;
    }
  };
}
