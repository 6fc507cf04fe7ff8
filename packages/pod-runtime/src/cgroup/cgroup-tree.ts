import type { ResourceLimits } from "../runtime/runtime-spec.ts";
import type { CgroupName } from "./cgroup-names.ts";

/** What a cgroup is limited to. */
export interface CgroupLimits extends ResourceLimits {
  /** Processes and threads that it may hold. Kept only where the machine has cgroups for that. */
  readonly processes?: number | undefined;
}

/** The machine's cgroups, of whatever version, whoever makes them. */
export interface CgroupTree {
  /** Makes a cgroup and those it is in, for CPU and memory. @returns whether it was made now */
  make(name: CgroupName): Promise<boolean>;
  /** What a cgroup is limited to; `undefined` if there is none. */
  tryRead(name: CgroupName): Promise<ResourceLimits | undefined>;
  /** Sets what is named of the limits; the rest stays. */
  write(name: CgroupName, limits: CgroupLimits): Promise<void>;
  /** Memory in use in it, in bytes. */
  memoryUsage(name: CgroupName): Promise<number>;
  /** Names of the folders in a cgroup, in whichever hierarchy; none if it is not there. */
  children(name: CgroupName): Promise<readonly string[]>;
  /** Removes a cgroup with those in it, in every hierarchy; idempotent. Nothing is ended. @throws EBUSY while a process is in it */
  remove(name: CgroupName): Promise<void>;
}
