import type { PodCgroups } from "../cgroup/pod-cgroups.ts";

/** The part of {@link PodCgroups} that a pod's worker uses. */
export type PodCgroupKeeper = Pick<PodCgroups, "prepare" | "grow" | "fit" | "release">;
