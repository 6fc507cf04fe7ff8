import type { EngineProxy } from "./engine-proxy.ts";

/** One scrape of a node. */
export interface Scrape {
  readonly path: string;
  /** Duration until the response through the API server was complete. */
  readonly tookMs: number;
  /** Number of pods whose CPU time is in the response. */
  readonly pods: number;
  /** Engine calls during the scrape that measure one container. */
  readonly measuringCalls: number;
  /** Engine calls during the scrape that inspect one container, including those that the node makes to manage its pods. */
  readonly inspections: number;
  /**
   * Engine calls that measure all containers, all images or the machine. They run in the background, so calls within a second after the
   * response count as well.
   */
  readonly callsForAll: number;
}

/** Milliseconds after a response within which background measurements have started. */
const asideMs = 1_000;

/**
 * Performs one scrape.
 *
 * @param proxy - proxy between the node and its engine
 * @param get - sends a request to the node's server
 */
export async function timeScrape(proxy: EngineProxy, path: string, get: (path: string) => Promise<string>): Promise<Scrape> {
  let [measuringCalls, inspections, callsForAll] = [0, 0, 0];
  await using _counting = proxy.answer((_method, called, query) => {
    if (/^\/containers\/[^/]+\/(?:stats|top)$/.test(called)) measuringCalls++;
    else if (/^\/containers\/[^/]+\/json$/.test(called)) inspections++;
    else if (called === "/system/df" || called === "/info" || query.has("size")) callsForAll++;
    return undefined;
  });
  const began = performance.now();
  const body = await get(path);
  const tookMs = performance.now() - began;
  await new Promise((resolve) => setTimeout(resolve, asideMs));
  return { path, tookMs, pods: measuredPods(path, body), measuringCalls, inspections, callsForAll };
}

function measuredPods(path: string, body: string): number {
  if (path === "/stats/summary") {
    const { pods } = JSON.parse(body) as { readonly pods: readonly { readonly cpu?: { readonly usageCoreNanoSeconds?: number } }[] };
    return pods.filter(({ cpu }) => cpu?.usageCoreNanoSeconds !== undefined).length;
  }
  const series =
    path === "/metrics/resource" ? /^pod_cpu_usage_seconds_total\{/ : /^container_cpu_usage_seconds_total\{container="",.*pod="[^"]/;
  return body.split("\n").filter((line) => series.test(line)).length;
}

/** The scrapes as a Markdown table. */
export function scrapeTable(scrapes: readonly Scrape[]): string {
  return [
    "| Scrape | Pods | Milliseconds | Engine calls that measure one container | that inspect one | that measure all, or the machine |",
    "| --- | --- | --- | --- | --- | --- |",
    ...scrapes.map(
      ({ path, tookMs, pods, measuringCalls, inspections, callsForAll }, index) =>
        `| \`${path}\`${index === 0 ? ", the first" : ""} | ${pods} | ${tookMs.toFixed(0)} | ${measuringCalls} | ${inspections} | ${callsForAll} |`,
    ),
  ].join("\n");
}
