import type { Clock, Random } from "@virtual-kubelet/clock";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import type { Cluster } from "../rest/cluster.ts";
import { runResumably } from "../rest/steps.ts";
import { Disposables } from "../resources/disposables.ts";
import type { KindTable } from "../kinds/kind-table.ts";
import type { ApiObject, Kind, WebhookConversion } from "../kinds/kind.ts";
import { approvalCondition } from "./api-approval.ts";
import { CustomResourceCleanUp } from "./clean-up.ts";
import { cleanupFinalizer, type CrdCondition, type CrdNames, type CrdSpec, type CrdStatus } from "./crd-fields.ts";
import { customResourceDefinitionKind } from "./crd-kind.ts";
import { conversionByWebhook } from "./conversion-webhook.ts";
import { resolveService } from "../outbound/service-resolver.ts";
import { WebhookClient } from "../outbound/webhook-client.ts";
import { customKind, inSchema } from "./custom-kind.ts";

/** Options of {@link serveCustomResources}. */
export interface CustomResourcesOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly random: Pick<Random, "uuid">;
  readonly kinds: KindTable;
  /** Called with errors of writes that had to wait for admission. */
  readonly onError: (error: unknown) => void;
}

/**
 * Serves the kinds of custom resource definitions, and removes them with their objects when the definitions are deleted.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/controller/{status,establish,finalizer,apiapproval}. Unlike there, a definition is served as soon
 * as it is created.
 */
