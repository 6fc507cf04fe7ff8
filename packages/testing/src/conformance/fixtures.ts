import type { ConfigMap, Secret } from "@virtual-kubelet/core";

/** The objects that the suite's pods refer to. */
export interface Fixtures {
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly configMaps: ReadonlyMap<string, ConfigMap>;
}
