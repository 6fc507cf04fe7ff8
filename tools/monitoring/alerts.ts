import { hasRisen, ofVirtualNodes, type Alert } from "./alert.ts";

/** Alerts about the node and its connection to the cluster. */
const ofTheNode: readonly Alert[] = [
  {
    name: "Absent",
    severity: "critical",
    expr: "absent(vk_node_ready)",
    for: "10m",
    summary: "No virtual node is scraped",
    description:
      "Prometheus has no metrics of any virtual node. Check that the program runs, and that Prometheus may read its metrics: the pod's log, the target's error in Prometheus, and the right get on nodes/metrics.",
  },
  {
    name: "NodeNotReady",
    severity: "critical",
    expr: "vk_node_ready == 0",
    for: "5m",
    summary: "Node {{ $labels.node }} is not Ready",
    description:
      "Kubernetes evicts the pods of a node that stays NotReady. kubectl describe node {{ $labels.node }} shows the reason on the condition Ready; virtual-kubelet explain REASON says what to do.",
  },
  {
    name: "NodesFailing",
    severity: "critical",
    expr: "vk_nodes_failing > 0",
    for: "5m",
    summary: "{{ $value }} nodes, shared or found at a back end, do not run",
    description:
      "The program tries these nodes again and again, while its others run. Its log names each with the error of its provider, and so do /readyz and, if instances share them, virtual-kubelet status.",
  },
  {
    name: "LeaseLate",
    severity: "critical",
    // Prometheus 3 stores the bound as 10.0, Prometheus 2 as it was written.
    expr: 'increase(vk_lease_renew_lateness_seconds_count[10m]) - sum without (le) (increase(vk_lease_renew_lateness_seconds_bucket{le=~"10|10[.]0"}[10m])) > 0.5',
    summary: "The node's lease was renewed more than 10 s late",
    description:
      "A lease that is not renewed for 40 s makes the node NotReady. The API server answers slowly, or the process was held up: see rest_client_request_duration_seconds, nodejs_eventloop_lag_p99_seconds and the CPU limit.",
  },
  {
    name: "LeaseRenewalsFail",
    severity: "warning",
    expr: 'increase(vk_lease_renewals_total{result="error"}[10m]) > 2',
    summary: "The API server refuses to renew the node's lease",
    description:
      "The program's log has the API server's answer. If it is 403, give the identity its rights again: virtual-kubelet manifests rbac | kubectl apply -f -.",
  },
  {
    name: "AccessDenied",
    severity: "warning",
    expr: ofVirtualNodes('sum by (job, instance, code) (increase(rest_client_requests_total{code=~"401|403"}[15m])) > 3'),
    for: "15m",
    summary: "The API server answers {{ $labels.code }} to the program",
    description:
      "A right or a credential is missing. The program's log names the request. Compare the rights with virtual-kubelet manifests rbac, and check the token or the certificate of the kubeconfig.",
  },
  {
    name: "ApiServerErrors",
    severity: "warning",
    expr: ofVirtualNodes(
      'sum by (job, instance) (rate(rest_client_requests_total{code=~"5..|<error>"}[10m])) / sum by (job, instance) (rate(rest_client_requests_total[10m])) > 0.1',
    ),
    for: "10m",
    summary: "{{ $value | humanizePercentage }} of the requests to the API server fail",
    description:
      "The API server cannot be reached or fails. Pods that run are left as they are; changes wait. Check the API server, the network between it and the program, and proxies.",
  },
  {
    name: "WatchesFail",
    severity: "warning",
    expr: 'sum without (end_reason) (increase(vk_reflector_watches_total{end_reason!="ended"}[15m])) > 10',
    for: "15m",
    summary: "Watches of {{ $labels.resource }} break again and again",
    description:
      "The program lists the objects instead, so that changes arrive late and the API server has more work. Look for a proxy or load balancer that cuts long connections, and for errors of the API server.",
  },
  {
    name: "WatchUnreadable",
    severity: "warning",
    expr: hasRisen("vk_reflector_decode_errors_total", "15m"),
    summary: "A watch of {{ $labels.resource }} sent what cannot be read",
    description:
      "Something between the program and the API server changes or cuts answers, such as a proxy. The program's log has the line.",
  },
  {
    name: "CertificateExpires",
    severity: "critical",
    expr: ofVirtualNodes("kubelet_certificate_manager_server_ttl_seconds < 86400"),
    for: "1h",
    summary: "The serving certificate expires in {{ $value | humanizeDuration }}",
    description:
      "Without it kubectl logs, exec and top fail. With certificates of the cluster: kubectl get csr, and kubectl certificate approve NAME, unless an approver runs. With --tls-cert-file: put a new certificate into the file.",
  },
  {
    name: "ClientCertificateExpires",
    severity: "critical",
    expr: ofVirtualNodes("kubelet_certificate_manager_client_ttl_seconds < 3600"),
    for: "15m",
    summary: "The program's client certificate expires in {{ $value | humanizeDuration }}",
    description:
      "Without it the API server refuses every request of the program, and the node becomes NotReady. kubectl get csr shows requests that are denied, or that nobody approves; if it has expired, run virtual-kubelet join again.",
  },
  {
    name: "ClientCertificateRenewalFails",
    severity: "warning",
    expr: ofVirtualNodes("increase(kubelet_certificate_manager_client_expiration_renew_errors[1h]) > 0"),
    summary: "The program's client certificate could not be renewed",
    description: "The program's log says why. kubectl get csr shows requests that are denied, or that nobody approves.",
  },
  {
    name: "CertificateRenewalFails",
    severity: "warning",
    expr: ofVirtualNodes("increase(kubelet_server_expiration_renew_errors[1h]) > 0"),
    summary: "The serving certificate could not be renewed",
    description: "The program's log says why. kubectl get csr shows requests that are denied, or that nobody approves.",
  },
  {
    name: "CertificateInvalid",
    severity: "critical",
    expr: "virtual_kubelet_serving_certificate_valid == 0",
    for: "5m",
    summary: "The certificate of --tls-cert-file is not valid",
    description:
      "It has expired or is not valid yet, so that kubectl logs, exec and top fail. Put a valid certificate and its key into the files; they are read again without a restart.",
  },
];