export function serveCustomResources({ cluster, clock, random, kinds, onError }: CustomResourcesOptions): Disposable {
  const resources = new Disposables();
  /** Served kinds by definition, with the spec they were created from. */
  const served = new Map<string, { readonly spec: CrdSpec; readonly kinds: readonly Kind[] }>();
  const client = resources.use(new WebhookClient({ clock, resolve: (service) => resolveService(cluster, service) }));
  const cleanUp = resources.use(new CustomResourceCleanUp({ cluster, clock }));
  resources.use(
    cluster.watch(customResourceDefinitionKind, ({ type, object }) => {
      if (type === "DELETED") {
        withdraw(object.metadata.name);
        return syncGroup(object["spec"].group);
      }
      sync(object.metadata.name);
    }),
  );
  return resources;

  /** Gives names that a deleted definition had to others. Source: pkg/controller/status/naming_controller.go, `requeueAllOtherGroupCRDs`. */
  function syncGroup(group: string): void {
    for (const { metadata, ...definition } of cluster.list(customResourceDefinitionKind))
      if (definition["spec"].group === group) sync(metadata.name);
  }

  function sync(name: string): void {
    runResumably(() => syncNow(name))?.catch(onError);
  }

  function syncNow(name: string): void {
    const definition = cluster.get(customResourceDefinitionKind, undefined, name);
    if (definition === undefined) return;
    serve(definition);
    if (definition.metadata.deletionTimestamp === undefined) establish(definition);
    else if (definition.metadata.finalizers?.includes(cleanupFinalizer))
      cleanUp.start(
        definition,
        served.get(name)?.kinds.find((kind) => kind.storageVersion === kind.version),
      );
  }

  function establish(definition: Readonly<ApiObject>): void {
    const status: CrdStatus = definition["status"];
    const { acceptedNames, namesAccepted } = acceptNames(definition);
    const isEstablished = hasTrue(status, "Established") || namesAccepted.status === "True";
    const established = isEstablished
      ? { type: "Established", status: "True", reason: "InitialNamesAccepted", message: "the initial names have been accepted" }
      : { type: "Established", status: "False", reason: "NotAccepted", message: "not all names are accepted" };
    const approval = approvalCondition({ ...definition, spec: definition["spec"] });
    const conditions = [...(approval === undefined ? [] : [approval]), namesAccepted, established].reduce(
      withCondition,
      status.conditions ?? [],
    );
    writeStatus(definition, { ...status, conditions, acceptedNames });
  }

  function acceptNames(definition: Readonly<ApiObject>): { acceptedNames: CrdNames; namesAccepted: CrdCondition } {
    const { group, names }: CrdSpec = definition["spec"];
    const { acceptedNames }: CrdStatus = definition["status"];
    const others = cluster
      .list(customResourceDefinitionKind)
      .filter((other) => other["spec"].group === group && other.metadata.name !== definition.metadata.name)
      .map((other): CrdNames => other["status"].acceptedNames);
    const resourceNames = new Set(others.flatMap(({ plural, singular = "", shortNames = [] }) => [plural, singular, ...shortNames]));
    const kindNames = new Set(others.flatMap(({ kind, listKind = "" }) => [kind, listKind]));
    const result: CrdNames = { ...acceptedNames };
    let problem: Pick<CrdCondition, "reason" | "message"> | undefined;
    const accept = (reason: string, wanted: readonly string[], present: readonly string[], used: ReadonlySet<string>): boolean => {
      const taken = wanted.filter((name) => name !== "" && !present.includes(name) && used.has(name));
      if (taken.length > 0) problem = { reason, message: taken.map((name) => `${JSON.stringify(name)} is already in use`).join(", ") };
      return taken.length === 0;
    };
    if (accept("PluralConflict", [names.plural], [acceptedNames.plural], resourceNames)) result.plural = names.plural;
    if (accept("SingularConflict", [names.singular ?? ""], [acceptedNames.singular ?? ""], resourceNames) && names.singular !== undefined)
      result.singular = names.singular;
    if (accept("ShortNamesConflict", names.shortNames ?? [], acceptedNames.shortNames ?? [], resourceNames)) {
      if (names.shortNames === undefined) delete result.shortNames;
      else result.shortNames = names.shortNames;
    }
    if (accept("KindConflict", [names.kind], [acceptedNames.kind], kindNames)) result.kind = names.kind;
    if (accept("ListKindConflict", [names.listKind ?? ""], [acceptedNames.listKind ?? ""], kindNames) && names.listKind !== undefined)
      result.listKind = names.listKind;
    if (names.categories === undefined) delete result.categories;
    else result.categories = names.categories;
    const namesAccepted: CrdCondition =
      problem === undefined
        ? { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" }
        : { type: "NamesAccepted", status: "False", ...problem };
    return { acceptedNames: result, namesAccepted };
  }

  function withCondition(conditions: readonly CrdCondition[], condition: CrdCondition): CrdCondition[] {
    const known = conditions.find(({ type }) => type === condition.type);
    const lastTransitionTime =
      known?.status === condition.status && known.lastTransitionTime ? known.lastTransitionTime : rfc3339(clock.now());
    const { type, status, ...rest } = condition;
    const dated = { type, status, lastTransitionTime, ...rest };
    return known === undefined ? [...conditions, dated] : conditions.map((one) => (one === known ? dated : one));
  }

  function writeStatus({ metadata }: Readonly<ApiObject>, status: CrdStatus): void {
    cluster.update(customResourceDefinitionKind, undefined, metadata.name, (definition) => ({ ...definition, status }), "status");
  }

  /** Creates the kinds of an established definition, again if its spec has changed. */
  function serve(definition: Readonly<ApiObject>): void {
    const spec: CrdSpec = definition["spec"];
    const { name } = definition.metadata;
    if (!hasTrue(definition["status"], "Established") || served.get(name)?.spec === spec) return;
    const isChanged = served.has(name);
    withdraw(name);
    const isTerminating = (): boolean =>
      cluster.get(customResourceDefinitionKind, undefined, name)?.metadata.deletionTimestamp !== undefined;
    const versions = (spec.versions ?? []).filter((version) => version.served || version.storage);
    const conversion = withinSchemas(spec, conversionByWebhook({ client, random }, spec.conversion));
    const made = versions.map((version) => {
      const kind = customKind(spec, version, isTerminating, isChanged);
      return { version, kind: conversion === undefined ? kind : { ...kind, webhookConversion: conversion } };
    });
    for (const { version, kind } of made) if (version.served) kinds.add(kind);
    served.set(name, { spec, kinds: made.map(({ kind }) => kind) });
  }

  function withdraw(name: string): void {
    for (const kind of served.get(name)?.kinds ?? []) kinds.remove(kind);
    served.delete(name);
  }
}

/** Conversion that drops what the schema of the wanted version does not have. */
function withinSchemas({ group, versions }: CrdSpec, convert: WebhookConversion | undefined): WebhookConversion | undefined {
  if (convert === undefined) return undefined;
  return async (objects, apiVersion) => {
    const version = (versions ?? []).find(({ name }) => `${group}/${name}` === apiVersion);
    const coerce = inSchema(version?.schema?.openAPIV3Schema ?? {});
    const converted = await convert(objects, apiVersion);
    return converted.map((object, index) => (object === objects[index] ? object : coerce(object)));
  };
}

function hasTrue({ conditions }: CrdStatus, type: string): boolean {
  return (conditions ?? []).some((condition) => condition.type === type && condition.status === "True");
}
