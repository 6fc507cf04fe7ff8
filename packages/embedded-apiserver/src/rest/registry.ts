import type { Clock, Random } from "@virtual-kubelet/clock";
import { AdmissionChain } from "../admission/admission-plugin.ts";
import { ApiStatusError, notFound } from "../errors/api-status-error.ts";
import type { Cluster, ClusterEvent, DeletionOptions } from "./cluster.ts";
import { cloneJson, type JsonObject } from "../json/json-value.ts";
import { apiVersionOf } from "../kinds/api-version.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import type { KindChange, KindTable } from "../kinds/kind-table.ts";
import { applyConfiguration } from "../managed-fields/field-manager.ts";
import { ManagedTypes } from "../managed-fields/managed-types.ts";
import { Compaction } from "../storage/compaction.ts";
import type { ObjectCollection, Storage, StoredObject } from "../storage/storage.ts";
import { afterConversion } from "../storage/webhook-view.ts";
import { defaultServiceRange } from "../kinds/service/service-range.ts";
import { createObject } from "./create.ts";
import { decodePatched } from "./decode-object.ts";
import { deleteObject } from "./delete.ts";
import { fieldWriteOf } from "./field-tracking.ts";
import { bindPod } from "./pod/pod-binding.ts";
import { collectionOf, findKind, type RestContext } from "./rest-context.ts";
import { readScale, updateScale } from "./scale.ts";
import type { Scales } from "./scales.ts";
import { generatedMark, StepRunner, type Steps } from "./steps.ts";
import { updateObject } from "./update.ts";

/** Options of {@link Registry}. */
export interface RegistryOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly storage: Storage;
  readonly kindTable: KindTable;
  /** Whether pods are given a service account, which must exist; default: true. */
  readonly serviceAccounts?: boolean;
  /** IPv4 range of cluster IPs in CIDR notation; default: that of kubeadm, `10.96.0.0/12`. */
  readonly serviceClusterIpRange?: string;
}

/** Implements {@link Cluster} with the same verbs as HTTP. */
export class Registry implements Cluster, Scales {
  /** Context of the verbs. */
  readonly context: RestContext;
  readonly #runner = new StepRunner();

  constructor(options: RegistryOptions) {
    const kinds = options.kindTable.all;
    this.context = {
      serviceAccounts: true,
      serviceClusterIpRange: defaultServiceRange,
      ...options,
      kinds,
      compaction: new Compaction(options.clock, () => options.storage.resourceVersion),
      cluster: this,
      admission: new AdmissionChain(),
      managedTypes: new ManagedTypes(kinds),
    };
  }

  kinds(): readonly Kind[] {
    return this.context.kinds;
  }

  watchKinds(listener: (change: KindChange) => void): Disposable {
    return this.context.kindTable.watch(listener);
  }

  get(kind: Kind, namespace: string | undefined, name: string): Readonly<ApiObject> | undefined {
    return this.#objectsOf(kind).get(namespace ?? "", name)?.object;
  }

  list(kind: Kind, namespace?: string): Readonly<ApiObject>[] {
    return this.#objectsOf(kind)
      .list(namespace)
      .map(({ object }) => object);
  }

  count(kind: Kind, namespace?: string): number {
    return this.context.storage.collection(kind).count(namespace);
  }

