/**
 * A Kubernetes API server in memory, for demos and for tests.
 *
 * @packageDocumentation
 */
export { VirtualClock, type Clock, type Random } from "@virtual-kubelet/clock";
export { ApiStatusError, type ApiStatus, type StatusDetails } from "./errors/api-status-error.ts";
export type { AuthorizationMode } from "./authorization/authorizer.ts";
export { firstMade, type MadeObject } from "./controllers/first-made.ts";
export type { Cluster, ClusterEvent, DeletionOptions } from "./rest/cluster.ts";
export type { CutOff, Fault, FaultRule, Faults, RequestFault, RequestMatch, RequestVerb, RuleMatch, WatchFault } from "./faults/fault.ts";
export type { InProcessRequest, InProcessResponse, InProcessTransport } from "./clients/in-process-transport.ts";
export type {
  ApiMetadata,
  ApiObject,
  Column,
  CustomKind,
  FieldError,
  Kind,
  ObjectReader,
  VersionConversion,
  WebhookConversion,
  WriteContext,
} from "./kinds/kind.ts";
export type { KindChange } from "./kinds/kind-table.ts";
export type { JsonObject, JsonValue } from "./json/json-value.ts";
export type { ClientUser } from "./clients/kubeconfig.ts";
export { kinds, kindFor } from "./kinds/index.ts";
export type { Decoded } from "./kinds/schema/decode.ts";
export type { OpenApiSchema } from "./kinds/schema/schema.ts";
export type { MetricsSource, ResourceUsage } from "./metrics/metrics-source.ts";
export { startApiServer, type ApiServer, type ApiServerOptions } from "./start-api-server.ts";
