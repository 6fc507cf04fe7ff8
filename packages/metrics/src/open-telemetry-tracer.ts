import type { Span, Tracer as SdkTracer } from "@opentelemetry/api";
import { codeOf, messageOf } from "@virtual-kubelet/errdefs";
import type { Tracer } from "@virtual-kubelet/kube-client";

/** OpenTelemetry's API. */
type Api = typeof import("@opentelemetry/api");

/** Where each copy of OpenTelemetry's API finds the SDK that is registered in the process. Source: its `internal/global-utils`. */
const registry = Symbol.for("opentelemetry.js.api.1");

/**
 * Tracer that passes spans to OpenTelemetry's global SDK. Without a registered SDK, spans cost almost nothing and are dropped, and
 * OpenTelemetry's API is not loaded; the first span after an SDK is registered waits until it is.
 */
export function openTelemetryTracer(): Tracer {
  let loading: Promise<Api> | undefined;
  let loaded: { readonly api: Api; readonly tracer: SdkTracer } | undefined;
  const traced: Tracer["span"] = async (name, attributes, work) => {
    if (!loaded) {
      const api = await (loading ??= import("@opentelemetry/api"));
      loaded ??= { api, tracer: api.trace.getTracer("virtual-kubelet") };
    }
    const { api, tracer } = loaded;
    const { context, trace } = api;
    const span = tracer.startSpan(name, { attributes: { ...attributes } });
    if (span.spanContext().traceId === api.INVALID_TRACEID) return work();
    return context.with(trace.setSpan(context.active(), span), () => run(span, api, work));
  };
  return { span: (name, attributes, work) => (isSdkRegistered() ? traced(name, attributes, work) : work()) };
}

function isSdkRegistered(): boolean {
  const registered = (globalThis as { readonly [registry]?: { readonly trace?: unknown } })[registry];
  return registered?.trace !== undefined;
}

async function run<T>(span: Span, { SpanStatusCode }: Api, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) });
    const code = codeOf(error);
    if (code !== undefined) span.setAttribute("error.type", code);
    throw error;
  } finally {
    span.end();
  }
}
