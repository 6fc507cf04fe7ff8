import type { PodCgroups } from "../cgroup/pod-cgroups.ts";

/** Who makes pods' cgroups, as {@link PodCgroups} does. */
export type PodCgroupKeeper = Pick<PodCgroups, "prepare" | "grow" | "fit" | "release">;