/** Alerts about the provider and its back end. */
const ofTheProvider: readonly Alert[] = [
  {
    name: "ProviderDown",
    severity: "critical",
    expr: "vk_provider_up == 0",
    for: "2m",
    summary: "The back end of node {{ $labels.node }} does not answer",
    description:
      "No pod starts or ends until it answers; pods that run are left as they are. kubectl describe node {{ $labels.node }} has the back end's answer. Check its address, its credentials and the network.",
  },
  {
    name: "ProviderCallsFail",
    severity: "warning",
    expr: 'sum without (method, code) (rate(vk_provider_calls_total{code!~"OK|VK_NOT_FOUND"}[10m])) / sum without (method, code) (rate(vk_provider_calls_total[10m])) > 0.2',
    for: "15m",
    summary: "{{ $value | humanizePercentage }} of the provider's calls fail",
    description: "vk_provider_calls_total shows which method fails with which code; virtual-kubelet explain CODE says what to do.",
  },
  {
    name: "ProviderSlow",
    severity: "warning",
    expr: "histogram_quantile(0.9, sum without (instance, pod) (rate(vk_provider_call_duration_seconds_bucket[10m]))) > 60",
    for: "15m",
    summary: "A tenth of the calls {{ $labels.method }} take more than a minute",
    description: "The back end is slow. Pods start and end late. Look at the back end's load, and at vk_provider_calls_waiting.",
  },
  {
    name: "ProviderCallsWait",
    severity: "warning",
    expr: "vk_provider_calls_waiting > 0",
    for: "15m",
    summary: "{{ $value }} pods wait for their turn to {{ $labels.kind }}",
    description:
      "Other calls of the provider take long and occupy all workers. Find out why the back end is slow, or raise --workers if it can do more at once.",
  },
  {
    name: "ProviderCallsAbandoned",
    severity: "warning",
    expr: hasRisen("vk_provider_abandoned_calls_total", "15m"),
    summary: "The provider does not end calls of {{ $labels.method }} that were aborted",
    description:
      "A call went on after its time-out. This is a bug of the provider, which has to respect its AbortSignal; report it to the provider's author.",
  },
  {
    name: "MalformedReports",
    severity: "warning",
    expr: "increase(vk_provider_malformed_reports_total[15m]) > 0",
    summary: "The provider reported a pod with an invalid field",
    description:
      "The report was rejected, and the pod keeps its last status. The program's log names the field. This is a bug of the provider; report it to the provider's author.",
  },
  {
    name: "ObjectsSkipped",
    severity: "warning",
    expr: ["vk_kubernetes", "vk_nomad", "virtual_kubelet_backend"]
      .map((prefix) => hasRisen(`${prefix}_skipped_objects_total`, "15m"))
      .join(" or "),
    summary: "Objects of kind {{ $labels.kind }} of the back end cannot be read",
    description:
      "Their pods keep their last status. The program's log names each object and field; another version of the back end may write them differently.",
  },
  {
    name: "FarApiServerErrors",
    severity: "warning",
    expr: 'sum by (job, instance) (rate(vk_kubernetes_far_rest_client_requests_total{code=~"401|5..|<error>"}[10m])) / sum by (job, instance) (rate(vk_kubernetes_far_rest_client_requests_total[10m])) > 0.1',
    for: "10m",
    summary: "{{ $value | humanizePercentage }} of the requests to the far cluster fail",
    description:
      "The far API server cannot be reached, fails, or refuses the credentials. Pods that run there are left as they are; changes wait. kubectl describe node shows the far cluster's answer. Check that API server, the network to it, and the token or certificate of cluster.kubeconfig.",
  },
  {
    name: "FarWatchesFail",
    severity: "warning",
    expr: 'sum without (end_reason) (increase(vk_kubernetes_far_reflector_watches_total{end_reason!="ended"}[15m])) > 10',
    for: "15m",
    summary: "Watches of {{ $labels.resource }} in the far cluster break again and again",
    description:
      "The program lists the objects instead, so that statuses of pods arrive late and the far API server has more work. Look for a proxy or load balancer that cuts long connections, and for errors of that API server.",
  },
  {
    name: "FarWatchUnreadable",
    severity: "warning",
    expr: hasRisen("vk_kubernetes_far_reflector_decode_errors_total", "15m"),
    summary: "A watch of {{ $labels.resource }} in the far cluster sent what cannot be read",
    description:
      "Something between the program and the far API server changes or cuts answers, such as a proxy. The program's log has the line.",
  },
  {
    name: "MassLossSuspected",
    severity: "critical",
    expr: "increase(vk_mass_loss_suspected_total[1h]) > 0",
    summary: "Too many pods seem to be gone at once; none is ended",
    description:
      "Either the back end or the API server answered with an incomplete list, or somebody removed many pods. The event MassLossSuspected of the node has the number. If the pods are really gone, raise orphans.maxPerSweep to that number.",
  },
  {
    name: "OrphansRemain",
    severity: "warning",
    expr: 'vk_orphans{state="suspected"} > 0',
    for: "1h",
    summary: "{{ $value }} objects at the back end belong to no pod, and stay",
    description:
      "They use resources, and cost money in a cloud. The log says why they are not removed: the API server does not confirm that their pods are gone, the removal fails, or orphans.enabled is false.",
  },
];

