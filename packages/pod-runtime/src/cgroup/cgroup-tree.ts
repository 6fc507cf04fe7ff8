import type { ResourceLimits } from "../runtime/runtime-spec.ts";
import type { CgroupName } from "./cgroup-names.ts";

/** Limits of a cgroup. */
export interface CgroupLimits extends ResourceLimits {
  /** Maximum number of processes and threads. Ignored without the controller `pids`. */
  readonly processes?: number | undefined;
}

/** The machine's cgroups, independent of version and driver. */
export interface CgroupTree {
  /** Creates a cgroup and its parents, with the CPU and memory controllers. @returns whether it is new */
  make(name: CgroupName): Promise<boolean>;
  /** Limits of a cgroup; `undefined` if it does not exist. */
  tryRead(name: CgroupName): Promise<ResourceLimits | undefined>;
  /** Sets the given limits, and keeps the others. */
  write(name: CgroupName, limits: CgroupLimits): Promise<void>;
  /** Memory in use, in bytes. */
  memoryUsage(name: CgroupName): Promise<number>;
  /** Names of the folders in a cgroup, in all hierarchies; empty if it does not exist. */
  children(name: CgroupName): Promise<readonly string[]>;
  /** Removes a cgroup with its children, in every hierarchy. Idempotent; kills nothing. @throws EBUSY while a process is in it */
  remove(name: CgroupName): Promise<void>;
}
