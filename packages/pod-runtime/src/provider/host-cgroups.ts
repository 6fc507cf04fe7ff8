import type { Clock } from "@virtual-kubelet/clock";
import type { ContainerStats } from "@virtual-kubelet/core";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { uptime } from "node:os";
import type { CgroupUsage } from "../cgroup/cgroup-figures.ts";
import type { CgroupMeter } from "../cgroup/cgroup-meter.ts";
import type { HostCgroups } from "./host-node-stats.ts";

/** Options of a reader of the machine's control groups. */
export interface HostCgroupsOptions {
  readonly clock: Clock;
  readonly meter: Pick<CgroupMeter, "ofPath" | "ofProcess">;
  /** Usage of all pods together, as `PodCgroups.totalUsage`. */
  readonly pods?: ((signal: AbortSignal) => Promise<CgroupUsage | undefined>) | undefined;
  /** Process id of this program. Default: `process.pid`. */
  readonly pid?: number | undefined;
  /** Control group of the container engine: its path, or a process in it; `undefined` if unknown. Default: unknown. */
  readonly runtime?: (() => Promise<string | number | undefined>) | undefined;
  /** Path of the control group of the machine's other services. Default: none. */
  readonly misc?: string | undefined;
}

/**
 * Figures of the machine's root control group, and of system containers: `pods`, and `kubelet` (this program), `runtime` (the engine) and
 * `misc` (other services) if they have control groups of their own.
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

/** `undefined` for the root group, which does not separate a process from the others. */
function apart(usage: CgroupUsage | undefined): CgroupUsage | undefined {
  return usage?.cgroup.path === "/" ? undefined : usage;
}
