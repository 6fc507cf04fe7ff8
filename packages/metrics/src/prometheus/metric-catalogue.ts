/** Help text, type, labels and buckets of a metric. */
export interface MetricDefinition {
  readonly help: string;
  /** Names of its labels; those of a target, such as `instance`, are added by Prometheus. */
  readonly labels: readonly string[];
  readonly type: "counter" | "gauge" | "histogram";
  /** Upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[] | undefined;
}

/** Buckets of Kubernetes's own histograms. Source: kubernetes v1.36.3 pkg/kubelet/metrics and component-base. */
const defaultBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const queueBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10];
const requestBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const podStartBuckets = [0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600];
const statusBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60];
const reviewBuckets = [0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10];
const certificateBuckets = [
  0, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 172_800, 345_600, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000,
];
const runtimeBuckets = Array.from({ length: 14 }, (_, index) => 0.005 * 2.5 ** index);
const callBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/**
 * Metrics of the packages, by name. The reference, the alerts and the dashboard are made from it. Metrics that are missing here, such as a
 * provider's own, get a help text derived from their name.
 */
export const metricCatalogue: Readonly<Record<string, MetricDefinition>> = {
  kubelet_pod_start_duration_seconds: histogram("From the node seeing a pod for the first time to the pod running", podStartBuckets),
  kubelet_pod_start_total_duration_seconds: histogram("From a pod's creation to the pod running", podStartBuckets),
  kubelet_pod_worker_duration_seconds: histogram("Work on one pod, by type of operation", defaultBuckets, ["operation_type"]),
  kubelet_pod_status_sync_duration_seconds: histogram("Writing one pod's status", statusBuckets),
  kubelet_started_pods_total: counter("Pods started"),
  kubelet_started_pods_errors_total: counter("Pods whose start failed"),
  kubelet_admission_rejections_total: counter("Pods that were rejected, by reason", ["reason"]),
  kubelet_started_containers_total: counter("Containers started, by their type", ["container_type"]),
  kubelet_terminated_containers_total: counter("Containers that have ended, by their type, exit code and reason", [
    "container_type",
    "exit_code",
    "reason",
  ]),
  kubelet_runtime_operations_total: counter("Calls of a container runtime, by CRI's name for them", ["operation_type"]),
  kubelet_runtime_operations_errors_total: counter("Calls of a container runtime that failed", ["operation_type"]),
  kubelet_runtime_operations_duration_seconds: histogram("How long a call of a container runtime takes", runtimeBuckets, [
    "operation_type",
  ]),
  kubelet_evictions: counter("Pods that were evicted, by the signal or limit that was exceeded", ["eviction_signal"]),
  kubelet_orphaned_runtime_pods_total: counter("Orphaned pods removed from the back end"),
  kubelet_http_requests_total: counter("HTTP requests received", ["method", "path", "server_type", "long_running"]),
  kubelet_http_requests_duration_seconds: histogram("Serving one HTTP request", defaultBuckets, [
    "method",
    "path",
    "server_type",
    "long_running",
  ]),
  kubelet_http_inflight_requests: gauge("HTTP requests being served", ["method", "path", "server_type", "long_running"]),
  kubelet_websocket_streaming_requests_total: counter("WebSocket requests for exec, attach and port-forward received", ["subresource"]),
  kubelet_server_expiration_renew_errors: counter("Failed renewals of the serving certificate"),
  kubelet_certificate_manager_server_ttl_seconds: gauge(
    "Seconds until the serving certificate expires; negative if it has. `node` is the first of the port's nodes; the series is absent while none of them runs here. Without `node` if it is that of --tls-cert-file",
    ["node"],
  ),
  kubelet_certificate_manager_client_expiration_renew_errors: counter("Failed renewals of the client certificate"),
  kubelet_certificate_manager_client_ttl_seconds: gauge("Seconds until the client certificate expires; negative if it has"),
  virtual_kubelet_serving_certificate_valid: gauge("Whether the serving certificate of --tls-cert-file is valid now: 1 or 0"),
  virtual_kubelet_serving_certificate_read_errors_total: counter("New contents of --tls-cert-file and its key that cannot be used"),
  kubelet_certificate_manager_server_rotation_seconds: histogram(
    "How long the serving certificate lived before it was replaced",
    [60, 3_600, 14_400, 86_400, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000, 124_416_000],
  ),
  authentication_token_cache_request_total: counter("Lookups of bearer tokens in the cache of reviews, by hit or miss", ["status"]),
  authentication_token_cache_fetch_total: counter("Reviews of bearer tokens that were not in the cache, by result", ["status"]),
  apiserver_delegated_authn_request_total: counter("Reviews of bearer tokens by the API server, by status code", ["code"]),
  apiserver_delegated_authn_request_duration_seconds: histogram("How long a review of a bearer token takes", reviewBuckets, ["code"]),
  apiserver_delegated_authz_request_total: counter("Reviews of callers' access by the API server, by status code", ["code"]),
  apiserver_delegated_authz_request_duration_seconds: histogram("How long a review of a caller's access takes", reviewBuckets, ["code"]),
  apiserver_client_certificate_expiration_seconds: histogram(
    "Remaining validity of the client certificates of requests",
    certificateBuckets,
  ),
  workqueue_depth: gauge("Items that wait in a work queue", ["name"]),
  workqueue_adds_total: counter("Items added to a work queue", ["name"]),
  workqueue_retries_total: counter("Retries of a work queue's items", ["name"]),
  workqueue_queue_duration_seconds: histogram("How long an item waits in a work queue", queueBuckets, ["name"]),
  workqueue_work_duration_seconds: histogram("How long work on an item takes", queueBuckets, ["name"]),
  workqueue_unfinished_work_seconds: gauge("Total time that the items in progress have taken so far", ["name"]),
  workqueue_longest_running_processor_seconds: gauge("Longest time that an item in progress has taken so far", ["name"]),
  rest_client_requests_total: counter("Requests to the API server, by status code and method", ["code", "method"]),
  rest_client_request_duration_seconds: histogram("How long a request to the API server takes", requestBuckets, ["method"]),
  vk_reflector_lists_total: counter("Lists of a reflector", ["resource", "list"]),
  vk_reflector_watches_total: counter("Watches of a reflector, by how they ended", ["resource", "end_reason"]),
  vk_reflector_relist_missed_events_total: counter("Changes that a watch missed, found by listing again", ["resource"]),
  vk_reflector_decode_errors_total: counter("Lines of a watch that could not be read", ["resource"]),
  vk_store_listener_errors_total: counter("Listeners of a store that threw"),
  vk_events_dropped_total: counter("Events dropped because there were too many"),
  vk_events_filtered_total: counter("Events not sent because their object has many; the count of a later one includes them"),
  vk_events_failed_total: counter("Events that the API server refused"),
  vk_lease_renewals_total: counter("Renewals of the node's lease, by result", ["result"]),
  vk_lease_renew_lateness_seconds: histogram("How late the node's lease was renewed", callBuckets),
  vk_node_ready: gauge("Whether the node is Ready", ["node"]),
  vk_nodes_failing: gauge(
    "Nodes, shared with other instances or found at a back end, that do not run because their last run failed; they are tried again",
  ),
  vk_node_failures_total: counter("Failed runs of nodes that are shared with other instances or found at a back end"),
  vk_group_members_with_other_nodes: gauge("Other instances of the group whose list of nodes differs from this one's"),
  vk_node_patches_total: counter("Patches of the node object", ["subresource"]),
  vk_pods_removed_total: counter("Deleted pods removed from the API server"),
  vk_status_patches_ignored_total: counter("Status patches that the API server accepted without effect"),
  vk_orphans: gauge("Objects at the back end without a pod, by state", ["node", "state"]),
  vk_provider_up: gauge("Whether the provider's back end answers", ["node"]),
  vk_provider_ping_duration_seconds: histogram("How long a ping of the provider takes", callBuckets),
  vk_provider_ping_failures_total: counter("Pings of the provider that failed"),
  vk_provider_configure_failures_total: counter("Failed calls for the provider's description of the node"),
  vk_provider_calls_total: counter("Calls of the provider, by method and result", ["method", "code"]),
  vk_provider_call_duration_seconds: histogram("How long a call of the provider takes", callBuckets, ["method"]),
  vk_provider_abandoned_calls_total: counter("Calls that the provider did not end when aborted", ["method"]),
  vk_provider_calls_waiting: gauge("Pods waiting for a slot to call the provider, by kind of call", ["kind"]),
  vk_provider_malformed_reports_total: counter("Reports of the provider that were rejected because of an invalid field"),
  vk_mass_loss_suspected_total: counter("Times that no pod was ended because too many seemed to be gone at once"),
  virtual_kubelet_backend_requests_total: counter("Requests to a back end that takes whole pods, by class, operation and outcome", [
    "backend",
    "class",
    "operation",
    "outcome",
  ]),
  virtual_kubelet_backend_wait_seconds: histogram("How long a request to a back end waits for its budget", callBuckets, [
    "backend",
    "class",
  ]),
  virtual_kubelet_backend_budget_used_ratio: gauge(
    "Used share of a back end's published rate, of which a node uses 0.7 at most; all nodes of the program added up",
    ["backend", "class"],
  ),
  virtual_kubelet_backend_skipped_objects_total: counter(
    "Objects of a back end that takes whole pods, skipped because they cannot be read or are copies",
    ["backend", "kind"],
  ),
  vk_nomad_skipped_objects_total: counter("Objects of Nomad that were skipped because a field is missing or malformed", ["kind"]),
  vk_kubernetes_skipped_objects_total: counter("Objects of the far cluster that were skipped because a field is missing or malformed", [
    "kind",
  ]),
  vk_kubernetes_far_rest_client_requests_total: counter("Requests to the far API server, by status code and method", ["code", "method"]),
  vk_kubernetes_far_rest_client_request_duration_seconds: histogram("How long a request to the far API server takes", requestBuckets, [
    "method",
  ]),
  vk_kubernetes_far_reflector_lists_total: counter("Lists of a reflector of the far cluster", ["resource", "list"]),
  vk_kubernetes_far_reflector_watches_total: counter("Watches of a reflector of the far cluster, by how they ended", [
    "resource",
    "end_reason",
  ]),
  vk_kubernetes_far_reflector_relist_missed_events_total: counter(
    "Changes that a watch of the far cluster missed, found by listing again",
    ["resource"],
  ),
  vk_kubernetes_far_reflector_decode_errors_total: counter("Lines of a watch of the far cluster that could not be read", ["resource"]),
  vk_kubernetes_far_store_listener_errors_total: counter("Listeners of a store of the far cluster that threw"),
  vk_metrics_dropped_total: counter("Invalid uses of a metric that were dropped, by the metric's name", ["name"]),
  vk_provider_unknown_pod_reports_total: counter("Reports of the provider about pods that do not belong to the node"),
};

function counter(help: string, labels: readonly string[] = []): MetricDefinition {
  return { help, type: "counter", labels };
}

function gauge(help: string, labels: readonly string[] = []): MetricDefinition {
  return { help, type: "gauge", labels };
}

function histogram(help: string, buckets: readonly number[], labels: readonly string[] = []): MetricDefinition {
  return { help, type: "histogram", labels, buckets };
}
