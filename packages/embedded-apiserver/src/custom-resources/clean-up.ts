import type { Clock } from "@virtual-kubelet/clock";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { Disposables } from "../resources/disposables.ts";
import type { Cluster } from "../rest/cluster.ts";
import { cleanupFinalizer, type CrdStatus } from "./crd-fields.ts";
import { customResourceDefinitionKind } from "./crd-kind.ts";

/** Objects deleted in one turn of the event loop; requests are served between turns. */
const sliceSize = 100;

/** Options of {@link CustomResourceCleanUp}. */
export interface CleanUpOptions {
  readonly cluster: Cluster;
  readonly clock: Pick<Clock, "setTimer">;
}

/**
 * Deletes the objects of deleted definitions, and then the definitions' finalizer.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/controller/finalizer/crd_finalizer.go.
 */
export class CustomResourceCleanUp implements Disposable {
  readonly #cluster: Cluster;
  readonly #clock: Pick<Clock, "setTimer">;
  /** Clean-ups in progress by the definition's UID. */
  readonly #running = new Map<string, Disposables>();

  constructor({ cluster, clock }: CleanUpOptions) {
    this.#cluster = cluster;
    this.#clock = clock;
  }

  /** Starts the clean-up of a definition, unless it is running. @param stored - kind of the objects; `undefined` if there never were any */
  start({ metadata: { name, uid } }: Readonly<ApiObject>, stored: Kind | undefined): void {
    if (this.#running.has(uid)) return;
    this.#noteProgress(name);
    // The change of the status may have started the clean-up, and even ended it.
    if (this.#running.has(uid) || !this.#exists(name, uid)) return;
    if (stored === undefined) return this.#dropFinalizer(name);
    const end = new Disposables();
    this.#running.set(uid, end);
    const finish = (): void => {
      end.dispose();
      this.#running.delete(uid);
      if (this.#exists(name, uid)) this.#dropFinalizer(name);
    };
    const steps = deleteAll(this.#cluster, stored);
    const next = (): void => {
      if (!this.#exists(name, uid)) return finish();
      if (steps.next().done !== true) return void end.use(this.#clock.setTimer(0, next));
      if (this.#cluster.count(stored) === 0) return finish();
      // The objects that are left have finalizers.
      end.use(this.#cluster.watch(stored, ({ type }) => type === "DELETED" && this.#cluster.count(stored) === 0 && finish()));
    };
    next();
  }

  [Symbol.dispose](): void {
    for (const end of this.#running.values()) end.dispose();
    this.#running.clear();
  }

  #exists(name: string, uid: string): boolean {
    return this.#cluster.get(customResourceDefinitionKind, undefined, name)?.metadata.uid === uid;
  }

  #noteProgress(name: string): void {
    const progress = { reason: "InstanceDeletionInProgress", message: "CustomResource deletion is in progress" };
    this.#cluster.update(
      customResourceDefinitionKind,
      undefined,
      name,
      (definition) => {
        const status: CrdStatus = definition["status"];
        const conditions = (status.conditions ?? []).map((one) => (one.type === "Terminating" ? { ...one, ...progress } : one));
        return { ...definition, status: { ...status, conditions } };
      },
      "status",
    );
  }

  /** Written as a status, so that policies and webhooks for updates of definitions do not apply. */
  #dropFinalizer(name: string): void {
    this.#cluster.update(
      customResourceDefinitionKind,
      undefined,
      name,
      (object) => {
        const finalizers = (object.metadata.finalizers ?? []).filter((finalizer) => finalizer !== cleanupFinalizer);
        if (finalizers.length > 0) object.metadata.finalizers = finalizers;
        else delete object.metadata.finalizers;
        return object;
      },
      "status",
    );
  }
}

function* deleteAll(cluster: Cluster, kind: Kind): Generator<void, void> {
  let deleted = 0;
  for (const { metadata } of cluster.values(kind)) {
    if (++deleted % sliceSize === 0) yield;
    cluster.delete(kind, metadata.namespace, metadata.name, { propagationPolicy: "Background" });
  }
}
