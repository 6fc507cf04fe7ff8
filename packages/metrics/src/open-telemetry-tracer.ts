import { context, INVALID_TRACEID, SpanStatusCode, trace, type Span } from "@opentelemetry/api";
import { codeOf, messageOf } from "@virtual-kubelet/errdefs";
import type { Tracer } from "@virtual-kubelet/kube-client";

/** Tracer that passes spans to OpenTelemetry's global SDK. Without a registered SDK, spans cost almost nothing and are dropped. */
export function openTelemetryTracer(): Tracer {
  const tracer = trace.getTracer("virtual-kubelet");
  return {
    span: (name, attributes, work) => {
      const span = tracer.startSpan(name, { attributes: { ...attributes } });
      // Without an SDK there is no trace.
      if (span.spanContext().traceId === INVALID_TRACEID) return work();
      return context.with(trace.setSpan(context.active(), span), () => run(span, work));
    },
  };
}

async function run<T>(span: Span, work: () => Promise<T>): Promise<T> {
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
