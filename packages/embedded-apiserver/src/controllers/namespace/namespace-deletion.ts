import { messageOf } from "@virtual-kubelet/errdefs";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { ApiStatusError } from "../../errors/api-status-error.ts";
import { equalJson } from "../../json/json-value.ts";
import { namespaceKind } from "../../kinds/namespace.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import type { PodSpec } from "../../kinds/pod/pod-fields.ts";
import type { Cluster } from "../../rest/cluster.ts";
import { Disposables } from "../../resources/disposables.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import type { RestContext } from "../../rest/rest-context.ts";
import { StepRunner, WriteWaits } from "../../rest/steps.ts";
import { updateObject } from "../../rest/update.ts";
import { isTerminal } from "../shared/pod-state.ts";
import { followResources, oneVersionEach, resourceOf } from "../shared/resource-kinds.ts";
import { createWorkQueue } from "../shared/work-queue.ts";
import { addRemaining, deletionConditions, type DeletionFindings, type RemainingContent } from "./deletion-conditions.ts";

/** Objects deleted in one turn of the event loop; requests are served between turns. */
const sliceSize = 100;
/** Time in which finalizers are expected to be removed. Source: `finalizerEstimateSeconds`. */
const finalizerSeconds = 15;

/** What a deletion of content does between two steps. */
type Pause = "serve requests" | "wait for writes";

/** A deletion of a namespace's content in progress. */
interface Attempt {
  /** UID of the namespace. */
  readonly uid: string;
  /** Deletes a slice at each step; returns the milliseconds until the next attempt. */
  readonly steps: Iterator<Pause, number | undefined>;
}

