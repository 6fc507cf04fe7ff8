import { configReasons, type ConfigReason } from "./config-reasons.ts";
import { containerReasons, type ContainerReason } from "./container-reasons.ts";
import { nodeReasons, type NodeReason } from "./node-reasons.ts";
import { podReasons, type PodReason } from "./pod-reasons.ts";
import type { ReasonInfo } from "./reason-info.ts";

/** A reason of {@link coreReasons}. */
export type CoreReason = PodReason | ContainerReason | ConfigReason | NodeReason;

/** Every reason that core writes, and a kubelet's reasons of containers that providers report. */
export const coreReasons: Readonly<Record<CoreReason, ReasonInfo>> = {
  ...podReasons,
  ...containerReasons,
  ...configReasons,
  ...nodeReasons,
};
