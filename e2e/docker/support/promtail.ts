import type { ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { LogShipper, startShipper } from "./shipper.ts";

/**
 * The configuration of Promtail's chart, with `docker: {}` in place of `cri: {}`, and without the labels that tests do not read.
 * Source: config.snippets of grafana/helm-charts charts/promtail/values.yaml.
 */
const configuration = (directory: string): string => `
server: { disable: true }
clients: [{ url: "http://127.0.0.1:9/loki/api/v1/push" }]
positions: { filename: ${directory}/positions.yaml }
scrape_configs:
  - job_name: kubernetes-pods
    pipeline_stages: [{ docker: {} }]
    kubernetes_sd_configs: [{ role: pod, kubeconfig_file: ${directory}/kubeconfig }]
    relabel_configs:
      - { action: replace, source_labels: [__meta_kubernetes_pod_node_name], target_label: node_name }
      - { action: replace, source_labels: [__meta_kubernetes_namespace], target_label: namespace }
      - { action: replace, source_labels: [__meta_kubernetes_pod_name], target_label: pod }
      - { action: replace, source_labels: [__meta_kubernetes_pod_container_name], target_label: container }
      - action: replace
        replacement: /var/log/pods/*$1/*.log
        separator: /
        source_labels: [__meta_kubernetes_pod_uid, __meta_kubernetes_pod_container_name]
        target_label: __path__
      - action: replace
        regex: true/(.*)
        replacement: /var/log/pods/*$1/*.log
        separator: /
        source_labels:
          - __meta_kubernetes_pod_annotationpresent_kubernetes_io_config_hash
          - __meta_kubernetes_pod_annotation_kubernetes_io_config_hash
          - __meta_kubernetes_pod_container_name
        target_label: __path__
`;

/** A line that Promtail would send to Loki. */
export interface PromtailLine {
  /** Labels, such as `pod`, `stream` and `filename`. */
  readonly labels: Readonly<Record<string, string>>;
  readonly text: string;
}

/**
 * Starts Promtail on a node with its chart's configuration; returns when it searches for pods. It prints lines instead of sending them.
 *
 * @param logFolder - folder that it sees as `/var/log`
 */
export async function startPromtail(server: ApiServer, nodeName: string, logFolder: string): Promise<LogShipper<PromtailLine>> {
  await using cleanup = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), "vk-promtail-"));
  cleanup.defer(() => rm(directory, { recursive: true, force: true }));
  const [config, output] = [join(directory, "promtail.yaml"), join(directory, "output")];
  await writeFile(config, configuration(directory));
  await server.writeKubeconfig(join(directory, "kubeconfig"));
  await startShipper(cleanup, {
    program: inject("promtail"),
    args: [`-config.file=${config}`, "-dry-run"],
    logFolder,
    logFile: output,
    readyText: "Starting Promtail",
    // The chart sets this variable to the node's name, and Promtail reads the pods of that node.
    environment: { HOSTNAME: nodeName },
  });
  return new LogShipper(output, readLine, cleanup.move());
}

/** Reads `TIME {name="value", …} TEXT`; other lines are Promtail's own log. */
function readLine(line: string): PromtailLine[] {
  const [, names, text] = /^\d{4}-\S+\s*\{(.*?)\}\s*(.*)$/.exec(line) ?? [];
  if (names === undefined || text === undefined) return [];
  const labels = Object.fromEntries([...names.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]));
  return [{ labels, text }];
}
