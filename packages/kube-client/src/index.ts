/**
 * A Kubernetes client for controllers: transport, typed REST, reflector, work queue, event recorder.
 *
 * @packageDocumentation
 */
export { ApiError, isGone, statusOf } from "./errors/api-error.ts";
export { backoffMs, retryAfterMsOf, type Backoff } from "./work-queue/backoff.ts";
export type {
  CallOptions,
  DeleteQuery,
  KubeClient,
  ListQuery,
  ObjectList,
  ObjectName,
  Patch,
  WatchEvent,
  WatchQuery,
} from "./rest/client.ts";
export type { Credentials, Identity, TlsMaterial } from "./credentials/credentials.ts";
export { CredentialsError, isCredentialsError } from "./errors/credentials-error.ts";
export { DecodeError, isDecodeError } from "./errors/decode-error.ts";
export { EventBudget, type EventBudgetMembership, type EventSender } from "./events/event-budget.ts";
export { createEventRecorder, type EventCounts, type EventRecorder, type EventRecorderOptions } from "./events/event-recorder.ts";
export { isGoneObject } from "./errors/gone-object.ts";
export { createHttpTransport, defaultHttpPools, type HttpPoolOptions, type HttpTransportOptions } from "./transport/http-transport.ts";
export { listAll } from "./rest/list-all.ts";
export {
  fixedCredentials,
  inClusterCredentials,
  loadCredentials,
  type FixedCredentialsOptions,
  type LoadCredentialsOptions,
} from "./credentials/load-credentials.ts";
export { silentLogger, type LogFields, type Logger } from "./telemetry/logger.ts";
export { noMetrics, type MetricLabels, type Metrics } from "./telemetry/metrics.ts";
export type {
  CertificateSigningRequest,
  ConfigMap,
  Container,
  ContainerMetrics,
  ContainerState,
  ContainerStatus,
  CoreEvent,
  DeepReadonly,
  Deployment,
  EndpointSlice,
  EnvVar,
  KubernetesObject,
  Lease,
  LimitRange,
  Namespace,
  Node,
  NodeAddress,
  NodeCondition,
  NodeMetrics,
  NodeSpec,
  NodeStatus,
  ObjectMeta,
  ObjectReference,
  OwnerReference,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodCondition,
  PodMetrics,
  PodSpec,
  PodStatus,
  ResourceQuota,
  Secret,
  SelfSubjectAccessReview,
  Service,
  ServiceAccount,
  Status,
  StorageClass,
  SubjectAccessReview,
  Taint,
  TokenReview,
  Wire,
} from "./rest/objects.ts";
/**
 * The same types, and in the published package those of their parts, with the names of `@kubernetes/client-node`: `models.V1Volume`.
 */
export type * as models from "./rest/objects.ts";
export type { ObjectSink } from "./reflector/object-sink.ts";
export type { ObjectWatch, ReflectorInspection } from "./reflector/object-watch.ts";
export { PartitionedReflector, type EarlyWatch, type PartitionedReflectorOptions } from "./reflector/partitioned-reflector.ts";
export { Reflector, type ReflectorOptions, type SinkOptions } from "./reflector/reflector.ts";
export { ServerHistory, type ServerHistoryOptions } from "./reflector/server-history.ts";
export { shareParts } from "./reflector/shared-parts.ts";
export { resource, resources, type Resource } from "./rest/resources.ts";
export { createKubeClient, requireSuccess, type KubeClientOptions } from "./rest/rest-client.ts";
export type { Store, StoreChange } from "./reflector/store.ts";
export { openSocket } from "./transport/open-socket.ts";
export { noTracer, type SpanAttributes, type Tracer } from "./telemetry/tracer.ts";
export type { Transport, TransportPool, TransportRequest, TransportResponse } from "./transport/transport.ts";
export { ConcurrencyLimit } from "./work-queue/concurrency-limit.ts";
export {
  defaultMaxRetryAfterMs,
  WorkQueue,
  type WorkFailure,
  type WorkQueueOptions,
  type WorkQueueRun,
  type WorkResult,
  type KeyInspection,
  type QueueInspection,
} from "./work-queue/work-queue.ts";
