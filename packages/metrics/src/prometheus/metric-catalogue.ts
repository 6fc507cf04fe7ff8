/** Help text, type and buckets of a metric. */
export interface MetricDefinition {
  readonly help: string;
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

/** Metrics of the packages, by name. Metrics that are missing here, such as a provider's own, get a help text derived from their name. */
export const metricCatalogue: Readonly<Record<string, MetricDefinition>> = {
  kubelet_pod_start_duration_seconds: histogram("From the node seeing a pod for the first time to the pod running", podStartBuckets),
  kubelet_pod_start_total_duration_seconds: histogram("From a pod's creation to the pod running", podStartBuckets),
  kubelet_pod_worker_duration_seconds: histogram("Work on one pod, by type of operation", defaultBuckets),
  kubelet_pod_status_sync_duration_seconds: histogram("Writing one pod's status", statusBuckets),
  kubelet_started_pods_total: counter("Pods started"),
  kubelet_started_pods_errors_total: counter("Pods whose start failed"),
  kubelet_admission_rejections_total: counter("Pods that were rejected, by reason"),
  kubelet_started_containers_total: counter("Containers started, by their type"),
  kubelet_terminated_containers_total: counter("Containers that have ended, by their type, exit code and reason"),
  kubelet_runtime_operations_total: counter("Calls of a container runtime, by CRI's name for them"),
  kubelet_runtime_operations_errors_total: counter("Calls of a container runtime that failed"),
  kubelet_runtime_operations_duration_seconds: histogram("How long a call of a container runtime takes", runtimeBuckets),
  kubelet_evictions: counter("Pods that were evicted, by the signal or limit that was exceeded"),
  kubelet_orphaned_runtime_pods_total: counter("Orphaned pods removed from the back end"),
  kubelet_http_requests_total: counter("HTTP requests received"),
  kubelet_http_requests_duration_seconds: histogram("Serving one HTTP request", defaultBuckets),
  kubelet_http_inflight_requests: gauge("HTTP requests being served"),
  kubelet_websocket_streaming_requests_total: counter("WebSocket requests for exec, attach and port-forward received"),
  kubelet_server_expiration_renew_errors: counter("Failed renewals of the serving certificate"),
  kubelet_certificate_manager_server_ttl_seconds: gauge("Seconds until the serving certificate expires; negative if it has"),
  virtual_kubelet_serving_certificate_valid: gauge("Whether the serving certificate of --tls-cert-file is valid now: 1 or 0"),
  virtual_kubelet_serving_certificate_read_errors_total: counter("New contents of --tls-cert-file and its key that cannot be used"),
  kubelet_certificate_manager_server_rotation_seconds: histogram(
    "How long the serving certificate lived before it was replaced",
    [60, 3_600, 14_400, 86_400, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000, 124_416_000],
  ),
  authentication_token_cache_request_total: counter("Lookups of bearer tokens in the cache of reviews, by hit or miss"),
  authentication_token_cache_fetch_total: counter("Reviews of bearer tokens that were not in the cache, by result"),
  apiserver_delegated_authn_request_total: counter("Reviews of bearer tokens by the API server, by status code"),
  apiserver_delegated_authn_request_duration_seconds: histogram("How long a review of a bearer token takes", reviewBuckets),
  apiserver_delegated_authz_request_total: counter("Reviews of callers' access by the API server, by status code"),
  apiserver_delegated_authz_request_duration_seconds: histogram("How long a review of a caller's access takes", reviewBuckets),
  apiserver_client_certificate_expiration_seconds: histogram(
    "Remaining validity of the client certificates of requests",
    certificateBuckets,
  ),
  workqueue_depth: gauge("Items that wait in a work queue"),
  workqueue_adds_total: counter("Items added to a work queue"),
  workqueue_retries_total: counter("Retries of a work queue's items"),
  workqueue_queue_duration_seconds: histogram("How long an item waits in a work queue", queueBuckets),
  workqueue_work_duration_seconds: histogram("How long work on an item takes", queueBuckets),
  workqueue_unfinished_work_seconds: gauge("Total time that the items in progress have taken so far"),
  workqueue_longest_running_processor_seconds: gauge("Longest time that an item in progress has taken so far"),
  rest_client_requests_total: counter("Requests to the API server, by status code and method"),
  rest_client_request_duration_seconds: histogram("How long a request to the API server takes", requestBuckets),
  vk_reflector_lists_total: counter("Lists of a reflector"),
  vk_reflector_watches_total: counter("Watches of a reflector, by how they ended"),
  vk_reflector_relist_missed_events_total: counter("Changes that a watch missed, found by listing again"),
  vk_reflector_decode_errors_total: counter("Lines of a watch that could not be read"),
  vk_store_listener_errors_total: counter("Listeners of a store that threw"),
  vk_events_dropped_total: counter("Events dropped because there were too many"),
  vk_events_filtered_total: counter("Events not sent because their object has many; the count of a later one includes them"),
  vk_events_failed_total: counter("Events that the API server refused"),
  vk_lease_renewals_total: counter("Renewals of the node's lease, by result"),
  vk_lease_renew_lateness_seconds: histogram("How late the node's lease was renewed", callBuckets),
  vk_node_ready: gauge("Whether the node is Ready"),
  vk_node_patches_total: counter("Patches of the node object"),
  vk_pods_removed_total: counter("Deleted pods removed from the API server"),
  vk_status_patches_ignored_total: counter("Status patches that the API server accepted without effect"),
  vk_orphans: gauge("Objects at the back end without a pod, by state"),
  vk_provider_up: gauge("Whether the provider's back end answers"),
  vk_provider_ping_duration_seconds: histogram("How long a ping of the provider takes", callBuckets),
  vk_provider_ping_failures_total: counter("Pings of the provider that failed"),
  vk_provider_configure_failures_total: counter("Failed calls for the provider's description of the node"),
  vk_provider_calls_total: counter("Calls of the provider, by method and result"),
  vk_provider_call_duration_seconds: histogram("How long a call of the provider takes", callBuckets),
  vk_provider_abandoned_calls_total: counter("Calls that the provider did not end when aborted"),
  vk_provider_calls_waiting: gauge("Pods waiting for a slot to call the provider, by kind of call"),
  vk_provider_malformed_reports_total: counter("Reports of the provider that were rejected because of an invalid field"),
  vk_mass_loss_suspected_total: counter("Times that no pod was ended because too many seemed to be gone at once"),
  vk_provider_unknown_pod_reports_total: counter("Reports of the provider about pods that do not belong to the node"),
};

function counter(help: string): MetricDefinition {
  return { help, type: "counter" };
}

function gauge(help: string): MetricDefinition {
  return { help, type: "gauge" };
}

function histogram(help: string, buckets: readonly number[]): MetricDefinition {
  return { help, type: "histogram", buckets };
}
