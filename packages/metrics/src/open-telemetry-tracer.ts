import { SpanStatusCode, trace, type Span } from "@opentelemetry/api";
import { codeOf, messageOf } from "@virtual-kubelet/errdefs";
import type { Tracer } from "@virtual-kubelet/kube-client";

/**
 * A tracer that hands its spans to OpenTelemetry, to whatever SDK the process has registered; without one they cost
 * next to nothing and go nowhere.
 */
export function openTelemetryTracer(): Tracer {
  const tracer = trace.getTracer("virtual-kubelet");
  return {
    span: (name, attributes, work) => tracer.startActiveSpan(name, { attributes: { ...attributes } }, (span) => run(span, work)),
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
