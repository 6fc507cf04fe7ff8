/** A panel of the dashboard. */
export interface Panel {
  readonly title: string;
  readonly description: string;
  /** Grafana's unit, such as `s` or `bytes`. Default: a number. */
  readonly unit?: string | undefined;
  /** `stat` shows the last values, `timeseries` their course. Default: timeseries. */
  readonly type?: "stat" | "timeseries" | undefined;
  readonly queries: readonly { readonly expr: string; readonly legend: string }[];
}

/** Panels below one heading. */
export interface PanelRow {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** Selects the targets that the dashboard's variables name. */
const chosen = 'job=~"$job", instance=~"$instance"';

/** Selector of a metric for the chosen targets, with further matchers. */
function of(metric: string, matchers: string = ""): string {
  return `${metric}{${[chosen, matchers].filter(Boolean).join(", ")}}`;
}

function rate(metric: string, by: string, matchers: string = ""): string {
  return `sum by (${by}) (rate(${of(metric, matchers)}[$__rate_interval]))`;
}

function quantile(share: number, histogram: string, by: string, matchers: string = ""): string {
  return `histogram_quantile(${share}, sum by (le, ${by}) (rate(${of(`${histogram}_bucket`, matchers)}[$__rate_interval])))`;
}

/** The rows of the dashboard, from what matters first to what explains it. */
export const rows: readonly PanelRow[] = [
  {
    title: "Nodes",
    panels: [
      {
        title: "Ready",
        description: "1: the node is Ready. 0: it is not; kubectl describe node shows why.",
        type: "stat",
        queries: [{ expr: of("vk_node_ready"), legend: "{{node}}" }],
      },
      {
        title: "Back end answers",
        description: "1: the provider's back end answers. 0: it does not.",
        type: "stat",
        queries: [{ expr: of("vk_provider_up"), legend: "{{node}}" }],
      },
      {
        title: "Pods",
        description: "Pods of the node by the stage of their life.",
        queries: [{ expr: `sum by (node, lifecycle) (${of("kubelet_working_pods")})`, legend: "{{node}} {{lifecycle}}" }],
      },
      {
        title: "Containers",
        description: "Containers of the node by their state.",
        queries: [{ expr: `sum by (node, container_state) (${of("kubelet_running_containers")})`, legend: "{{node}} {{container_state}}" }],
      },
      {
        title: "Lease lateness, 99 %",
        description: "How late the node's lease is renewed. Above 30 s the node becomes NotReady.",
        unit: "s",
        queries: [{ expr: quantile(0.99, "vk_lease_renew_lateness_seconds", "instance"), legend: "{{instance}}" }],
      },
      {
        title: "Lease renewals",
        description: "Renewals of the lease by result.",
        unit: "ops",
        queries: [{ expr: rate("vk_lease_renewals_total", "result"), legend: "{{result}}" }],
      },
      {
        title: "Serving certificate",
        description: "Time until the certificate of the node's server expires.",
        unit: "s",
        type: "stat",
        queries: [{ expr: of("kubelet_certificate_manager_server_ttl_seconds"), legend: "{{instance}} {{node}}" }],
      },
      {
        title: "Orphans and mass loss",
        description: "Objects at the back end without a pod, and how often the brake against mass loss has held.",
        queries: [
          { expr: `sum by (instance, state) (${of("vk_orphans")})`, legend: "orphans {{state}}" },
          { expr: `increase(${of("vk_mass_loss_suspected_total")}[$__range])`, legend: "mass loss suspected" },
        ],
      },
    ],
  },
  {
    title: "Pods",
    panels: [
      {
        title: "Starts",
        description: "Pods started, and starts that failed.",
        unit: "ops",
        queries: [
          { expr: rate("kubelet_started_pods_total", "instance"), legend: "started" },
          { expr: rate("kubelet_started_pods_errors_total", "instance"), legend: "failed" },
        ],
      },
      {
        title: "Time to running",
        description: "From the node seeing a pod for the first time to the pod running.",
        unit: "s",
        queries: [
          { expr: quantile(0.5, "kubelet_pod_start_duration_seconds", "instance"), legend: "50 %" },
          { expr: quantile(0.99, "kubelet_pod_start_duration_seconds", "instance"), legend: "99 %" },
        ],
      },
      {
        title: "Rejections",
        description: "Rejected pods by reason; virtual-kubelet explain REASON says what to do.",
        queries: [
          { expr: `sum by (reason) (increase(${of("kubelet_admission_rejections_total")}[$__rate_interval]))`, legend: "{{reason}}" },
        ],
      },
      {
        title: "Ended containers",
        description: "Containers that have ended, by reason and exit code.",
        unit: "ops",
        queries: [{ expr: rate("kubelet_terminated_containers_total", "reason, exit_code"), legend: "{{reason}} {{exit_code}}" }],
      },
      {
        title: "Status writes",
        description: "Duration of a write of a pod's status, and writes that are tried again.",
        unit: "s",
        queries: [{ expr: quantile(0.99, "kubelet_pod_status_sync_duration_seconds", "instance"), legend: "99 %" }],
      },
      {
        title: "Lost events",
        description: "Events that were dropped, refused, or counted in a later one.",
        unit: "ops",
        queries: [
          { expr: rate("vk_events_dropped_total", "instance"), legend: "dropped" },
          { expr: rate("vk_events_failed_total", "instance"), legend: "refused" },
          { expr: rate("vk_events_filtered_total", "instance"), legend: "combined" },
        ],
      },
    ],
  },
  {
    title: "Provider",
    panels: [
      {
        title: "Calls",
        description: "Calls of the provider by method and result.",
        unit: "ops",
        queries: [{ expr: rate("vk_provider_calls_total", "method, code"), legend: "{{method}} {{code}}" }],
      },
      {
        title: "Duration of calls, 99 %",
        description: "How long calls of the provider take.",
        unit: "s",
        queries: [{ expr: quantile(0.99, "vk_provider_call_duration_seconds", "method"), legend: "{{method}}" }],
      },
      {
        title: "Waiting calls",
        description: "Pods that wait for their turn at the provider.",
        queries: [{ expr: `sum by (kind) (${of("vk_provider_calls_waiting")})`, legend: "{{kind}}" }],
      },
      {
        title: "Ping",
        description: "How long the back end takes to answer a ping.",
        unit: "s",
        queries: [{ expr: quantile(0.99, "vk_provider_ping_duration_seconds", "instance"), legend: "99 %" }],
      },
      {
        title: "Faults of the provider",
        description: "Reports with invalid fields, reports about unknown pods, and calls that did not end when aborted.",
        queries: [
          { expr: rate("vk_provider_malformed_reports_total", "instance"), legend: "malformed" },
          { expr: rate("vk_provider_unknown_pod_reports_total", "instance"), legend: "unknown pod" },
          { expr: rate("vk_provider_abandoned_calls_total", "method"), legend: "abandoned {{method}}" },
        ],
      },
      {
        title: "Skipped objects",
        description: "Objects of the back end that were skipped because a field is missing or malformed, by kind.",
        queries: [
          ...["kubernetes", "nomad"].map((backEnd) => ({
            expr: `sum by (kind) (${of(`vk_${backEnd}_skipped_objects_total`)})`,
            legend: `${backEnd} {{kind}}`,
          })),
          { expr: `sum by (backend) (${of("virtual_kubelet_backend_skipped_objects_total")})`, legend: "{{backend}}" },
        ],
      },
    ],
  },
  {
    title: "Another cluster: the provider kubernetes",
    panels: [
      {
        title: "Requests to the far API server",
        description: "Requests by method and status code.",
        unit: "reqps",
        queries: [{ expr: rate("vk_kubernetes_far_rest_client_requests_total", "method, code"), legend: "{{method}} {{code}}" }],
      },
      {
        title: "Duration of far requests, 99 %",
        description: "How long requests to the far API server take.",
        unit: "s",
        queries: [{ expr: quantile(0.99, "vk_kubernetes_far_rest_client_request_duration_seconds", "method"), legend: "{{method}}" }],
      },
      {
        title: "Ended far watches",
        description: "Watches of the far cluster by how they ended. Only ended is ordinary.",
        unit: "ops",
        queries: [
          { expr: rate("vk_kubernetes_far_reflector_watches_total", "resource, end_reason"), legend: "{{resource}} {{end_reason}}" },
        ],
      },
      {
        title: "Missed far changes",
        description: "Changes that a watch of the far cluster missed and a list found, and lines that could not be read.",
        unit: "ops",
        queries: [
          { expr: rate("vk_kubernetes_far_reflector_relist_missed_events_total", "resource"), legend: "missed {{resource}}" },
          { expr: rate("vk_kubernetes_far_reflector_decode_errors_total", "resource"), legend: "unreadable {{resource}}" },
        ],
      },
    ],
  },
  {
    title: "API server and process",
    panels: [
      {
        title: "Requests to the API server",
        description: "Requests by method and status code.",
        unit: "reqps",
        queries: [{ expr: rate("rest_client_requests_total", "method, code"), legend: "{{method}} {{code}}" }],
      },
      {
        title: "Duration of requests, 99 %",
        description: "How long requests to the API server take.",
        unit: "s",
        queries: [{ expr: quantile(0.99, "rest_client_request_duration_seconds", "method"), legend: "{{method}}" }],
      },
      {
        title: "Ended watches",
        description: "Watches by how they ended. Only ended is ordinary.",
        unit: "ops",
        queries: [{ expr: rate("vk_reflector_watches_total", "resource, end_reason"), legend: "{{resource}} {{end_reason}}" }],
      },
      {
        title: "Queues",
        description: "Items that wait in the work queues.",
        queries: [{ expr: `sum by (name) (${of("workqueue_depth")})`, legend: "{{name}}" }],
      },
      {
        title: "Memory",
        description: "Memory of the process.",
        unit: "bytes",
        queries: [
          { expr: of("process_resident_memory_bytes"), legend: "resident {{instance}}" },
          { expr: of("nodejs_heap_size_used_bytes"), legend: "heap {{instance}}" },
        ],
      },
      {
        title: "CPU and event loop",
        description: "Processor time, and the time between two measurements of the event loop: 0.1 s if the process is never held up.",
        queries: [
          { expr: rate("process_cpu_seconds_total", "instance"), legend: "CPU {{instance}}" },
          { expr: of("nodejs_eventloop_lag_p99_seconds"), legend: "event loop lag 99 % {{instance}}" },
        ],
      },
    ],
  },
];
