import { WriteWaits } from "../../rest/steps.ts";
import { writeAndTell } from "../shared/write-and-tell.ts";
import { ApiStatusError } from "../../errors/api-status-error.ts";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { deploymentKind } from "../../kinds/workload/deployment.ts";
import { replicaSetKind } from "../../kinds/workload/replica-set.ts";
import type { DeploymentSpec, DeploymentStatus, ReplicaSetStatus, WorkloadCondition } from "../../kinds/workload/workload-fields.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { newSetAnnotations, replicasAnnotations, revisionAnnotation, revisionOf } from "./deployment-annotations.ts";
import { fenceposts, initialSize, type Sizes } from "./deployment-plan.ts";
import { createdMs, maxRevision, sizeOf, type Rollout } from "./deployment-rollout.ts";
import { deploymentStatus, hasHistoryLimit, hasProgressDeadline, progressCheckMs, withCondition } from "./deployment-status.ts";
import { controllerReference } from "../shared/ownership.ts";
import { hashLabel, templateHash } from "../shared/template-hash.ts";

const component = "deployment-controller";

type NewCondition = Omit<WorkloadCondition, "lastUpdateTime" | "lastTransitionTime">;

/** Writes of the Deployment controller to a Deployment and its ReplicaSets. */
export class DeploymentWrites {
  readonly #context: Pick<ControllerContext, "cluster" | "clock" | "events">;

  constructor(context: Pick<ControllerContext, "cluster" | "clock" | "events">) {
    this.#context = context;
  }

  /** Emits a warning event because the Deployment's selector is empty, which would select every pod. */
  reportSelectsEverything(deployment: Readonly<ApiObject>): void {
    const message = "This deployment is selecting all pods. A non-empty selector is required.";
    this.#context.events.record(component, deployment, { type: "Warning", reason: "SelectingAll", message });
  }

