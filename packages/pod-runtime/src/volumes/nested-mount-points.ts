import { posix } from "node:path";
import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { allContainers } from "./volume-source.ts";

/**
 * Folders that a volume needs for mounts inside it, because they cannot be created in a read-only mount. Relative, without `..`. Source:
 * MakeNestedMountpoints in kubernetes v1.36.3 pkg/volume/util/nested_volumes.go.
 */
export function nestedMountPoints(volume: string, pod: DeepReadonly<Pod>): readonly string[] {
  const found = new Set<string>();
  for (const { volumeMounts = [] } of allContainers(pod)) {
    const all = volumeMounts.map(({ name, mountPath }) => ({ name, at: posix.resolve("/", mountPath) }));
    for (const { at: outer } of all.filter(({ name }) => name === volume)) {
      const within = all.map(({ at }) => at).filter((at) => at.startsWith(`${outer}/`));
      const outermost = within.filter((at) => !within.some((other) => at.startsWith(`${other}/`)));
      for (const at of outermost) found.add(at.slice(outer.length + 1));
    }
  }
  return [...found].sort();
}
