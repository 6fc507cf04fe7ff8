import { withSortedKeys } from "../../json/key-order.ts";
import { equalJson } from "../../json/json-value.ts";
import { safeEncode } from "../../kinds/random-suffix.ts";
import type { PodTemplate } from "../../kinds/workload/workload-fields.ts";

/** Label that separates the pods of a Deployment's ReplicaSets. */
export const hashLabel = "pod-template-hash";

/**
 * Short hash of a pod template. It has the format of kube-controller-manager's hash but not its value, which depends on Go's types.
 *
 * @param collisionCount - number of hash collisions so far
 */
export function templateHash(template: PodTemplate, collisionCount: number | undefined): string {
  const text = `${JSON.stringify(withSortedKeys(template))}${collisionCount ?? ""}`;
  return safeEncode(String(fnv1a(text)));
}

/** Whether two templates are equal apart from the hash label. */
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
