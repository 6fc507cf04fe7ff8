import type { Clock } from "@virtual-kubelet/clock";
import type { ContainerStats } from "@virtual-kubelet/core";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { uptime } from "node:os";
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
  /** Where the engine that runs containers is: a path of a control group, or a process; `undefined` where nobody knows. Default: nobody knows. */
  readonly runtime?: (() => Promise<string | number | undefined>) | undefined;
  /** Path of the control group of what else the machine runs. Default: there is none. */
  readonly misc?: string | undefined;
}

/**
 * The machine's control group, and as system containers that of all pods and, of those that have one of their own, this program's (`kubelet`), the
 * engine's (`runtime`) and that of the machine's other services (`misc`).
 */
export function hostCgroups({ clock, meter, pods, pid = process.pid, runtime, misc }: HostCgroupsOptions): HostCgroups {
  const startTime = rfc3339(clock.now());
  const bootTime = rfc3339(clock.now() - uptime() * 1000);
  const container = (name: string, since: string, usage: CgroupUsage | undefined): readonly ContainerStats[] =>
    usage ? [{ name, startTime: since, ...usage }] : [];
  return {
    root: async () => (await meter.ofPath("/"))?.cgroup,
    async systemContainers(signal) {
      const engine = await runtime?.();
      const ofEngine = typeof engine === "string" ? await meter.ofPath(engine) : engine && (await meter.ofProcess({ pid: engine, id: "" }));
      return [
        ...container("kubelet", startTime, apart(await meter.ofProcess({ pid, id: "" }))),
        ...container("runtime", bootTime, apart(ofEngine || undefined)),
        ...container("misc", bootTime, misc === undefined ? undefined : await meter.ofPath(misc)),
        ...container("pods", bootTime, await pods?.(signal)),
      ];
    },
  };
}

/** In the first group a process is one of many. */
function apart(usage: CgroupUsage | undefined): CgroupUsage | undefined {
  return usage?.cgroup.path === "/" ? undefined : usage;
}
