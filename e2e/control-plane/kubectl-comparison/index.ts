import { changeSteps } from "./change-steps.ts";
import { discoverySteps } from "./discovery-steps.ts";
import { readSteps } from "./read-steps.ts";
import type { StepGroup } from "./step.ts";
import { workloadSteps } from "./workload-steps.ts";

/** All groups, in the order in which they run. */
export const stepGroups: readonly StepGroup[] = [...readSteps, ...discoverySteps, ...changeSteps, ...workloadSteps];