  /** Records in the conditions that the Deployment was paused or resumed. @returns whether the conditions changed */
  notePause(deployment: Readonly<ApiObject>, spec: DeploymentSpec): boolean {
    const { conditions = [] }: DeploymentStatus = deployment["status"];
    const reason = conditions.find(({ type }) => type === "Progressing")?.reason;
    const isNoted = reason === "DeploymentPaused";
    if (!hasProgressDeadline(spec) || reason === "ProgressDeadlineExceeded" || isNoted === (spec.paused ?? false)) return false;
    this.#setCondition(
      deployment,
      spec.paused
        ? { type: "Progressing", status: "Unknown", reason: "DeploymentPaused", message: "Deployment is paused" }
        : { type: "Progressing", status: "Unknown", reason: "DeploymentResumed", message: "Deployment is resumed" },
    );
    return true;
  }

  /** Updates the current set's annotations and the Deployment's revision. @returns whether anything changed */
  noteRevision({ deployment, spec, current, old }: Rollout): boolean {
    if (current === undefined) return false;
    const { namespace } = deployment.metadata;
    const annotations = newSetAnnotations(deployment.metadata.annotations, current.metadata.annotations, maxRevision(old) + 1n);
    const minReadySeconds = spec.minReadySeconds ?? 0;
    if (!equalJson(annotations, current.metadata.annotations ?? {}) || (current["spec"].minReadySeconds ?? 0) !== minReadySeconds) {
      this.#context.cluster.update(replicaSetKind, namespace, current.metadata.name, (set) => ({
        ...set,
        metadata: { ...set.metadata, annotations: { ...annotations } },
        spec: { ...set["spec"], minReadySeconds },
      }));
      return true;
    }
    const { conditions = [] }: DeploymentStatus = deployment["status"];
    const isNew = hasProgressDeadline(spec) && conditions.every(({ type }) => type !== "Progressing");
    const message = `Found new replica set ${JSON.stringify(current.metadata.name)}`;
    const condition = { type: "Progressing", status: "True", reason: "FoundNewReplicaSet", message } as const;
    return this.#setRevision(deployment, annotations[revisionAnnotation] ?? "", isNew ? condition : undefined);
  }

  /** Creates the set with the Deployment's current template. @returns 0 to sync again at once */
  create(rollout: Rollout): number | undefined {
    const { deployment, spec, old } = rollout;
    const set = newReplicaSet(rollout);
    const { name } = set.metadata;
    try {
      this.#context.cluster.create(replicaSetKind, set);
    } catch (error) {
      if (error instanceof WriteWaits && set.spec.replicas > 0) {
        const tell = (): void => this.#reportResize(deployment, name, { before: 0, size: set.spec.replicas });
        void error.settled.then(tell, () => undefined);
      }
      if (!(error instanceof ApiStatusError)) throw error;
      if (error.status.reason === "AlreadyExists") {
        this.#countCollision(deployment);
        return 0;
      }
      this.#reportCreateError(deployment, `Failed to create new replica set ${JSON.stringify(name)}: ${error.message}`);
      throw error;
    }
    const { replicas } = set.spec;
    if (replicas > 0) this.#reportResize(deployment, name, { before: 0, size: replicas });
    const message = `Created new replica set ${JSON.stringify(name)}`;
    const condition = { type: "Progressing", status: "True", reason: "NewReplicaSetCreated", message } as const;
    this.#setRevision(deployment, String(maxRevision(old) + 1n), hasProgressDeadline(spec) ? condition : undefined);
    return undefined;
  }

  /** Increments the collision count, which changes the next hash. */
  #countCollision({ metadata: { namespace, name } }: Readonly<ApiObject>): void {
    const change = (object: ApiObject): ApiObject => {
      const { collisionCount = 0 }: DeploymentStatus = object["status"];
      return { ...object, status: { ...object["status"], collisionCount: collisionCount + 1 } };
    };
    this.#context.cluster.update(deploymentKind, namespace, name, change, "status");
  }

  #reportCreateError(deployment: Readonly<ApiObject>, message: string): void {
    const reason = "ReplicaSetCreateError";
    try {
      if (hasProgressDeadline(deployment["spec"]))
        this.#setCondition(deployment, { type: "Progressing", status: "False", reason, message });
    } catch (error) {
      // That the condition cannot be written either matters less.
      if (!(error instanceof ApiStatusError)) throw error;
    }
    this.#context.events.record(component, deployment, { type: "Warning", reason, message });
  }

  #reportResize(deployment: Readonly<ApiObject>, set: string, { before, size }: { readonly before: number; readonly size: number }): void {
    const message = `Scaled ${size > before ? "up" : "down"} replica set ${set} from ${before} to ${size}`;
    this.#context.events.record(component, deployment, { type: "Normal", reason: "ScalingReplicaSet", message });
  }

  /** @param annotate - whether to update the replicas annotations even if the size does not change @returns whether a size changed */
  resize({ deployment, spec, current, old }: Rollout, sizes: Sizes, annotate: boolean): boolean {
    const wanted = spec.replicas ?? 1;
    const notes = replicasAnnotations(wanted, wanted + fenceposts(spec).surge);
    let isResized = false;
    for (const set of [...old, ...(current === undefined ? [] : [current])]) {
      const { namespace, name, annotations } = set.metadata;
      const before: number = set["spec"].replicas ?? 0;
      const size = sizes.get(name) ?? before;
      const isNoted = Object.entries(notes).every(([key, value]) => annotations?.[key] === value);
      if (size === before && (isNoted || !annotate || !sizes.has(name))) continue;
      const resized = (object: ApiObject): ApiObject => ({
        ...object,
        metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...notes } },
        spec: { ...object["spec"], replicas: size },
      });
      writeAndTell(
        () => this.#context.cluster.update(replicaSetKind, namespace, name, resized),
        () => size !== before && this.#reportResize(deployment, name, { before, size }),
      );
      if (size !== before) isResized = true;
    }
    return isResized;
  }

  /** Deletes old, empty sets beyond the revision history limit. */
  cleanUp({ spec, old }: Rollout): void {
    if (!hasHistoryLimit(spec)) return;
    const alive = old.filter((set) => set.metadata.deletionTimestamp === undefined);
    const surplus = alive.length - (spec.revisionHistoryLimit ?? 0);
    if (surplus <= 0) return;
    const byRevision = alive.toSorted(
      (a, b) => Number(revisionOf(a.metadata.annotations) - revisionOf(b.metadata.annotations)) || createdMs(a) - createdMs(b),
    );
    for (const set of byRevision.slice(0, surplus)) {
      const status: ReplicaSetStatus = set["status"];
      const isEmpty =
        status.replicas === 0 && (set["spec"].replicas ?? 0) === 0 && (status.observedGeneration ?? 0) >= (set.metadata.generation ?? 0);
      if (isEmpty) this.#context.cluster.delete(replicaSetKind, set.metadata.namespace, set.metadata.name, { uid: set.metadata.uid });
    }
  }

  writeStatus({ deployment, current, old }: Rollout, isRollout: boolean): number | undefined {
    const { namespace, name } = deployment.metadata;
    const status = deploymentStatus(deployment, { current, old, isRollout, nowMs: this.#context.clock.now() });
    if (!equalJson(status, deployment["status"]))
      this.#context.cluster.update(deploymentKind, namespace, name, (object) => ({ ...object, status }), "status");
    return isRollout ? progressCheckMs(deployment, status, this.#context.clock.now()) : undefined;
  }

  /** Writes the revision and a condition in one update of the status, as the real controller does. @returns whether anything changed */
  #setRevision(deployment: Readonly<ApiObject>, revision: string, condition: NewCondition | undefined): boolean {
    const { namespace, name, annotations } = deployment.metadata;
    if (annotations?.[revisionAnnotation] === revision && condition === undefined) return false;
    const change = (object: ApiObject): ApiObject => ({
      ...(condition === undefined ? object : this.#withCondition(object, condition)),
      metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [revisionAnnotation]: revision } },
    });
    this.#context.cluster.update(deploymentKind, namespace, name, change, "status");
    return true;
  }

  #setCondition({ metadata: { namespace, name } }: Readonly<ApiObject>, condition: NewCondition): void {
    this.#context.cluster.update(deploymentKind, namespace, name, (object) => this.#withCondition(object, condition), "status");
  }

  #withCondition(object: ApiObject, condition: NewCondition): ApiObject {
    const conditions = withCondition(object["status"].conditions ?? [], condition, this.#context.clock.now());
    return { ...object, status: { ...object["status"], conditions } };
  }
}

