import type { EngineProxy } from "./engine-proxy.ts";

/** One scrape of a node. */
export interface Scrape {
  readonly path: string;
  /** Until the answer was there, through the API server. */
  readonly tookMs: number;
  /** Pods whose processor time is in the answer. */
  readonly pods: number;
  /** Calls of the engine meanwhile that measure one container. */
  readonly measuringCalls: number;
  /** Calls of the engine meanwhile that ask what one container is, by whoever makes them: the node also looks after its pods. */
  readonly inspections: number;
  /** Calls of the engine that measure all containers, all images or the machine, until a second after the answer: they are made aside. */
  readonly callsForAll: number;
}

/** How long after an answer what is measured aside has begun, in milliseconds. */
const asideMs = 1_000;

/**
 * Scrapes once.
 *
 * @param proxy - the node's way to its engine
 * @param get - asks the node's server
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

/** As a table of a page. */
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
