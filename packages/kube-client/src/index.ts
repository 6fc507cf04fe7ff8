/**
 * A Kubernetes client for controllers: transport, typed REST, reflector, work queue, event recorder.
 *
 * @packageDocumentation
 */
export { ApiError, isGone, statusOf } from "./api-error.ts";
export { backoffMs, retryAfterMsOf, type Backoff } from "./backoff.ts";
export type { CallOptions, DeleteQuery, KubeClient, ListQuery, ObjectList, ObjectName, Patch, WatchEvent, WatchQuery } from "./client.ts";
export type { Credentials, Identity, TlsMaterial } from "./credentials.ts";
export { CredentialsError, isCredentialsError } from "./credentials-error.ts";
export { DecodeError, isDecodeError } from "./decode-error.ts";
export { createEventRecorder, type EventRecorder, type EventRecorderOptions } from "./event-recorder.ts";
export { createHttpTransport, defaultHttpPools, type HttpPoolOptions, type HttpTransportOptions } from "./http-transport.ts";
export { listAll } from "./list-all.ts";
export { inClusterCredentials, loadCredentials, type LoadCredentialsOptions } from "./load-credentials.ts";
export { silentLogger, type LogFields, type Logger } from "./logger.ts";
export { noMetrics, type MetricLabels, type Metrics } from "./metrics.ts";
export type {
  CertificateSigningRequest,
  ConfigMap,
  Container,
  ContainerState,
  ContainerStatus,
  CoreEvent,
  DeepReadonly,
  Deployment,
  EnvVar,
  KubernetesObject,
  Lease,
  Namespace,
  Node,
  NodeAddress,
  NodeCondition,
  NodeSpec,
  NodeStatus,
  ObjectMeta,
  ObjectReference,
  OwnerReference,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodCondition,
  PodSpec,
  PodStatus,
  Secret,
  Service,
  Status,
  StorageClass,
  SubjectAccessReview,
  Taint,
  TokenReview,
  Wire,
} from "./objects.ts";
export { Reflector, type ReflectorOptions } from "./reflector.ts";
export { resource, resources, type Resource } from "./resources.ts";
export { createKubeClient, type KubeClientOptions } from "./rest-client.ts";
export type { Store, StoreChange } from "./store.ts";
export { noTracer, type SpanAttributes, type Tracer } from "./tracer.ts";
export type { Transport, TransportPool, TransportRequest, TransportResponse } from "./transport.ts";
export {
  defaultMaxRetryAfterMs,
  WorkQueue,
  type WorkFailure,
  type WorkQueueOptions,
  type WorkQueueRun,
  type WorkResult,
} from "./work-queue.ts";
