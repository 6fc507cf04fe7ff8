import { withDeadline } from "@virtual-kubelet/async";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { Logger } from "@virtual-kubelet/kube-client";
import type { Context } from "../context.ts";
import { versionInfo } from "../version-info.ts";
import { loadTracingSdk, tracingPackages, type TracingSdk } from "./load-sdk.ts";
import { planTracing, type Sampling, type TracingSettings } from "./tracing-settings.ts";
import { WatchedExporter } from "./watched-exporter.ts";

/** OpenTelemetry's API, which is loaded only if traces are to be sent. */
type Api = typeof import("@opentelemetry/api");

/** Time in which the last traces may leave at the end of the program. */
const flushMs = 2_000;

/** Options of {@link openTracing}. */
export interface OpenTracingOptions extends Pick<Context, "env" | "clock"> {
  readonly logger: Logger;
  /** Loads the SDK's packages. Default: {@link loadTracingSdk}. */
  readonly load?: (() => Promise<TracingSdk | undefined>) | undefined;
}

/**
 * Sends traces to a collector if OpenTelemetry's environment variables say so, and no SDK is registered yet, as by `NODE_OPTIONS=--import …`.
 * Never fails: a node must not depend on its traces. Spans wait in a queue of limited length, so that a collector that hangs or refuses
 * delays nothing.
 *
 * @returns disposable that sends the last traces, for two seconds at most
 */
export async function openTracing({ env, clock, logger, load = loadTracingSdk }: OpenTracingOptions): Promise<AsyncDisposable> {
  const nothing: AsyncDisposable = { [Symbol.asyncDispose]: async () => {} };
  const { tracing, warnings } = planTracing(env);
  for (const warning of warnings) logger.warn({}, warning);
  if (!tracing) return nothing;
  const api = await import("@opentelemetry/api");
  if (isRegistered(api)) {
    logger.debug({}, "traces go to the OpenTelemetry SDK that the process was started with");
    return nothing;
  }
  try {
    const sdk = await load();
    if (!sdk) {
      logger.warn(
        { endpoint: tracing.endpoint },
        `no traces are sent: install the packages that send them: npm install ${tracingPackages.join(" ")}`,
      );
      return nothing;
    }
    const provider = register(api, sdk, tracing, logger);
    logger.info({ endpoint: tracing.endpoint }, "traces are sent");
    return {
      [Symbol.asyncDispose]: async () => {
        const deadline = { clock, timeoutMs: flushMs, what: "send the last traces" };
        await withDeadline(deadline, new AbortController().signal, () => provider.shutdown()).catch((error: unknown) =>
          logger.warn({ endpoint: tracing.endpoint, err: messageOf(error) }, "the last traces were not sent"),
        );
        api.trace.disable();
        api.context.disable();
      },
    };
  } catch (error) {
    logger.warn({ endpoint: tracing.endpoint, err: messageOf(error) }, "no traces are sent: the OpenTelemetry SDK cannot be set up");
    return nothing;
  }
}

/** Whether an SDK has been registered in this process. */
function isRegistered({ trace, ProxyTracerProvider }: Api): boolean {
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer("virtual-kubelet") !== undefined;
}

/** Logs what the SDK finds wrong while it is set up, such as a certificate that it cannot read. Later it would repeat each failure to send. */
function logSetUp({ diag, DiagLogLevel }: Api, logger: Logger): Disposable {
  const warn = (text: string): void => logger.warn({}, `OpenTelemetry: ${text}`);
  const ignore = (): void => {};
  const diagLogger = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(diagLogger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  return { [Symbol.dispose]: () => diag.disable() };
}

function register(
  api: Api,
  sdk: TracingSdk,
  { endpoint, sampling, batching }: TracingSettings,
  logger: Logger,
): { shutdown(): Promise<void> } {
  using _heard = logSetUp(api, logger);
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } = sdk.resources;
  const own = resourceFromAttributes({ "service.name": "virtual-kubelet", "service.version": versionInfo().virtualKubelet });
  // The exporter and the detector read the environment by themselves.
  const exporter = new WatchedExporter(new sdk.exporter.OTLPTraceExporter(), { endpoint, logger });
  const provider = new sdk.trace.TracerProvider({
    resource: defaultResource()
      .merge(own)
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: samplerOf(sdk, sampling),
    spanProcessors: [new sdk.trace.BatchSpanProcessor({ exporter, ...batching })],
  });
  api.context.setGlobalContextManager(new sdk.context.AsyncLocalStorageContextManager().enable());
  api.trace.setGlobalTracerProvider(provider);
  return provider;
}

function samplerOf(
  { trace: { AlwaysOffSampler, AlwaysOnSampler, ParentBasedSampler, TraceIdRatioBasedSampler } }: TracingSdk,
  sampling: Sampling,
) {
  const { share, followsParent } = sampling;
  const root = share >= 1 ? new AlwaysOnSampler() : share <= 0 ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(share);
  return followsParent ? new ParentBasedSampler({ root }) : root;
}
