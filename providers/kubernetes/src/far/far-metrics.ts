import type { Metrics } from "@virtual-kubelet/kube-client";

/** Metrics of the far cluster's client and reflectors: those of the home cluster have the same names without `far_`. */
export function farMetrics(metrics: Metrics): Metrics {
  return {
    count: (name, labels, value) => metrics.count(farName(name), labels, value),
    gauge: (name, value, labels) => metrics.gauge(farName(name), value, labels),
    observe: (name, value, labels) => metrics.observe(farName(name), value, labels),
    ...(metrics.sampled && {
      sampled: (name, read, labels) => metrics.sampled?.(farName(name), read, labels) ?? { [Symbol.dispose]() {} },
    }),
  };
}

/** `rest_client_requests_total` ▶ `vk_kubernetes_far_rest_client_requests_total`; `vk_reflector_…` ▶ `vk_kubernetes_far_reflector_…`. */
export function farName(name: string): string {
  return `vk_kubernetes_far_${name.replace(/^vk_/, "")}`;
}