/** Builds a set with the Deployment's current template and its initial size. */
export function newReplicaSet({ deployment, spec, old }: Pick<Rollout, "deployment" | "spec" | "old">): ApiObjectDraft {
  const { namespace, name, annotations } = deployment.metadata;
  const { collisionCount }: DeploymentStatus = deployment["status"];
  const hash = templateHash(spec.template, collisionCount);
  const labels = { ...spec.template.metadata.labels, [hashLabel]: hash };
  const wanted = spec.replicas ?? 1;
  return {
    metadata: {
      name: `${name.slice(0, 253 - 1 - hash.length)}-${hash}`,
      namespace,
      labels,
      annotations: {
        ...newSetAnnotations(annotations, {}, maxRevision(old) + 1n),
        ...replicasAnnotations(wanted, wanted + fenceposts(spec).surge),
      },
      ownerReferences: [controllerReference(deploymentKind, deployment)],
    },
    spec: {
      replicas: initialSize(spec, old.map(sizeOf)),
      minReadySeconds: spec.minReadySeconds,
      selector: { ...spec.selector, matchLabels: { ...spec.selector?.matchLabels, [hashLabel]: hash } },
      template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
    },
  };
}

/** A set that is not stored yet. */
interface ApiObjectDraft {
  readonly metadata: { readonly name: string } & Readonly<Record<string, unknown>>;
  readonly spec: { readonly replicas: number } & Readonly<Record<string, unknown>>;
}
