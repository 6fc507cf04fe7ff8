/** Attributes of a span; values come from bounded sets or name one object. Never a secret. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/**
 * Tracer of all packages, which name their spans. Collecting the spans is the
 * composition root's choice.
 */
export interface Tracer {
  /** Runs the work in a span; spans within it become its children. A rejection marks the span as failed, and is passed on. */
  span<T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T>;
}

/** Traces nothing. */
export const noTracer: Tracer = { span: (_name, _attributes, work) => work() };
