import { rfc3339 } from "@virtual-kubelet/kubernetes";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { nameColumn } from "../kinds/columns/columns.ts";
import { apiExtensionsGroup, cleanupFinalizer, type CrdSpec, type CrdStatus } from "./crd-fields.ts";
import { formatWarnings } from "./unrecognized-formats.ts";
import { crdErrors } from "./validate-crd.ts";

/** Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/registry/customresourcedefinition and pkg/apis/apiextensions/v1/defaults.go. */
export const customResourceDefinitionKind: Kind = {
  group: apiExtensionsGroup,
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  singular: "customresourcedefinition",
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  namespaced: false,
  schema: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
  hasStatus: true,
  hasGeneration: true,
  applyDefaults(definition) {
    const spec: CrdSpec = definition["spec"];
    const { names } = spec;
    if ((names.singular ?? "") === "") names.singular = names.kind.toLowerCase();
    if ((names.listKind ?? "") === "" && names.kind !== "") names.listKind = `${names.kind}List`;
    spec.conversion ??= { strategy: "None" };
    const service = spec.conversion.webhook?.clientConfig?.service;
    if (service !== undefined && service.port === undefined) Object.assign(service, { port: 443 });
  },
  prepareForCreate(definition) {
    const status: CrdStatus = { conditions: null, acceptedNames: { plural: "", kind: "" }, storedVersions: null };
    definition["status"] = status;
    noteStoredVersion(definition);
  },
  prepareForUpdate(definition, old) {
    if (definition["spec"] !== old["spec"]) definition["status"] = { ...definition["status"] };
    noteStoredVersion(definition);
  },
  // Source: pkg/registry/customresourcedefinition/etcd.go, `Delete`.
  beginDeletion(definition, nowMs) {
    const status: CrdStatus = definition["status"];
    const time = rfc3339(nowMs);
    const terminating = {
      type: "Terminating",
      status: "True",
      lastTransitionTime: time,
      reason: "InstanceDeletionPending",
      message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    };
    const finalizers = definition.metadata.finalizers ?? [];
    const isHeld = finalizers.includes(cleanupFinalizer);
    return {
      ...definition,
      metadata: { ...definition.metadata, deletionTimestamp: time, finalizers: isHeld ? finalizers : [...finalizers, cleanupFinalizer] },
      status: { ...status, conditions: [...(status.conditions ?? []).filter(({ type }) => type !== "Terminating"), terminating] },
    };
  },
  validate: crdErrors,
  warnings: (definition, old) => formatWarnings(definition["spec"], old?.["spec"]),
  columns: [
    nameColumn,
    {
      name: "Created At",
      type: "date",
      description:
        "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
      cell: ({ metadata }) => metadata.creationTimestamp,
    },
  ],
};

/** Adds the storage version to the list of versions in which objects may be stored. */
function noteStoredVersion(definition: ApiObject): void {
  const { versions }: CrdSpec = definition["spec"];
  const status: CrdStatus = definition["status"];
  const stored = versions?.find(({ storage }) => storage)?.name;
  if (stored !== undefined && !(status.storedVersions ?? []).includes(stored))
    definition["status"] = { ...status, storedVersions: [...(status.storedVersions ?? []), stored] };
}
