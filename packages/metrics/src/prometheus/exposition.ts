import type { MetricFamily, MetricSample } from "@virtual-kubelet/core";

/** Content type of the text that {@link renderMetrics} returns. */
export const metricsContentType = "text/plain; version=0.0.4; charset=utf-8";

/** Renders metrics in Prometheus's text format 0.0.4. Families and labels are sorted by name. */
export function renderMetrics(families: readonly MetricFamily[]): string {
  return render(families, () => []);
}

/** Order of the labels of containers' samples: upstream's importable test suite takes the second label for the pod. */
const containerLabels = ["container", "pod", "namespace"];

/**
 * {@link renderMetrics} for `/metrics/resource`: the labels of containers' samples are in the order container, pod, namespace.
 *
 * Source: virtual-kubelet v1.13 test/e2e/basic.go, TestGetMetricsResource (7b1385b).
 */
export function renderResourceMetrics(families: readonly MetricFamily[]): string {
  return render(families, ({ name }) => (name.startsWith("container_") ? containerLabels : []));
}

function render(families: readonly MetricFamily[], firstLabels: (family: MetricFamily) => readonly string[]): string {
  const sorted = families.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return sorted.map((family) => renderFamily(family, firstLabels(family))).join("");
}

function renderFamily({ name, help, type, samples }: MetricFamily, first: readonly string[]): string {
  const head = `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n# TYPE ${name} ${type}\n`;
  return head + samples.map((sample) => `${name}${sample.suffix ?? ""}${renderSample(sample, first)}\n`).join("");
}

function renderSample({ labels = {}, value, timestampMs }: MetricSample, first: readonly string[]): string {
  const place = (label: string): number => (first.includes(label) ? first.indexOf(label) : first.length);
  const pairs = Object.entries(labels)
    .toSorted(([a], [b]) => place(a) - place(b) || (a < b ? -1 : 1))
    .map(([name, text]) => `${name}="${escapeLabel(text)}"`);
  const time = timestampMs === undefined ? "" : ` ${Math.round(timestampMs)}`;
  return `${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${renderValue(value)}${time}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function renderValue(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}
