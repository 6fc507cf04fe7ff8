/** What a span is about; values come from bounded sets or name one object. Never a secret. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/**
 * Where the packages tell how long their work took and what it was part of. They name spans; who collects them is the
 * composition root's choice.
 */
export interface Tracer {
  /** Does the work as a span; spans within it become its children. A rejection marks the span as failed, and passes on. */
  span<T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T>;
}

/** Traces nothing. */
export const noTracer: Tracer = { span: (_name, _attributes, work) => work() };