  *values(kind: Kind, namespace?: string): Generator<Readonly<ApiObject>, void> {
    for (const { object } of this.#objectsOf(kind).values(namespace)) yield object;
  }

  create(kind: Kind, object: unknown, fieldManager?: string): Readonly<ApiObject> {
    const namespace = kind.namespaced ? ((object as Partial<ApiObject>).metadata?.namespace ?? "default") : "";
    const what = (): string => `create ${address(kind, namespace, nameToCreate(object))}`;
    const options = fieldManager === undefined ? {} : { fieldManager };
    return this.#runner.runNow(createObject(this.context, kind, namespace, object, options), what).object;
  }

  update(
    kind: Kind,
    namespace: string | undefined,
    name: string,
    change: (object: ApiObject) => ApiObject | undefined,
    subresource?: "status",
  ): Readonly<ApiObject> | undefined {
    const current = this.get(kind, namespace, name);
    const changed = current === undefined ? undefined : change(copyOf(current));
    if (changed === undefined) return current;
    const decoded = decodePatched(kind, changed, {});
    const options = subresource === undefined ? {} : ({ scope: subresource, subresource } as const);
    const steps = updateObject(this.context, { kind, namespace: namespace ?? "", name }, () => decoded, options);
    return this.#runner.runNow(steps, () => `update ${address(kind, namespace, name)} ${subresource ?? ""}`).object;
  }

  applyStatus(kind: Kind, namespace: string | undefined, name: string, status: JsonObject, fieldManager: string): Readonly<ApiObject> {
    const options = { fieldManager, subresource: "status", scope: "status", isApplied: true } as const;
    const write = fieldWriteOf(this.context, kind, options);
    const configuration = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name }, status };
    const change = (old: Readonly<ApiObject>): ApiObject =>
      decodePatched(kind, applyConfiguration(write, old, { configuration, force: true }), options);
    const steps = updateObject(this.context, { kind, namespace: namespace ?? "", name }, change, options);
    return this.#runner.runNow(steps, () => `apply ${address(kind, namespace, name)} status ${JSON.stringify(status)}`).object;
  }

  delete(kind: Kind, namespace: string | undefined, name: string, options: DeletionOptions = {}): void {
    try {
      const steps = deleteObject(this.context, { kind, namespace: namespace ?? "", name }, options);
      this.#runner.runNow(steps, () => `delete ${address(kind, namespace, name)}`);
    } catch (error) {
      if (!(error instanceof ApiStatusError && error.status.code === 404)) throw error;
    }
  }

  bind(namespace: string, pod: string, node: string): void {
    const pods = findKind(this.context, "", "pods");
    if (pods === undefined) throw new RangeError("bind a pod: the table of kinds has no pods");
    const binding = { metadata: { name: pod }, target: { kind: "Node", name: node } };
    this.#runner.runNow(bindPod(this.context, { pods, namespace, name: pod }, binding), () => `bind ${address(pods, namespace, pod)}`);
  }

  *readScale(kind: Kind, namespace: string, name: string): Steps<JsonObject> {
    const read = (): StoredObject | undefined => collectionOf(this.context, kind).get(namespace, name);
    const stored = yield* afterConversion(read);
    if (stored === undefined) throw notFound(kind, name);
    return readScale(kind, stored.object);
  }

  *writeScale(kind: Kind, namespace: string, name: string, replicas: number): Steps<void> {
    const change = (scale: JsonObject): JsonObject => ({ ...scale, spec: { replicas } });
    const write = (): Steps<unknown> => updateScale(this.context, { kind, namespace, name }, change, { subresource: "scale" });
    yield* afterConversion(write);
  }

  watch(kind: Kind, listener: (event: ClusterEvent) => void): Disposable {
    return this.#objectsOf(kind).subscribe(({ type, current }) => listener({ type, object: current.object }));
  }

  /** Controllers cannot wait for a webhook, and need only the metadata of the objects that one converts. */
  #objectsOf(kind: Kind): ObjectCollection {
    return kind.webhookConversion === undefined ? collectionOf(this.context, kind) : this.context.storage.collection(kind);
  }
}

/** Copy without managers, which an update does not need to repeat. */
function copyOf(object: Readonly<ApiObject>): ApiObject {
  const { managedFields: _managers, ...metadata } = object.metadata;
  return cloneJson({ ...object, metadata });
}

function nameToCreate(object: unknown): string {
  const { name, generateName = "" } = (object as Partial<ApiObject>).metadata ?? {};
  return name ?? `${generateName}${generatedMark}`;
}

function address({ plural, group }: Kind, namespace: string | undefined, name: string): string {
  return `${plural}.${group} ${namespace ?? ""}/${name}`;
}
