import { equalJson } from "../../json/json-value.ts";
import { safeEncode } from "../../kinds/random-suffix.ts";
import type { PodTemplate } from "../../kinds/workload/workload-fields.ts";

/** The label that tells the pods of a Deployment's sets apart. */
export const hashLabel = "pod-template-hash";

/**
 * A short hash of a pod template. It is not the one kube-controller-manager would give, which depends on Go's types, but
 * has its form.
 *
 * @param collisionCount - how often the hash has hit upon another template before
 */
export function templateHash(template: PodTemplate, collisionCount: number | undefined): string {
  const text = `${JSON.stringify(sorted(template))}${collisionCount ?? ""}`;
  return safeEncode(String(fnv1a(text)));
}

/** Whether two templates are the same but for the hash label. */
export function isSameTemplate(a: PodTemplate, b: PodTemplate): boolean {
  return equalJson(withoutHash(a), withoutHash(b));
}

function withoutHash(template: PodTemplate): PodTemplate {
  const { [hashLabel]: _hash, ...labels } = template.metadata.labels ?? {};
  const { labels: _labels, ...metadata } = template.metadata;
  return { ...template, metadata: Object.keys(labels).length > 0 ? { ...metadata, labels } : metadata };
}

/** FNV-1a, 32 bits. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

/** Objects with their keys in order, so that the order of writing does not matter. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, child]) => [key, sorted(child)]),
  );
}
