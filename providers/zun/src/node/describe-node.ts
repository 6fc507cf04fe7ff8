import type { NodeDescription } from "@virtual-kubelet/core";
import { formatQuantity, parseQuantity, wholeUnits } from "@virtual-kubelet/kubernetes";
import type { ZunConfig } from "../config/schema.ts";
import type { ZunQuota } from "../zun/zun-objects.ts";

/**
 * The node: as large as it is configured, and no larger than the project's quota.
 *
 * @param quota - `undefined` where it cannot be read
 */
export function describeNode({ cpu, memory, pods }: ZunConfig, quota: ZunQuota | undefined): NodeDescription {
  return {
    capacity: {
      cpu: smaller(cpu, quota?.cpu, ""),
      memory: smaller(memory, quota?.memory, "Mi"),
      pods: smaller(pods, quota?.containers, ""),
    },
    operatingSystem: "linux",
    containerRuntimeVersion: "zun://1.0.0",
  };
}

/** Zun writes -1 for what is not limited. */
function smaller(configured: string, limit: number | undefined, unit: string): string {
  const own = parseQuantity(configured);
  if (limit === undefined || limit < 0 || Number.isNaN(limit)) return formatQuantity(own);
  const most = parseQuantity(`${Math.floor(limit)}${unit}`);
  return formatQuantity(wholeUnits(most) < wholeUnits(own) ? most : own);
}
