/** Series of a test, by name with labels: their values a minute apart, in promtool's notation. */
type SeriesValues = Readonly<Record<string, string>>;

/** Series that make an alert fire, and series close to them that do not. */
export interface AlertCase {
  readonly fires: SeriesValues;
  readonly quiet: SeriesValues;
}

const target = 'job="vk", instance="a:10250"';

/** Marks the target as one with virtual nodes. */
const isVirtual = { [`vk_provider_up{${target}, node="n"}`]: "1x120" };

/** A counter that does not move, and one that rises each minute. A counter with labels starts with its first event: `_x110 1x10`. */
const still = "5x120";
const risesBy = (step: number): string => `0+${step}x120`;

/** A metric of a kubelet or a controller, which is none of a virtual node: nothing marks its target. */
function ours(series: string, fires: string, quiet: string): AlertCase {
  return { fires: { ...isVirtual, [series]: fires }, quiet: { ...isVirtual, [series]: quiet } };
}

function alone(series: string, fires: string, quiet: string): AlertCase {
  return { fires: { [series]: fires }, quiet: { [series]: quiet } };
}

/** A case for each alert, by its name without the prefix. They are evaluated after two hours. */
export const alertCases: Readonly<Record<string, AlertCase>> = {
  Absent: { fires: { 'up{job="other"}': "1x120" }, quiet: { [`vk_node_ready{${target}, node="n"}`]: "1x120" } },
  NodeNotReady: alone(`vk_node_ready{${target}, node="n"}`, "1x60 0x60", "1x60 0x56 1x3"),
  NodesFailing: alone(`vk_nodes_failing{${target}}`, "0x60 2x60", "0x60 2x56 0x3"),
  LeaseLate: {
    fires: {
      [`vk_lease_renew_lateness_seconds_bucket{${target}, le="10"}`]: "0+6x110 660x10",
      [`vk_lease_renew_lateness_seconds_count{${target}}`]: "0+6x110 661+1x10",
    },
    quiet: {
      [`vk_lease_renew_lateness_seconds_bucket{${target}, le="10"}`]: "0+6x120",
      [`vk_lease_renew_lateness_seconds_count{${target}}`]: "0+6x120",
    },
  },
  LeaseRenewalsFail: alone(`vk_lease_renewals_total{${target}, result="error"}`, risesBy(1), "0x115 1x5"),
  AccessDenied: ours(`rest_client_requests_total{${target}, code="403", method="GET"}`, risesBy(1), "0x100 2x20"),
  ApiServerErrors: {
    fires: {
      ...isVirtual,
      [`rest_client_requests_total{${target}, code="200", method="GET"}`]: risesBy(8),
      [`rest_client_requests_total{${target}, code="<error>", method="GET"}`]: risesBy(1),
      [`rest_client_requests_total{${target}, code="503", method="GET"}`]: risesBy(1),
    },
    quiet: {
      ...isVirtual,
      [`rest_client_requests_total{${target}, code="200", method="GET"}`]: risesBy(20),
      [`rest_client_requests_total{${target}, code="404", method="GET"}`]: risesBy(20),
      [`rest_client_requests_total{${target}, code="503", method="GET"}`]: risesBy(1),
    },
  },
  WatchesFail: {
    fires: { [`vk_reflector_watches_total{${target}, resource="pods", end_reason="other"}`]: risesBy(1) },
    quiet: { [`vk_reflector_watches_total{${target}, resource="pods", end_reason="ended"}`]: risesBy(1) },
  },
  WatchUnreadable: alone(`vk_reflector_decode_errors_total{${target}, resource="pods"}`, "_x110 1x10", still),
  ClientCertificateExpires: ours(`kubelet_certificate_manager_client_ttl_seconds{${target}}`, "8000-60x120", "90000-10x120"),
  ClientCertificateRenewalFails: ours(`kubelet_certificate_manager_client_expiration_renew_errors{${target}}`, "0x100 1x20", still),
  CertificateExpires: ours(`kubelet_certificate_manager_server_ttl_seconds{${target}}`, "80000-60x120", "90000-10x120"),
  CertificateRenewalFails: ours(`kubelet_server_expiration_renew_errors{${target}}`, "0x100 1x20", still),
  CertificateInvalid: alone(`virtual_kubelet_serving_certificate_valid{${target}}`, "0x120", "1x120"),
  ProviderDown: alone(`vk_provider_up{${target}, node="n"}`, "1x110 0x10", "1x119 0"),
  ProviderCallsFail: {
    fires: {
      [`vk_provider_calls_total{${target}, method="createPod", code="OK"}`]: risesBy(3),
      [`vk_provider_calls_total{${target}, method="createPod", code="VK_UNAVAILABLE"}`]: risesBy(1),
    },
    quiet: {
      [`vk_provider_calls_total{${target}, method="createPod", code="OK"}`]: risesBy(3),
      [`vk_provider_calls_total{${target}, method="getPod", code="VK_NOT_FOUND"}`]: risesBy(3),
    },
  },
  ProviderSlow: {
    fires: {
      [`vk_provider_call_duration_seconds_bucket{${target}, method="createPod", le="60"}`]: risesBy(8),
      [`vk_provider_call_duration_seconds_bucket{${target}, method="createPod", le="120"}`]: risesBy(10),
      [`vk_provider_call_duration_seconds_bucket{${target}, method="createPod", le="+Inf"}`]: risesBy(10),
    },
    quiet: {
      [`vk_provider_call_duration_seconds_bucket{${target}, method="createPod", le="60"}`]: risesBy(10),
      [`vk_provider_call_duration_seconds_bucket{${target}, method="createPod", le="120"}`]: risesBy(10),
      [`vk_provider_call_duration_seconds_bucket{${target}, method="createPod", le="+Inf"}`]: risesBy(10),
    },
  },
  ProviderCallsWait: alone(`vk_provider_calls_waiting{${target}, kind="start"}`, "3x120", "3x114 0 3x5"),
  ProviderCallsAbandoned: alone(`vk_provider_abandoned_calls_total{${target}, method="createPod"}`, "_x110 1x10", still),
  MalformedReports: alone(`vk_provider_malformed_reports_total{${target}}`, "0x110 1x10", still),
  ObjectsSkipped: {
    fires: { [`vk_kubernetes_skipped_objects_total{${target}, kind="pod"}`]: "_x110 1x10" },
    quiet: {
      [`vk_nomad_skipped_objects_total{${target}, kind="job"}`]: still,
      [`virtual_kubelet_backend_skipped_objects_total{${target}, backend="zun", kind="object"}`]: still,
    },
  },
  FarApiServerErrors: {
    fires: {
      [`vk_kubernetes_far_rest_client_requests_total{${target}, method="GET", code="<error>"}`]: risesBy(2),
      [`vk_kubernetes_far_rest_client_requests_total{${target}, method="GET", code="200"}`]: risesBy(8),
    },
    quiet: {
      [`vk_kubernetes_far_rest_client_requests_total{${target}, method="GET", code="403"}`]: risesBy(2),
      [`vk_kubernetes_far_rest_client_requests_total{${target}, method="GET", code="200"}`]: risesBy(8),
    },
  },
  FarWatchesFail: {
    fires: { [`vk_kubernetes_far_reflector_watches_total{${target}, resource="pods", end_reason="other"}`]: risesBy(1) },
    quiet: { [`vk_kubernetes_far_reflector_watches_total{${target}, resource="pods", end_reason="ended"}`]: risesBy(1) },
  },
  FarWatchUnreadable: alone(`vk_kubernetes_far_reflector_decode_errors_total{${target}, resource="pods"}`, "_x110 1x10", still),
  MassLossSuspected: alone(`vk_mass_loss_suspected_total{${target}}`, "0x80 1x40", still),
  OrphansRemain: alone(`vk_orphans{${target}, node="n", state="suspected"}`, "2x120", "2x100 0 2x19"),
  PodStartsFail: ours(`kubelet_started_pods_errors_total{${target}}`, risesBy(1), "0x100 2x20"),
  PodsRejected: ours(`kubelet_admission_rejections_total{${target}, reason="OutOfcpu"}`, risesBy(1), "0x100 2x20"),
  StatusWritesFail: ours(`workqueue_retries_total{${target}, name="pod-status"}`, risesBy(2), "0+0.2x120"),
  StatusPatchesIgnored: alone(`vk_status_patches_ignored_total{${target}}`, "0x110 1x10", still),
  EventsLost: {
    fires: { [`vk_events_dropped_total{${target}}`]: risesBy(1), [`vk_events_failed_total{${target}}`]: "0x120" },
    quiet: { [`vk_events_dropped_total{${target}}`]: still, [`vk_events_failed_total{${target}}`]: still },
  },
  QueueBacklog: ours(`workqueue_depth{${target}, name="pods"}`, "150x120", "150x110 10 150x9"),
  QueueStuck: ours(`workqueue_longest_running_processor_seconds{${target}, name="pods"}`, "0+60x120", "300x120"),
  MemoryHigh: ours(`process_resident_memory_bytes{${target}}`, "600000000x120", "200000000x120"),
  EventLoopLag: ours(`nodejs_eventloop_lag_p99_seconds{${target}}`, "2x120", "0.1x120"),
  MetricsDropped: alone(`vk_metrics_dropped_total{${target}, name="a_total"}`, "_x100 1x20", still),
};

/** Cases of metrics that others have under the same name: without a virtual node on the target, no alert fires. */
export const foreignSeries: readonly SeriesValues[] = Object.values(alertCases)
  .filter(({ fires }) => Object.keys(isVirtual).every((series) => fires[series] === "1x120" && Object.keys(fires).length > 1))
  .map(({ fires }) => Object.fromEntries(Object.entries(fires).filter(([series]) => !Object.hasOwn(isVirtual, series))));

/** The series as Prometheus 3 stores them: a bound of a histogram's bucket is always a float. */
export function asPrometheus3Stores(series: SeriesValues): SeriesValues {
  return Object.fromEntries(Object.entries(series).map(([name, values]) => [name.replace(/(?<=le="\d+)(?=")/, ".0"), values]));
}
