import { expect, test } from "vitest";
import { resource, resources } from "./resources.ts";
import { resourcePath } from "./url.ts";

test("the built-in resources are found where the API server has them", () => {
  const described = Object.entries(resources).map(([name, each]) => {
    const path = resourcePath(each, { name: "x", ...(each.namespaced && { namespace: "ns" }) });
    return `${name}: ${each.kind} at ${path}`;
  });

  expect(described).toEqual([
    "pods: Pod at /api/v1/namespaces/ns/pods/x",
    "nodes: Node at /api/v1/nodes/x",
    "namespaces: Namespace at /api/v1/namespaces/x",
    "configMaps: ConfigMap at /api/v1/namespaces/ns/configmaps/x",
    "secrets: Secret at /api/v1/namespaces/ns/secrets/x",
    "services: Service at /api/v1/namespaces/ns/services/x",
    "endpointSlices: EndpointSlice at /apis/discovery.k8s.io/v1/namespaces/ns/endpointslices/x",
    "serviceAccounts: ServiceAccount at /api/v1/namespaces/ns/serviceaccounts/x",
    "resourceQuotas: ResourceQuota at /api/v1/namespaces/ns/resourcequotas/x",
    "limitRanges: LimitRange at /api/v1/namespaces/ns/limitranges/x",
    "events: Event at /api/v1/namespaces/ns/events/x",
    "leases: Lease at /apis/coordination.k8s.io/v1/namespaces/ns/leases/x",
    "deployments: Deployment at /apis/apps/v1/namespaces/ns/deployments/x",
    "persistentVolumes: PersistentVolume at /api/v1/persistentvolumes/x",
    "persistentVolumeClaims: PersistentVolumeClaim at /api/v1/namespaces/ns/persistentvolumeclaims/x",
    "storageClasses: StorageClass at /apis/storage.k8s.io/v1/storageclasses/x",
    "tokenReviews: TokenReview at /apis/authentication.k8s.io/v1/tokenreviews/x",
    "subjectAccessReviews: SubjectAccessReview at /apis/authorization.k8s.io/v1/subjectaccessreviews/x",
    "selfSubjectAccessReviews: SelfSubjectAccessReview at /apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x",
    "certificateSigningRequests: CertificateSigningRequest at /apis/certificates.k8s.io/v1/certificatesigningrequests/x",
    "podMetrics: PodMetrics at /apis/metrics.k8s.io/v1beta1/namespaces/ns/pods/x",
    "nodeMetrics: NodeMetrics at /apis/metrics.k8s.io/v1beta1/nodes/x",
  ]);
});

test("a resource of one's own is described in the same way", () => {
  const widgets = resource({ group: "example.com", version: "v1beta2", plural: "widgets", kind: "Widget", namespaced: true });

  expect(resourcePath(widgets, { namespace: "ns" })).toBe("/apis/example.com/v1beta2/namespaces/ns/widgets");
});
