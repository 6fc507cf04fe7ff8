import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import type { Logger } from "@virtual-kubelet/kube-client";

type ExportResult = Parameters<Parameters<SpanExporter["export"]>[1]>[0];

/** Value of `ExportResultCode.SUCCESS`. Source: @opentelemetry/core 3.1.1. */
const success = 0;

/** Exporter that logs when the collector starts to refuse traces, and when it accepts them again; the SDK itself says nothing. */
export class WatchedExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #endpoint: string;
  readonly #logger: Logger;
  #isFailing = false;

  constructor(exporter: SpanExporter, { endpoint, logger }: { readonly endpoint: string; readonly logger: Logger }) {
    this.#exporter = exporter;
    this.#endpoint = endpoint;
    this.#logger = logger;
  }

  export(spans: ReadableSpan[], onResult: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      this.#note(result);
      onResult(result);
    });
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  #note({ code, error }: ExportResult): void {
    const isFailing = code !== success;
    if (isFailing === this.#isFailing) return;
    this.#isFailing = isFailing;
    const endpoint = this.#endpoint;
    // Only the kind of failure: a collector may answer with what it was sent.
    if (isFailing)
      this.#logger.warn({ endpoint, reason: reasonOf(error) }, "traces cannot be sent; they are dropped until the collector accepts them");
    else this.#logger.info({ endpoint }, "the collector accepts traces again");
  }
}

/** `ECONNREFUSED`, an HTTP status, or the kind of the error. */
function reasonOf(error: Error | undefined): string {
  if (!error) return "unknown";
  const code = "code" in error ? error.code : undefined;
  if (typeof code === "number") return `HTTP ${code}`;
  return typeof code === "string" ? code : error.message.split("\n", 1)[0]?.slice(0, 100) || error.name;
}
