/** Resources and groups of these kinds; source: `ReturnDeletedObject` under pkg/registry of Kubernetes v1.36.3. */
const returned: ReadonlySet<string> = new Set([
  "pods.",
  "services.",
  "namespaces.",
  "serviceaccounts.",
  "resourcequotas.",
  "persistentvolumes.",
  "persistentvolumeclaims.",
  "podtemplates.",
  "storageclasses.storage.k8s.io",
  "csidrivers.storage.k8s.io",
  "csinodes.storage.k8s.io",
  "volumeattachments.storage.k8s.io",
  "deviceclasses.resource.k8s.io",
  "resourceclaims.resource.k8s.io",
  "resourceclaimtemplates.resource.k8s.io",
  "resourceslices.resource.k8s.io",
]);

/** Whether DELETE returns the object instead of a Status. */
export function returnsDeleted({ group, plural }: { readonly group: string; readonly plural: string }): boolean {
  return returned.has(`${plural}.${group}`);
}