/** Options of {@link runNamespaceDeletion}. */
export interface NamespaceDeletionOptions {
  readonly context: RestContext;
  readonly cluster: Cluster;
  /** Called with errors; the work is retried. Default: errors are ignored. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/**
 * Deletes the content of terminating namespaces, pods first, and then their finalizer. A namespace with many objects takes many turns of the
 * event loop, and the work grows linearly with the number of objects.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/namespace/deletion/namespaced_resources_deleter.go. Unlike there, the content is looked at again
 * as soon as the last object of a kind is gone, and not only after an estimated time.
 */
export function runNamespaceDeletion({ context, cluster, onError = () => undefined }: NamespaceDeletionOptions): Disposable {
  const { clock } = context;
  const runner = new StepRunner();
  const resources = new Disposables();
  const attempts = new Map<string, Attempt>();
  const terminating = new Set<string>();
  /** Namespaces in which the last object of a kind went during an attempt. */
  const changed = new Set<string>();
  /** Watches of all kinds, while a namespace is terminating. */
  let watches: Disposable | undefined;
  resources.defer(() => watches?.[Symbol.dispose]());
  const queue = resources.use(createWorkQueue({ clock, onError, process: sync }));
  resources.use(cluster.watch(namespaceKind, ({ type, object }) => observe(type, object)));
  for (const namespace of cluster.values(namespaceKind)) observe("ADDED", namespace);
  return resources;

  function observe(type: string, { metadata: { name, deletionTimestamp } }: Readonly<ApiObject>): void {
    if (type === "DELETED" || deletionTimestamp === undefined) {
      attempts.delete(name);
      changed.delete(name);
      if (!terminating.delete(name) || terminating.size > 0) return;
      watches?.[Symbol.dispose]();
      watches = undefined;
    } else if (!terminating.has(name)) {
      terminating.add(name);
      watches ??= followContent();
      // Runs after the current request, so that its caller gets the terminating namespace instead of a 404.
      queue.addAfter(name, 0);
    }
  }

  /** Looks at a namespace again when its last object of a kind is gone. */
  function followContent(): Disposable {
    return followResources(cluster, (kind) => {
      if (!kind.namespaced) return new Disposables();
      return cluster.watch(kind, ({ type, object: { metadata } }) => {
        const { namespace = "" } = metadata;
        if (type !== "DELETED" || !terminating.has(namespace) || cluster.count(kind, namespace) > 0) return;
        if (attempts.has(namespace)) changed.add(namespace);
        else queue.add(namespace);
      });
    });
  }

  function sync(name: string): number | undefined {
    const namespace = cluster.get(namespaceKind, undefined, name);
    if (namespace?.metadata.deletionTimestamp === undefined || (namespace["spec"].finalizers ?? []).length === 0) return undefined;
    const { uid } = namespace.metadata;
    let attempt = attempts.get(name);
    if (attempt?.uid !== uid) {
      attempts.set(name, (attempt = { uid, steps: emptyNamespace(namespace) }));
      changed.delete(name);
    }
    const { done, value } = stepOf(attempt, () => attempts.delete(name));
    if (done !== true) return value === "serve requests" ? 0 : undefined;
    attempts.delete(name);
    return changed.delete(name) && value !== undefined ? 0 : value;
  }

  /** Source: `deleteAllContent`. */
  function* emptyNamespace(namespace: Readonly<ApiObject>): Generator<Pause, number | undefined> {
    const { name } = namespace.metadata;
    const failures: string[] = [];
    const graceSeconds = podGraceSeconds(namespace, cluster.values(podKind, name), clock.now());
    const arePodsDeleted = yield* deleteAll(podKind, name, failures);
    // What could not be deleted does not hold up the rest, unlike pods that take their time.
    if (arePodsDeleted && cluster.count(podKind, name) > 0) {
      const isHeld = graceSeconds > 0 || [...cluster.values(podKind, name)].some(({ metadata }) => (metadata.finalizers?.length ?? 0) > 0);
      if (!isHeld) failures.push(unexpectedPods(name));
      writeConditions(name, { failures, remaining: undefined });
      return nextAttemptMs(graceSeconds || finalizerSeconds);
    }
    const remaining: RemainingContent = { resources: new Map(), finalizers: new Map() };
    for (const kind of oneVersionEach(context.kinds)) {
      if (!kind.namespaced || resourceOf(kind) === resourceOf(podKind) || cluster.count(kind, name) === 0) continue;
      if (yield* deleteAll(kind, name, failures)) addRemaining(remaining, kind, cluster.values(kind, name));
    }
    writeConditions(name, { failures, remaining });
    if (failures.length > 0) throw new Error(`delete the content of namespace ${name}: ${failures.join(", ")}`);
    if (remaining.resources.size > 0) return nextAttemptMs(finalizerSeconds);
    write(name, withoutFinalizer);
    return undefined;
  }

  /** Source: `deleteCollection`. @returns whether nothing refused it; otherwise the first problem is added to the failures */
  function* deleteAll(kind: Kind, namespace: string, failures: string[]): Generator<Pause, boolean> {
    const writes: Promise<unknown>[] = [];
    const problems: unknown[] = [];
    let deleted = 0;
    for (const { metadata } of cluster.values(kind, namespace)) {
      if (++deleted % sliceSize === 0) yield "serve requests";
      try {
        cluster.delete(kind, namespace, metadata.name, { propagationPolicy: "Background" });
      } catch (error) {
        if (!(error instanceof WriteWaits)) {
          problems.push(error);
          break;
        }
        writes.push(error.settled.catch((problem: unknown) => problems.push(problem)));
      }
    }
    if (writes.length > 0) {
      const settled = settling(writes, () => queue.add(namespace));
      while (!settled.isDone) yield "wait for writes";
    }
    const [problem] = problems.filter((each) => !isNotFound(each));
    if (problem !== undefined) failures.push(messageOf(problem));
    return problem === undefined;
  }

  function writeConditions(name: string, findings: DeletionFindings): void {
    const change = (namespace: Readonly<ApiObject>): ApiObject => {
      const { conditions = [], ...status } = namespace["status"];
      const changed = deletionConditions(conditions, findings, rfc3339(clock.now()));
      const isSame = equalJson(conditions, changed);
      return { ...namespace, metadata: { ...namespace.metadata }, status: { ...status, conditions: isSame ? conditions : changed } };
    };
    write(name, change);
  }

  function write(name: string, change: (namespace: Readonly<ApiObject>) => ApiObject): void {
    const steps = updateObject(context, { kind: namespaceKind, namespace: "", name }, change, { scope: "all" });
    ignoreNotFound(() => runner.runNow(steps, () => `update namespace ${name}`));
  }
}

/** @param onError - called before an error is passed on */
function stepOf({ steps }: Attempt, onError: () => void): IteratorResult<Pause, number | undefined> {
  try {
    return steps.next();
  } catch (error) {
    onError();
    throw error;
  }
}

/** @param onDone - called when all have settled; they do not reject */
function settling(writes: readonly Promise<unknown>[], onDone: () => void): { readonly isDone: boolean } {
  const state = { isDone: false };
  void Promise.all(writes).then(() => {
    state.isDone = true;
    onDone();
  });
  return state;
}

function unexpectedPods(namespace: string): string {
  return `unexpected items still remain in namespace: ${namespace} for gvr: /v1, Resource=pods`;
}

/** Source: `syncNamespaceFromKey` of pkg/controller/namespace/namespace_controller.go. */
function nextAttemptMs(estimateSeconds: number): number {
  return (Math.trunc(estimateSeconds / 2) + 1) * 1000;
}

/** Longest grace period of a namespace's pods in seconds; 0 if it has passed since the deletion. Source: `estimateGracefulTermination`. */
function podGraceSeconds(
  { metadata: { deletionTimestamp = "" } }: Readonly<ApiObject>,
  pods: Iterable<Readonly<ApiObject>>,
  nowMs: number,
): number {
  let seconds = 0;
  for (const pod of pods) {
    const { terminationGracePeriodSeconds = 0 }: PodSpec = pod["spec"];
    if (!isTerminal(pod)) seconds = Math.max(seconds, terminationGracePeriodSeconds);
  }
  return nowMs - Date.parse(deletionTimestamp) >= seconds * 1000 ? 0 : seconds;
}

function withoutFinalizer(namespace: Readonly<ApiObject>): ApiObject {
  const { finalizers = [], ...spec } = namespace["spec"] ?? {};
  const rest = finalizers.filter((finalizer: string) => finalizer !== "kubernetes");
  return { ...namespace, metadata: { ...namespace.metadata }, spec: { ...spec, ...(rest.length === 0 ? {} : { finalizers: rest }) } };
}

function ignoreNotFound(action: () => unknown): void {
  try {
    action();
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof ApiStatusError && error.status.code === 404;
}
