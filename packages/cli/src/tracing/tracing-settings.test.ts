import { expect, test } from "vitest";
import { planTracing } from "./tracing-settings.ts";

const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };

test.for<[what: string, env: Record<string, string>]>([
  ["nothing is set", {}],
  ["the SDK is disabled", { ...collector, OTEL_SDK_DISABLED: "TRUE" }],
  ["the exporter is none", { ...collector, OTEL_TRACES_EXPORTER: "none" }],
  ["the address is empty", { OTEL_EXPORTER_OTLP_ENDPOINT: " " }],
  ["only another signal has an address", { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://collector:4318" }],
])("no traces are sent, and nothing is said, if %s", ([, env]) => {
  expect(planTracing(env)).toEqual({ tracing: undefined, warnings: [] });
});

test.for<[env: Record<string, string>, endpoint: string]>([
  [collector, "http://collector:4318/v1/traces"],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector/otlp/" }, "https://collector/otlp/v1/traces"],
  [{ ...collector, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://other:9/spans" }, "http://other:9/spans"],
  [{ OTEL_TRACES_EXPORTER: "otlp" }, "http://localhost:4318/v1/traces"],
  [{ ...collector, OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf" }, "http://collector:4318/v1/traces"],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://me:secret@collector:4318?key=secret" }, "http://collector:4318/v1/traces"],
])("with %j traces go to %s", ([env, endpoint]) => {
  expect(planTracing(env)).toEqual({
    tracing: { endpoint, sampling: { followsParent: true, share: 1 }, batching: {} },
    warnings: [],
  });
});

test.for<[env: Record<string, string>, warning: string]>([
  [{ ...collector, OTEL_TRACES_EXPORTER: "zipkin" }, 'OTEL_TRACES_EXPORTER: "zipkin": expected otlp or none; no traces are sent'],
  [
    { ...collector, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
    'OTEL_EXPORTER_OTLP_PROTOCOL: "grpc": expected http/protobuf, as a collector serves it on port 4318; no traces are sent',
  ],
  [
    { ...collector, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json" },
    'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json": expected http/protobuf, as a collector serves it on port 4318; no traces are sent',
  ],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" },
    "OTEL_EXPORTER_OTLP_ENDPOINT is no URL, expected one such as http://localhost:4318: no traces are sent",
  ],
])("with %j nothing is sent, and the reason is said", ([env, warning]) => {
  expect(planTracing(env)).toEqual({ tracing: undefined, warnings: [warning] });
});

test.for<[sampler: string, arg: string | undefined, followsParent: boolean, share: number]>([
  ["always_on", undefined, false, 1],
  ["always_off", "0.5", false, 0],
  ["traceidratio", "0.25", false, 0.25],
  ["traceidratio", undefined, false, 1],
  ["parentbased_always_on", undefined, true, 1],
  ["parentbased_always_off", undefined, true, 0],
  ["parentbased_traceidratio", "0", true, 0],
])("the sampler %s with the argument %s", ([sampler, arg, followsParent, share]) => {
  const env = { ...collector, OTEL_TRACES_SAMPLER: sampler, ...(arg !== undefined && { OTEL_TRACES_SAMPLER_ARG: arg }) };

  expect(planTracing(env)).toMatchObject({ tracing: { sampling: { followsParent, share } }, warnings: [] });
});

test.for<[name: string, text: string, also: Record<string, string>]>([
  ["OTEL_TRACES_SAMPLER", "sometimes", {}],
  ["OTEL_TRACES_SAMPLER", "constructor", {}],
  ["OTEL_TRACES_SAMPLER_ARG", "2", { OTEL_TRACES_SAMPLER: "traceidratio" }],
  ["OTEL_TRACES_SAMPLER_ARG", "half", { OTEL_TRACES_SAMPLER: "traceidratio" }],
  ["OTEL_BSP_SCHEDULE_DELAY", "5s", {}],
  ["OTEL_BSP_MAX_QUEUE_SIZE", "0", {}],
])("%s=%s is reported and ignored: traces are sent", ([name, text, also]) => {
  const { tracing, warnings } = planTracing({ ...collector, ...also, [name]: text });

  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(`${name}: "${text}": expected `);
  expect(tracing).toMatchObject({ sampling: { share: 1 }, batching: {} });
});

test("the sizes and times of batches are numbers", () => {
  const env = {
    OTEL_BSP_SCHEDULE_DELAY: "100",
    OTEL_BSP_EXPORT_TIMEOUT: "200",
    OTEL_BSP_MAX_QUEUE_SIZE: "9",
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "3",
  };

  expect(planTracing({ ...collector, ...env }).tracing?.batching).toEqual({
    scheduledDelayMillis: 100,
    exportTimeoutMillis: 200,
    maxQueueSize: 9,
    maxExportBatchSize: 3,
  });
});
