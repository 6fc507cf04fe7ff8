import { randomUUID } from "node:crypto";
import type { NomadJob, NomadTask } from "../../providers/nomad/src/api/types.ts";

/** Script of a task that runs until it is told to stop. */
export const wait = "trap 'exit 0' TERM; while :; do sleep 0.1; done";

/** A task of the driver raw_exec. */
export function taskWith(script: string, fields: Partial<NomadTask> = {}): NomadTask {
  return {
    Name: "main",
    Driver: "raw_exec",
    Config: { command: "sh", args: ["-c", script] },
    Env: {},
    Resources: { CPU: 10, MemoryMB: 16 },
    KillTimeout: 2e9,
    KillSignal: "SIGTERM",
    LogConfig: { MaxFiles: 2, MaxFileSizeMB: 5 },
    ...fields,
  };
}

/** A batch job with one group, whose tasks are not restarted. */
export function jobWith(Tasks: readonly NomadTask[], fields: Partial<NomadJob> = {}): NomadJob {
  const ID = `vk-contract-${randomUUID()}`;
  return {
    ID,
    Name: ID,
    Type: "batch",
    Datacenters: ["*"],
    Meta: { "vk.node": "contract", "vk.job": ID },
    TaskGroups: [
      {
        Name: "pod",
        Count: 1,
        RestartPolicy: { Attempts: 0, Interval: 60e9, Delay: 1e9, Mode: "fail" },
        ReschedulePolicy: { Attempts: 0, Unlimited: false },
        EphemeralDisk: { SizeMB: 100, Sticky: false, Migrate: false },
        Tasks,
      },
    ],
    ...fields,
  };
}
