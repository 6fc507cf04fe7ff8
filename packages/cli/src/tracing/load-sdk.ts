/** The packages that make and send traces. They are optional, because together they are larger than the program. */
export const tracingPackages = [
  "@opentelemetry/sdk-trace",
  "@opentelemetry/resources",
  "@opentelemetry/context-async-hooks",
  "@opentelemetry/exporter-trace-otlp-proto",
] as const;

/** What the program uses of these packages. */
export interface TracingSdk {
  readonly trace: typeof import("@opentelemetry/sdk-trace");
  readonly resources: typeof import("@opentelemetry/resources");
  readonly context: typeof import("@opentelemetry/context-async-hooks");
  readonly exporter: typeof import("@opentelemetry/exporter-trace-otlp-proto");
}

/** Loads the packages. @returns `undefined` if one of them is not installed */
export async function loadTracingSdk(): Promise<TracingSdk | undefined> {
  try {
    const [trace, resources, context, exporter] = await Promise.all([
      import("@opentelemetry/sdk-trace"),
      import("@opentelemetry/resources"),
      import("@opentelemetry/context-async-hooks"),
      import("@opentelemetry/exporter-trace-otlp-proto"),
    ]);
    return { trace, resources, context, exporter };
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
    if (isMissing && tracingPackages.some((name) => error.message.includes(`'${name}'`))) return undefined;
    throw error;
  }
}