/** Alerts about pods. */
const ofPods: readonly Alert[] = [
  {
    name: "PodStartsFail",
    severity: "warning",
    expr: ofVirtualNodes("increase(kubelet_started_pods_errors_total[15m]) > 3"),
    for: "10m",
    summary: "Pods fail to start",
    description: "kubectl get events -A --field-selector reason=ProviderCreateFailed shows the pods with the back end's answers.",
  },
  {
    name: "PodsRejected",
    severity: "info",
    expr: ofVirtualNodes("sum by (job, instance, reason) (increase(kubelet_admission_rejections_total[15m])) > 3"),
    for: "10m",
    summary: "Pods are rejected with the reason {{ $labels.reason }}",
    description: "virtual-kubelet explain {{ $labels.reason }} says what it means and what to do.",
  },
  {
    name: "StatusWritesFail",
    severity: "warning",
    expr: ofVirtualNodes('increase(workqueue_retries_total{name="pod-status"}[15m]) > 10'),
    for: "10m",
    summary: "Statuses of pods cannot be written",
    description:
      "kubectl shows old statuses, and Services may send requests to pods that have ended. The program's log has the API server's answer: a missing right on pods/status, a webhook that refuses, or an API server that is overloaded.",
  },
  {
    name: "StatusPatchesIgnored",
    severity: "warning",
    expr: "increase(vk_status_patches_ignored_total[15m]) > 0",
    summary: "The API server accepts statuses of pods, and does not store them",
    description:
      "Something between the program and the API server, such as a mutating webhook, discards them. List it: kubectl get mutatingwebhookconfigurations.",
  },
  {
    name: "EventsLost",
    severity: "info",
    expr: "increase(vk_events_dropped_total[15m]) + increase(vk_events_failed_total[15m]) > 0",
    for: "5m",
    summary: "Events of pods or the node were lost",
    description:
      "There were more than 50 a second, or the API server refused them: see the right create on events. Statuses of pods are not affected.",
  },
];

