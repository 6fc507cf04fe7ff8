import type { Check } from "./check.ts";
import { abortChecks } from "./checks/abort.ts";
import { containerChecks } from "./checks/containers.ts";
import { execChecks } from "./checks/exec.ts";
import { idempotenceChecks } from "./checks/idempotence.ts";
import { identityChecks } from "./checks/identity.ts";
import { inventoryChecks } from "./checks/inventory.ts";
import { lifecycleChecks } from "./checks/lifecycle.ts";
import { logChecks } from "./checks/logs.ts";
import { probeChecks } from "./checks/probes.ts";
import { statsChecks } from "./checks/stats.ts";
import { statusChecks } from "./checks/status.ts";
import { streamChecks } from "./checks/streams.ts";

/** Every check of the suite. */
export const allChecks: readonly Check[] = [
  ...lifecycleChecks,
  ...identityChecks,
  ...idempotenceChecks,
  ...inventoryChecks,
  ...statusChecks,
  ...containerChecks,
  ...probeChecks,
  ...logChecks,
  ...execChecks,
  ...streamChecks,
  ...statsChecks,
  ...abortChecks,
];
