import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { z } from "zod";
import { LogShipper, startShipper } from "./shipper.ts";

/**
 * The configuration of the Collector's chart with `presets.logsCollection.enabled`, except for the exporter.
 * Source: opentelemetry-collector.logsCollectionConfig of opentelemetry-helm-charts charts/opentelemetry-collector/templates/_config.tpl.
 */
const configuration = (output: string): string => `
receivers:
  filelog:
    include: [/var/log/pods/*/*/*.log]
    exclude: []
    start_at: end
    retry_on_failure: { enabled: true }
    include_file_path: true
    include_file_name: false
    operators:
      - type: container
        id: container-parser
        max_log_size: 102400
exporters:
  file: { path: ${output}, flush_interval: 100ms }
service:
  pipelines: { logs: { receivers: [filelog], exporters: [file] } }
`;

/** A line as parsed by the shipper. */
export interface ShippedLine {
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly container: string;
  /** The container's restart count. */
  readonly restarts: string;
  /** `stdout` or `stderr`. */
  readonly stream: string;
  readonly text: string;
  /** Nanoseconds since the epoch. */
  readonly time: string;
}

const attribute = z.object({ key: z.string(), value: z.object({ stringValue: z.string().optional() }) });
const record = z.object({
  timeUnixNano: z.string(),
  body: z.object({ stringValue: z.string() }),
  attributes: z.array(attribute).default([]),
});
const batch = z.object({
  resourceLogs: z.array(
    z.object({
      resource: z.object({ attributes: z.array(attribute).default([]) }),
      scopeLogs: z.array(z.object({ logRecords: z.array(record) })),
    }),
  ),
});

/** Starts an OpenTelemetry Collector with its stock configuration, which reads a folder in place of `/var/log`; returns when it searches for files. */
export async function startCollector(logFolder: string): Promise<LogShipper<ShippedLine>> {
  await using cleanup = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), "vk-log-shipper-"));
  cleanup.defer(() => rm(directory, { recursive: true, force: true }));
  const [config, output, logFile] = ["config.yaml", "shipped", "log"].map((name) => join(directory, name)) as [string, string, string];
  await writeFile(config, configuration(output));
  await startShipper(cleanup, {
    program: inject("logShipper"),
    args: [`--config=${config}`],
    logFolder,
    logFile,
    readyText: "Everything is ready",
  });
  return new LogShipper(output, readBatch, cleanup.move());
}

function readBatch(json: string): ShippedLine[] {
  return batch.parse(JSON.parse(json)).resourceLogs.flatMap(({ resource, scopeLogs }) => {
    const of = (name: string): string => valueOf(resource.attributes, `k8s.${name}`);
    const source = {
      namespace: of("namespace.name"),
      pod: of("pod.name"),
      uid: of("pod.uid"),
      container: of("container.name"),
      restarts: of("container.restart_count"),
    };
    return scopeLogs
      .flatMap(({ logRecords }) => logRecords)
      .map(({ timeUnixNano, body, attributes }) => ({
        ...source,
        stream: valueOf(attributes, "log.iostream"),
        // In Docker's format each line includes its line end.
        text: body.stringValue.replace(/\n$/, ""),
        time: timeUnixNano,
      }));
  });
}

function valueOf(attributes: readonly z.infer<typeof attribute>[], name: string): string {
  return attributes.find(({ key }) => key === name)?.value.stringValue ?? "";
}
