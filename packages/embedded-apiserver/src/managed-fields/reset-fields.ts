import type { Kind } from "../kinds/kind.ts";
import { emptySet, type FieldSet, setOf } from "./field-set.ts";
import { fieldElement } from "./path-element.ts";

/**
 * Fields that a request cannot change, so that nobody owns them by it.
 *
 * Source: `GetResetFields` of the strategies under pkg/registry of Kubernetes v1.36.3, and of apiextensions-apiserver v0.36.3.
 *
 * @param subresource - `""` for the object itself
 */
export function resetFieldsOf({ group, plural, custom, hasStatus }: Kind, subresource: string): FieldSet {
  const resource = group === "" ? plural : `${plural}.${group}`;
  const own = exceptions[`${resource}/${subresource}`];
  if (own !== undefined) return own;
  if (subresource === "status") return custom === undefined ? spec : metadataAndSpec;
  return subresource === "" && hasStatus === true ? status : emptySet;
}

function fields(...paths: string[]): FieldSet {
  return setOf(...paths.map((path) => path.split(".").map(fieldElement)));
}

const status = fields("status");
const spec = fields("spec");
const metadataAndSpec = fields("metadata", "spec");

const exceptions: Readonly<Record<string, FieldSet>> = {
  "apiservices.apiregistration.k8s.io/status": metadataAndSpec,
  "certificatesigningrequests.certificates.k8s.io/": fields("spec", "status"),
  "certificatesigningrequests.certificates.k8s.io/approval": fields("spec", "status.certificate"),
  "certificatesigningrequests.certificates.k8s.io/status": fields("spec", "status.conditions"),
  "deployments.apps/status": fields("spec", "metadata.labels"),
  "flowschemas.flowcontrol.apiserver.k8s.io/status": metadataAndSpec,
  "namespaces/finalize": status,
  "pods/status": fields("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
  "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io/status": metadataAndSpec,
  "resourceclaims.resource.k8s.io/status": metadataAndSpec,
  "servicecidrs.networking.k8s.io/status": metadataAndSpec,
  "validatingadmissionpolicies.admissionregistration.k8s.io/status": metadataAndSpec,
  "volumeattachments.storage.k8s.io/status": metadataAndSpec,
};
