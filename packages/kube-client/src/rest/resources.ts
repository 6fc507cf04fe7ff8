import type {
  CertificateSigningRequest,
  ConfigMap,
  CoreEvent,
  Deployment,
  EndpointSlice,
  KubernetesObject,
  Lease,
  LimitRange,
  Namespace,
  Node,
  NodeMetrics,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodMetrics,
  ResourceQuota,
  Secret,
  SelfSubjectAccessReview,
  Service,
  ServiceAccount,
  StorageClass,
  SubjectAccessReview,
  TokenReview,
} from "./objects.ts";

/** A kind of object of the API server, and its path. */
export interface Resource<T extends KubernetesObject> {
  /** API group; empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** Plural name, as in the URL. */
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Never set; it only carries the object's type. */
  readonly type?: T;
}

/** Describes a resource; the built-in ones are in {@link resources}. */
export function resource<T extends KubernetesObject>(description: Omit<Resource<T>, "type">): Resource<T> {
  return description;
}

/** The built-in resources that the project uses. */
export const resources: {
  readonly pods: Resource<Pod>;
  readonly nodes: Resource<Node>;
  readonly namespaces: Resource<Namespace>;
  readonly configMaps: Resource<ConfigMap>;
  readonly secrets: Resource<Secret>;
  readonly services: Resource<Service>;
  readonly endpointSlices: Resource<EndpointSlice>;
  readonly serviceAccounts: Resource<ServiceAccount>;
  readonly resourceQuotas: Resource<ResourceQuota>;
  readonly limitRanges: Resource<LimitRange>;
  readonly events: Resource<CoreEvent>;
  readonly leases: Resource<Lease>;
  readonly deployments: Resource<Deployment>;
  readonly persistentVolumes: Resource<PersistentVolume>;
  readonly persistentVolumeClaims: Resource<PersistentVolumeClaim>;
  readonly storageClasses: Resource<StorageClass>;
  readonly tokenReviews: Resource<TokenReview>;
  readonly subjectAccessReviews: Resource<SubjectAccessReview>;
  readonly selfSubjectAccessReviews: Resource<SelfSubjectAccessReview>;
  readonly certificateSigningRequests: Resource<CertificateSigningRequest>;
  readonly podMetrics: Resource<PodMetrics>;
  readonly nodeMetrics: Resource<NodeMetrics>;
} = {
  pods: { group: "", version: "v1", plural: "pods", kind: "Pod", namespaced: true },
  nodes: { group: "", version: "v1", plural: "nodes", kind: "Node", namespaced: false },
  namespaces: { group: "", version: "v1", plural: "namespaces", kind: "Namespace", namespaced: false },
  configMaps: { group: "", version: "v1", plural: "configmaps", kind: "ConfigMap", namespaced: true },
  secrets: { group: "", version: "v1", plural: "secrets", kind: "Secret", namespaced: true },
  services: { group: "", version: "v1", plural: "services", kind: "Service", namespaced: true },
  endpointSlices: { group: "discovery.k8s.io", version: "v1", plural: "endpointslices", kind: "EndpointSlice", namespaced: true },
  serviceAccounts: { group: "", version: "v1", plural: "serviceaccounts", kind: "ServiceAccount", namespaced: true },
  resourceQuotas: { group: "", version: "v1", plural: "resourcequotas", kind: "ResourceQuota", namespaced: true },
  limitRanges: { group: "", version: "v1", plural: "limitranges", kind: "LimitRange", namespaced: true },
  events: { group: "", version: "v1", plural: "events", kind: "Event", namespaced: true },
  leases: { group: "coordination.k8s.io", version: "v1", plural: "leases", kind: "Lease", namespaced: true },
  deployments: { group: "apps", version: "v1", plural: "deployments", kind: "Deployment", namespaced: true },
  persistentVolumes: { group: "", version: "v1", plural: "persistentvolumes", kind: "PersistentVolume", namespaced: false },
  persistentVolumeClaims: { group: "", version: "v1", plural: "persistentvolumeclaims", kind: "PersistentVolumeClaim", namespaced: true },
  storageClasses: { group: "storage.k8s.io", version: "v1", plural: "storageclasses", kind: "StorageClass", namespaced: false },
  tokenReviews: { group: "authentication.k8s.io", version: "v1", plural: "tokenreviews", kind: "TokenReview", namespaced: false },
  subjectAccessReviews: {
    group: "authorization.k8s.io",
    version: "v1",
    plural: "subjectaccessreviews",
    kind: "SubjectAccessReview",
    namespaced: false,
  },
  selfSubjectAccessReviews: {
    group: "authorization.k8s.io",
    version: "v1",
    plural: "selfsubjectaccessreviews",
    kind: "SelfSubjectAccessReview",
    namespaced: false,
  },
  certificateSigningRequests: {
    group: "certificates.k8s.io",
    version: "v1",
    plural: "certificatesigningrequests",
    kind: "CertificateSigningRequest",
    namespaced: false,
  },
  podMetrics: { group: "metrics.k8s.io", version: "v1beta1", plural: "pods", kind: "PodMetrics", namespaced: true },
  nodeMetrics: { group: "metrics.k8s.io", version: "v1beta1", plural: "nodes", kind: "NodeMetrics", namespaced: false },
};
