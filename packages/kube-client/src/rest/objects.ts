import type * as k8s from "@kubernetes/client-node";

/**
 * The API's JSON for a client-node model: its `Date`s are RFC 3339 strings, its `_continue` is `continue`, and an
 * optional field may be `undefined`. (`{}` fits an index signature too, which is not optional.)
 */
export type Wire<T> = T extends Date
  ? string
  : T extends string | number | boolean | undefined | null
    ? T
    : T extends readonly (infer Item)[]
      ? Wire<Item>[]
      : T extends object
        ? {
            [K in keyof T as K extends `_${infer Name}` ? Name : K]: string extends K
              ? Wire<T[K]>
              : {} extends Pick<T, K>
                ? Wire<T[K]> | undefined
                : Wire<T[K]>;
          }
        : T;

/**
 * The same shape, with nothing in it to be changed: what a store hands out. A mapped type keeps primitives and
 * lists as they are, and its name in editors and documentation.
 */
export type DeepReadonly<T> = { readonly [K in keyof T]: DeepReadonly<T[K]> };

/** What every Kubernetes object has. */
export interface KubernetesObject {
  apiVersion?: string | undefined;
  kind?: string | undefined;
  metadata?: ObjectMeta | undefined;
}

export interface ObjectMeta extends Wire<k8s.V1ObjectMeta> {}
export interface OwnerReference extends Wire<k8s.V1OwnerReference> {}
export interface ObjectReference extends Wire<k8s.V1ObjectReference> {}
export interface Status extends Wire<k8s.V1Status> {}

export interface Pod extends Wire<k8s.V1Pod> {}
export interface PodSpec extends Wire<k8s.V1PodSpec> {}
export interface PodStatus extends Wire<k8s.V1PodStatus> {}
export interface PodCondition extends Wire<k8s.V1PodCondition> {}
export interface Container extends Wire<k8s.V1Container> {}
export interface ContainerStatus extends Wire<k8s.V1ContainerStatus> {}
export interface ContainerState extends Wire<k8s.V1ContainerState> {}
export interface EnvVar extends Wire<k8s.V1EnvVar> {}

export interface Node extends Wire<k8s.V1Node> {}
export interface NodeSpec extends Wire<k8s.V1NodeSpec> {}
export interface NodeStatus extends Wire<k8s.V1NodeStatus> {}
export interface NodeCondition extends Wire<k8s.V1NodeCondition> {}
export interface NodeAddress extends Wire<k8s.V1NodeAddress> {}
export interface Taint extends Wire<k8s.V1Taint> {}
export interface Lease extends Wire<k8s.V1Lease> {}

export interface ConfigMap extends Wire<k8s.V1ConfigMap> {}
export interface Secret extends Wire<k8s.V1Secret> {}
export interface Service extends Wire<k8s.V1Service> {}
export interface EndpointSlice extends Wire<k8s.V1EndpointSlice> {}
export interface ServiceAccount extends Wire<k8s.V1ServiceAccount> {}
export interface ResourceQuota extends Wire<k8s.V1ResourceQuota> {}
export interface LimitRange extends Wire<k8s.V1LimitRange> {}
export interface Namespace extends Wire<k8s.V1Namespace> {}
export interface CoreEvent extends Wire<k8s.CoreV1Event> {}
export interface Deployment extends Wire<k8s.V1Deployment> {}
export interface PersistentVolume extends Wire<k8s.V1PersistentVolume> {}
export interface PersistentVolumeClaim extends Wire<k8s.V1PersistentVolumeClaim> {}
export interface StorageClass extends Wire<k8s.V1StorageClass> {}

export interface TokenReview extends Wire<k8s.V1TokenReview> {}
export interface SubjectAccessReview extends Wire<k8s.V1SubjectAccessReview> {}
export interface SelfSubjectAccessReview extends Wire<k8s.V1SelfSubjectAccessReview> {}
export interface CertificateSigningRequest extends Wire<k8s.V1CertificateSigningRequest> {}

/** Usage of a pod as the metrics API (`metrics.k8s.io`) has it. */
export interface PodMetrics extends KubernetesObject {
  /** End of the interval, RFC 3339. */
  timestamp?: string | undefined;
  /** Length of the interval in which the usage was measured, as in Go: `15.2s`. */
  window?: string | undefined;
  containers?: ContainerMetrics[] | undefined;
}

/** Usage of a container in {@link PodMetrics}: quantities by resource name, `cpu` and `memory`. */
export interface ContainerMetrics {
  name: string;
  usage: Record<string, string>;
}

/** Usage of a node as the metrics API has it. */
export interface NodeMetrics extends KubernetesObject {
  /** End of the interval, RFC 3339. */
  timestamp?: string | undefined;
  /** Length of the interval in which the usage was measured, as in Go: `15.2s`. */
  window?: string | undefined;
  usage?: Record<string, string> | undefined;
}
