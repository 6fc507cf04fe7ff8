/** Variables of the environment. */
type Environment = Readonly<Record<string, string | undefined>>;

/** Which traces are recorded. */
export interface Sampling {
  /** Whether the decision of a parent span is followed. */
  readonly followsParent: boolean;
  /** Share of the traces, from 0 to 1. */
  readonly share: number;
}

/** How spans are collected before they are sent. Default of each: the SDK's. */
interface Batching {
  readonly scheduledDelayMillis?: number;
  readonly exportTimeoutMillis?: number;
  readonly maxQueueSize?: number;
  readonly maxExportBatchSize?: number;
}

/** How traces are made and where they go. The exporter reads its headers, time-outs and certificates from the environment by itself. */
export interface TracingSettings {
  /** Address of the collector, without what may be secret in it: user, password and query. */
  readonly endpoint: string;
  readonly sampling: Sampling;
  readonly batching: Batching;
}

/** What the environment says about traces. */
export interface TracingPlan {
  /** `undefined`: the program sets up no tracing. */
  readonly tracing: TracingSettings | undefined;
  /** Variables that have no effect, each with its name, its value and what was expected. */
  readonly warnings: readonly string[];
}

const protocol = "http/protobuf";
const defaultEndpoint = "http://localhost:4318";

const samplers: Readonly<Record<string, (share: number) => Sampling>> = {
  always_on: () => ({ followsParent: false, share: 1 }),
  always_off: () => ({ followsParent: false, share: 0 }),
  traceidratio: (share) => ({ followsParent: false, share }),
  parentbased_always_on: () => ({ followsParent: true, share: 1 }),
  parentbased_always_off: () => ({ followsParent: true, share: 0 }),
  parentbased_traceidratio: (share) => ({ followsParent: true, share }),
};

const everything: Sampling = { followsParent: true, share: 1 };

/**
 * Decides from OpenTelemetry's environment variables whether and how the program sends traces. As its specification asks, a variable
 * with an invalid value is reported and ignored; only without an address or with an unknown protocol nothing is sent.
 *
 * Source: OpenTelemetry 1.50, specification/configuration/sdk-environment-variables.md and specification/protocol/exporter.md.
 */
export function planTracing(env: Environment): TracingPlan {
  const off = { tracing: undefined, warnings: [] };
  const value = (name: string): string | undefined => env[name]?.trim() || undefined;
  const first = (...names: readonly string[]): readonly [name: string, text: string] | undefined => {
    const name = names.find((each) => value(each) !== undefined);
    return name === undefined ? undefined : [name, value(name) ?? ""];
  };

  if (value("OTEL_SDK_DISABLED")?.toLowerCase() === "true") return off;
  const exporters = value("OTEL_TRACES_EXPORTER");
  const address = first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT");
  if (exporters === "none" || (exporters === undefined && !address)) return off;
  if (exporters !== undefined && exporters !== "otlp")
    return { ...off, warnings: [ignored("OTEL_TRACES_EXPORTER", exporters, "otlp or none", "no traces are sent")] };
  const wire = first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL");
  if (wire && wire[1] !== protocol)
    return { ...off, warnings: [ignored(...wire, `${protocol}, as a collector serves it on port 4318`, "no traces are sent")] };
  const [name, text] = address ?? ["OTEL_EXPORTER_OTLP_ENDPOINT", defaultEndpoint];
  const endpoint = endpointOf(text, name === "OTEL_EXPORTER_OTLP_ENDPOINT");
  // The text may hold a password, so that it is not shown.
  if (endpoint === undefined)
    return { ...off, warnings: [`${name} is no URL, expected one such as ${defaultEndpoint}: no traces are sent`] };

  const warnings: string[] = [];
  const tracing = { endpoint, sampling: samplingOf(value, warnings), batching: batchingOf(value, warnings) };
  return { tracing, warnings };
}

function ignored(name: string, text: string, expected: string, effect: string): string {
  return `${name}: ${JSON.stringify(text)}: expected ${expected}; ${effect}`;
}

/** Address without user, password and query; `undefined` if it is none. */
function endpointOf(text: string, isBase: boolean): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol: scheme, origin, pathname } = new URL(text);
  if (scheme !== "http:" && scheme !== "https:") return undefined;
  return isBase ? `${origin}${pathname.replace(/\/$/, "")}/v1/traces` : `${origin}${pathname}`;
}

function samplingOf(value: (name: string) => string | undefined, warnings: string[]): Sampling {
  const name = value("OTEL_TRACES_SAMPLER");
  if (name === undefined) return everything;
  const sampler = Object.hasOwn(samplers, name) ? samplers[name] : undefined;
  if (!sampler) {
    warnings.push(ignored("OTEL_TRACES_SAMPLER", name, `one of ${Object.keys(samplers).join(", ")}`, "every trace is recorded"));
    return everything;
  }
  const text = value("OTEL_TRACES_SAMPLER_ARG");
  if (!name.endsWith("traceidratio") || text === undefined) return sampler(1);
  const share = Number(text);
  if (share >= 0 && share <= 1) return sampler(share);
  warnings.push(ignored("OTEL_TRACES_SAMPLER_ARG", text, "a number from 0 to 1", "every trace is recorded"));
  return sampler(1);
}

function batchingOf(value: (name: string) => string | undefined, warnings: string[]): Batching {
  const number = (name: string, least: number): number | undefined => {
    const text = value(name);
    if (text === undefined) return undefined;
    if (/^\d+$/.test(text) && Number(text) >= least) return Number(text);
    warnings.push(ignored(name, text, `a whole number of ${least} or more`, "the default is used"));
    return undefined;
  };
  return {
    ...defined("scheduledDelayMillis", number("OTEL_BSP_SCHEDULE_DELAY", 0)),
    ...defined("exportTimeoutMillis", number("OTEL_BSP_EXPORT_TIMEOUT", 1)),
    ...defined("maxQueueSize", number("OTEL_BSP_MAX_QUEUE_SIZE", 1)),
    ...defined("maxExportBatchSize", number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 1)),
  };
}

function defined(key: keyof Batching, value: number | undefined): Batching {
  return value === undefined ? {} : { [key]: value };
}
