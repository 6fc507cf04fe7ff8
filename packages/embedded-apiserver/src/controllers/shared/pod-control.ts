import { ApiStatusError } from "../../errors/api-status-error.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { WriteWaits } from "../../rest/steps.ts";
import type { ControllerContext } from "./controller-context.ts";
import { writeAndTell } from "./write-and-tell.ts";

/** A controller and the object for which it creates or deletes pods. */
export interface PodActor {
  /** Source in events, such as `job-controller`. */
  readonly component: string;
  readonly owner: Readonly<ApiObject>;
}

/** Result of {@link createPods}. */
export interface Creations {
  readonly created: number;
  /** Error that stopped the creation; `undefined` also if the namespace is terminating, because a retry cannot succeed then. */
  readonly failure: unknown;
}

/**
 * Creates pods and records an event for each; stops at the first error. Source: Kubernetes v1.36.3 pkg/controller/controller_utils.go.
 *
 * @throws WriteWaits
 */
export function createPods({ cluster, events }: ControllerContext, { component, owner }: PodActor, pods: readonly object[]): Creations {
  let created = 0;
  for (const pod of pods) {
    try {
      writeAndTell(
        () => cluster.create(podKind, pod),
        ({ metadata: { name } }) =>
          events.record(component, owner, { type: "Normal", reason: "SuccessfulCreate", message: `Created pod: ${name}` }),
      );
      created++;
    } catch (error) {
      if (error instanceof WriteWaits) throw error;
      if (isNamespaceTerminating(error)) return { created, failure: undefined };
      const message = `Error creating: ${error instanceof Error ? error.message : String(error)}`;
      events.record(component, owner, { type: "Warning", reason: "FailedCreate", message });
      return { created, failure: error };
    }
  }
  return { created, failure: undefined };
}

/** Deletes a pod and records an event. */
export function deletePod({ cluster, events }: ControllerContext, { component, owner }: PodActor, { metadata }: Readonly<ApiObject>): void {
  writeAndTell(
    () => cluster.delete(podKind, metadata.namespace, metadata.name, { uid: metadata.uid }),
    () => events.record(component, owner, { type: "Normal", reason: "SuccessfulDelete", message: `Deleted pod: ${metadata.name}` }),
  );
}

/** Whether a creation failed because the namespace is terminating. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    error instanceof ApiStatusError && (error.status.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") ?? false)
  );
}
