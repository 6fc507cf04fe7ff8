import { ApiStatusError } from "../../errors/api-status-error.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import type { ControllerContext } from "./controller-context.ts";

/** Who creates or deletes pods, and for which object. */
export interface PodActor {
  /** As events name it, such as `job-controller`. */
  readonly component: string;
  readonly owner: Readonly<ApiObject>;
}

/** How far a controller came with its new pods. */
export interface Creations {
  readonly created: number;
  /** Why not all were; `undefined` also where the namespace is going away, since then none will ever be. */
  readonly failure: unknown;
}

/** Creates pods, with an event for each; stops at the first that fails. Source: Kubernetes v1.36.3 pkg/controller/controller_utils.go. */
export function createPods({ cluster, events }: ControllerContext, { component, owner }: PodActor, pods: readonly object[]): Creations {
  let created = 0;
  for (const pod of pods) {
    try {
      const { metadata } = cluster.create(podKind, pod);
      events.record(component, owner, { type: "Normal", reason: "SuccessfulCreate", message: `Created pod: ${metadata.name}` });
      created++;
    } catch (error) {
      if (isNamespaceTerminating(error)) return { created, failure: undefined };
      const message = `Error creating: ${error instanceof Error ? error.message : String(error)}`;
      events.record(component, owner, { type: "Warning", reason: "FailedCreate", message });
      return { created, failure: error };
    }
  }
  return { created, failure: undefined };
}

/** Deletes a pod, with an event. */
export function deletePod({ cluster, events }: ControllerContext, { component, owner }: PodActor, { metadata }: Readonly<ApiObject>): void {
  cluster.delete(podKind, metadata.namespace, metadata.name, { uid: metadata.uid });
  events.record(component, owner, { type: "Normal", reason: "SuccessfulDelete", message: `Deleted pod: ${metadata.name}` });
}

/** Whether a creation failed since the namespace is going away. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    error instanceof ApiStatusError && (error.status.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") ?? false)
  );
}
