import { context, trace, type Span, type SpanOptions, type Tracer } from "@opentelemetry/api";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";
import { openTelemetryTracer } from "./open-telemetry-tracer.ts";

interface SeenSpan {
  readonly name: string;
  readonly attributes: Record<string, unknown>;
  status?: unknown;
  ended: boolean;
}

afterEach(() => trace.disable());

/** Registers the least there is of an SDK. */
function register(): SeenSpan[] {
  const spans: SeenSpan[] = [];
  const start = (name: string, options: SpanOptions): Span => {
    const seen: SeenSpan = { name, attributes: { ...options.attributes }, ended: false };
    spans.push(seen);
    const none =
      trace.getSpan(context.active()) ?? trace.wrapSpanContext({ traceId: "1".repeat(32), spanId: "1".repeat(16), traceFlags: 0 });
    return Object.assign(Object.create(none) as Span, {
      setStatus: (status: unknown) => void (seen.status = status),
      setAttribute: (key: string, value: unknown) => void (seen.attributes[key] = value),
      end: () => void (seen.ended = true),
    });
  };
  const tracer = { startSpan: start } as unknown as Tracer;
  trace.setGlobalTracerProvider({ getTracer: () => tracer });
  return spans;
}

test("a span has its attributes, and ends with its work", async () => {
  const spans = register();

  const result = await openTelemetryTracer().span("pod.sync", { "k8s.pod.name": "web" }, async () => {
    expect(spans[0]?.ended).toBe(false);
    return 7;
  });

  expect(result).toBe(7);
  expect(spans).toEqual([{ name: "pod.sync", attributes: { "k8s.pod.name": "web" }, ended: true }]);
});

test("a failure marks the span, with its code, and passes on", async () => {
  const spans = register();
  const failing = openTelemetryTracer().span("provider.createPod", {}, () => Promise.reject(new UnavailableError("away")));

  await expect(failing).rejects.toThrow("away");
  expect(spans).toEqual([
    { name: "provider.createPod", attributes: { "error.type": "VK_UNAVAILABLE" }, status: { code: 2, message: "away" }, ended: true },
  ]);
});

test("without an SDK the work is done all the same", async () => {
  await expect(openTelemetryTracer().span("pod.sync", {}, async () => 7)).resolves.toBe(7);
});

test("an SDK that is registered after the first span gets the later ones", async () => {
  const tracer = openTelemetryTracer();
  await tracer.span("pod.sync", {}, async () => {});

  const spans = register();
  await tracer.span("status.patch", {}, async () => {});

  expect(spans.map(({ name }) => name)).toEqual(["status.patch"]);
});

test("without an SDK OpenTelemetry's API is not loaded", async () => {
  const module = JSON.stringify(new URL("open-telemetry-tracer.ts", import.meta.url).href);
  const program = `
    import { registerHooks } from "node:module";
    const urls = [];
    registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
    const { openTelemetryTracer } = await import(${module});
    await openTelemetryTracer().span("pod.sync", {}, async () => {});
    console.log(urls.filter((url) => url.includes("open-telemetry-tracer")).length, urls.filter((url) => url.includes("@opentelemetry")).length);
  `;
  const flags = ["--conditions=@virtual-kubelet/source", "--input-type=module", "--eval", program];

  const { stdout } = await promisify(execFile)(process.execPath, flags);

  expect(stdout.trim()).toBe("1 0");
});
