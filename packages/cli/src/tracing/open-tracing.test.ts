import { context, createContextKey, ROOT_CONTEXT, trace, TraceFlags } from "@opentelemetry/api";
import { VirtualClock } from "@virtual-kubelet/clock";
import { silentLogger, type Logger } from "@virtual-kubelet/kube-client";
import { afterEach, expect, test, vi } from "vitest";
import { loadTracingSdk, type TracingSdk } from "./load-sdk.ts";
import { openTracing } from "./open-tracing.ts";

const env = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" };

afterEach(() => {
  vi.unstubAllEnvs();
  trace.disable();
  context.disable();
});

/** A logger that keeps its lines. */
function recordingLogger(): { readonly logger: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const note = (level: string) => (_: object, text: string) => void lines.push(`${level}: ${text}`);
  return { lines, logger: { ...silentLogger, info: note("info"), warn: note("warn"), debug: note("debug") } };
}

/** The SDK with an exporter that does as it is told. */
async function sdkWith(exporter: Partial<InstanceType<TracingSdk["exporter"]["OTLPTraceExporter"]>>): Promise<TracingSdk> {
  const sdk = await loadTracingSdk();
  if (!sdk) throw new Error("the packages are not installed");
  class OTLPTraceExporter {
    export = exporter.export ?? ((_spans: unknown, done: (result: { code: number }) => void) => done({ code: 0 }));
    shutdown = exporter.shutdown ?? (async () => {});
    forceFlush = async (): Promise<void> => {};
  }
  return {
    ...sdk,
    exporter: { ...sdk.exporter, OTLPTraceExporter: OTLPTraceExporter as unknown as TracingSdk["exporter"]["OTLPTraceExporter"] },
  };
}

test("without an address nothing is loaded", async () => {
  const load = (): never => {
    throw new Error("loaded");
  };
  const { logger, lines } = recordingLogger();

  await using _tracing = await openTracing({ env: {}, clock: new VirtualClock(), logger, load });

  expect(lines).toEqual([]);
});

test("if the packages are not installed, one line says which command installs them, and the program goes on", async () => {
  const { logger, lines } = recordingLogger();

  await using _tracing = await openTracing({ env, clock: new VirtualClock(), logger, load: async () => undefined });

  expect(lines).toEqual([
    "warn: no traces are sent: install the packages that send them: npm install @opentelemetry/sdk-trace @opentelemetry/resources @opentelemetry/context-async-hooks @opentelemetry/exporter-trace-otlp-proto",
  ]);
});

test("packages that cannot be loaded do not stop the program", async () => {
  const { logger, lines } = recordingLogger();
  const load = async (): Promise<never> => {
    throw new SyntaxError("broken");
  };

  await using _tracing = await openTracing({ env, clock: new VirtualClock(), logger, load });

  expect(lines).toEqual(["warn: no traces are sent: the OpenTelemetry SDK cannot be set up"]);
});

test.for<[name: string, value: string, warning: string]>([
  ["OTEL_EXPORTER_OTLP_CERTIFICATE", "/there-is-no/ca.pem", "Failed to read root certificate file"],
  ["OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", "OTEL_EXPORTER_OTLP_COMPRESSION is invalid"],
])("%s=%s, which the SDK reads by itself, is logged", async ([name, value, warning]) => {
  vi.stubEnv(name, value);
  const { logger, lines } = recordingLogger();

  await using _tracing = await openTracing({ env, clock: new VirtualClock(), logger });

  expect(lines).toEqual([expect.stringContaining(warning), "info: traces are sent"]);
});

test("an SDK that the process was started with stays", async () => {
  const sdk = await sdkWith({});
  const first = new sdk.trace.TracerProvider();
  trace.setGlobalTracerProvider(first);
  const { logger, lines } = recordingLogger();

  await using _tracing = await openTracing({ env, clock: new VirtualClock(), logger, load: async () => sdk });

  expect(lines).toEqual(["debug: traces go to the OpenTelemetry SDK that the process was started with"]);
});

test("spans reach the exporter at the end, with the service's name, and the process is as before", async () => {
  const names: string[] = [];
  const sdk = await sdkWith({
    export: (spans, done) => {
      names.push(...spans.map(({ name, resource }) => `${name} of ${String(resource.attributes["service.name"])}`));
      done({ code: 0 });
    },
  });
  const { logger } = recordingLogger();
  {
    await using _tracing = await openTracing({ env, clock: new VirtualClock(), logger, load: async () => sdk });
    trace.getTracer("test").startSpan("work").end();
  }

  expect(names).toEqual(["work of virtual-kubelet"]);
  expect(trace.getTracer("test").startSpan("later").isRecording()).toBe(false);
  const key = createContextKey("test");
  expect(context.with(ROOT_CONTEXT.setValue(key, "kept"), () => context.active().getValue(key))).toBeUndefined();
});

test.for<[sampler: string, isRecorded: boolean]>([
  ["parentbased_always_off", true],
  ["always_off", false],
])("with the sampler %s it is %s that a span of a recorded trace is recorded", async ([sampler, isRecorded]) => {
  const { logger } = recordingLogger();
  const sdk = await sdkWith({});
  const set = { ...env, OTEL_TRACES_SAMPLER: sampler };

  await using _tracing = await openTracing({ env: set, clock: new VirtualClock(), logger, load: async () => sdk });

  const caller = { traceId: "1".repeat(32), spanId: "2".repeat(16), traceFlags: TraceFlags.SAMPLED, isRemote: true };
  const span = trace.getTracer("test").startSpan("work", {}, trace.setSpanContext(ROOT_CONTEXT, caller));
  expect(span.isRecording()).toBe(isRecorded);
});

test("attributes of the resource come from the environment, also the service's name", async () => {
  vi.stubEnv("OTEL_RESOURCE_ATTRIBUTES", "service.name=west,deployment.environment.name=test");
  const found: unknown[] = [];
  const sdk = await sdkWith({
    export: (spans, done) => {
      found.push(...spans.map(({ resource: { attributes } }) => [attributes["service.name"], attributes["deployment.environment.name"]]));
      done({ code: 0 });
    },
  });
  const { logger } = recordingLogger();
  {
    await using _tracing = await openTracing({ env, clock: new VirtualClock(), logger, load: async () => sdk });
    trace.getTracer("test").startSpan("work").end();
  }

  expect(found).toEqual([["west", "test"]]);
});

test("a collector that hangs delays the end by two seconds, not more", async () => {
  const sdk = await sdkWith({ export: () => {}, shutdown: () => new Promise(() => {}) });
  const clock = new VirtualClock();
  const { logger, lines } = recordingLogger();
  const tracing = await openTracing({ env, clock, logger, load: async () => sdk });
  trace.getTracer("test").startSpan("work").end();

  const ended = tracing[Symbol.asyncDispose]();
  // The SDK has a time-out too, of 30 real seconds, after which the same line would be logged.
  await clock.advance(1_999);
  expect(lines).toEqual(["info: traces are sent"]);
  await clock.advance(1);
  expect(lines.at(-1)).toBe("warn: the last traces were not sent");
  await ended;
});
