import type { MetricFamily, MetricSample } from "@virtual-kubelet/core";

/** Content type of {@link renderMetrics}'s text. */
export const metricsContentType = "text/plain; version=0.0.4; charset=utf-8";

/** Figures in Prometheus's text format 0.0.4, sorted by name, each sample's labels too. */
export function renderMetrics(families: readonly MetricFamily[]): string {
  const sorted = families.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return sorted.map(renderFamily).join("");
}

function renderFamily({ name, help, type, samples }: MetricFamily): string {
  const head = `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n# TYPE ${name} ${type}\n`;
  return head + samples.map((sample) => `${name}${renderSample(sample)}\n`).join("");
}

function renderSample({ labels = {}, value, timestampMs }: MetricSample): string {
  const pairs = Object.entries(labels)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
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