/** Alerts about the process. */
const ofTheProcess: readonly Alert[] = [
  {
    name: "QueueBacklog",
    severity: "warning",
    expr: ofVirtualNodes("workqueue_depth > 100"),
    for: "15m",
    summary: "{{ $value }} items wait in the queue {{ $labels.name }}",
    description: "The program does not keep up. See the CPU limit, --workers, and whether the API server or the back end is slow.",
  },
  {
    name: "QueueStuck",
    severity: "warning",
    expr: ofVirtualNodes("workqueue_longest_running_processor_seconds > 600"),
    for: "5m",
    summary: "One item of the queue {{ $labels.name }} has been worked on for {{ $value | humanizeDuration }}",
    description: "A call does not return. vk_provider_call_duration_seconds and the program's log at the level debug show which.",
  },
  {
    name: "MemoryHigh",
    severity: "warning",
    expr: ofVirtualNodes("process_resident_memory_bytes > 536870912"),
    for: "30m",
    summary: "The process uses {{ $value | humanize1024 }} bytes of memory",
    description:
      "A node with 2,000 pods uses about 150 MiB. Compare with the number of pods and open streams. If it grows without them, report a leak with the values of nodejs_heap_size_used_bytes.",
  },
  {
    name: "EventLoopLag",
    severity: "warning",
    expr: ofVirtualNodes("nodejs_eventloop_lag_p99_seconds > 1"),
    for: "10m",
    summary: "The process is held up for {{ $value | humanizeDuration }} at a time",
    description: "The lease may be renewed late. Raise the CPU limit, or run fewer nodes in one process.",
  },
  {
    name: "MetricsDropped",
    severity: "info",
    expr: hasRisen("vk_metrics_dropped_total", "1h"),
    summary: "Values of the metric {{ $labels.name }} are dropped",
    description: "A provider or a program that embeds the node uses the metric with other labels than before. Report it to its author.",
  },
];

/** Every alert, in the order of the guide. */
export const alerts: readonly Alert[] = [...ofTheNode, ...ofTheProvider, ...ofPods, ...ofTheProcess];
