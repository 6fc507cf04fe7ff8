import { catalogueMetrics, processReference, volumeReference, type ReferenceMetric } from "../../../tools/metric-reference.ts";

/** Every metric that Prometheus reads at `/metrics`. */
export async function scrapedMetrics(): Promise<readonly ReferenceMetric[]> {
  return [...catalogueMetrics(), ...volumeReference(), ...(await processReference())];
}
