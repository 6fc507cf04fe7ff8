import { uptime } from "node:os";
import type { Clock, ContainerStats } from "@virtual-kubelet/core";
import { rfc3339 } from "@virtual-kubelet/kube-client";
import type { CgroupUsage } from "../cgroup/cgroup-figures.ts";
import type { CgroupMeter } from "../cgroup/cgroup-meter.ts";
import type { HostCgroups } from "./host-node-stats.ts";

/** What {@link hostCgroups} needs. */
export interface HostCgroupsOptions {
  readonly clock: Clock;
  readonly meter: Pick<CgroupMeter, "ofPath" | "ofProcess">;
  /** What all pods use together, as `PodCgroups.totalUsage`. */
  readonly pods?: ((signal: AbortSignal) => Promise<CgroupUsage | undefined>) | undefined;
  /** Default: this process. */
  readonly pid?: number | undefined;
}

/** The machine's control group, and as system containers that of all pods and, if it has one, this program's. */
export function hostCgroups({ clock, meter, pods, pid = process.pid }: HostCgroupsOptions): HostCgroups {
  const startTime = rfc3339(clock.now());
  const bootTime = rfc3339(clock.now() - uptime() * 1000);
  const container = (name: string, since: string, usage: CgroupUsage | undefined): readonly ContainerStats[] =>
    usage ? [{ name, startTime: since, ...usage }] : [];
  return {
    root: async () => (await meter.ofPath("/"))?.cgroup,
    async systemContainers(signal) {
      const own = await meter.ofProcess({ pid, id: "" });
      // In the first group it is one of many.
      const isApart = own !== undefined && own.cgroup.path !== "/";
      return [...container("kubelet", startTime, isApart ? own : undefined), ...container("pods", bootTime, await pods?.(signal))];
    },
  };
}
