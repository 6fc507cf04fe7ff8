import type { Json } from "./state.ts";

interface Group {
  readonly Name: string;
  readonly RestartPolicy?: { readonly Attempts: number; readonly Interval: number; readonly Delay: number; readonly Mode: string };
  readonly EphemeralDisk?: { readonly SizeMB: number };
  readonly Tasks?: readonly Json[];
}

/** Nomad's error for an invalid job; `undefined` if the job is valid. Source: fixture 13, and Nomad 2.0, `structs.Job.Validate`. */
export function jobProblem(job: Json): string | undefined {
  const problems: string[] = [];
  if (/[ \0]/.test(String(job["ID"]))) problems.push("Job ID contains a space");
  const groups = (job["TaskGroups"] ?? []) as readonly Group[];
  if (groups.length === 0) problems.push("Missing job task groups");
  for (const group of groups) problems.push(...groupProblems(group));
  if (problems.length === 0) return undefined;
  return `${problems.length} error${problems.length === 1 ? "" : "s"} occurred:\n\t* ${problems.join("\n\t* ")}\n\n`;
}

function groupProblems({ Name, Tasks = [], RestartPolicy, EphemeralDisk }: Group): string[] {
  const problems: string[] = [];
  const about = `Task group ${Name} validation failed`;
  const names = Tasks.map((task) => String(task["Name"]));
  if (new Set(names).size !== names.length) problems.push(`${about}: Task name is defined twice`);
  if (!Tasks.some((task) => !task["Lifecycle"])) problems.push(`${about}: Task group has no main task`);
  if (RestartPolicy) {
    const { Attempts, Interval, Delay, Mode } = RestartPolicy;
    if (Interval < 5e9) problems.push(`${about}: Interval can not be less than 5s`);
    if (Attempts * Delay > Interval) problems.push(`${about}: Nomad can't restart the TaskGroup ${Attempts} times in an interval`);
    if (Attempts === 0 && Mode === "delay") problems.push(`${about}: Restart policy "delay" with 0 attempts is ambiguous`);
  }
  for (const task of Tasks) {
    const { MaxFiles = 10, MaxFileSizeMB = 10 } = (task["LogConfig"] ?? {}) as { MaxFiles?: number; MaxFileSizeMB?: number };
    const disk = EphemeralDisk?.SizeMB ?? 300;
    if (String(task["Name"]).includes("/"))
      problems.push(`${about}: Task ${String(task["Name"])} validation failed: Task name cannot include slashes`);
    if (MaxFiles * MaxFileSizeMB >= disk)
      problems.push(
        `${about}: Task ${String(task["Name"])} validation failed: log storage (${MaxFiles * MaxFileSizeMB} MB) must be less than requested disk capacity (${disk} MB)`,
      );
    const { MemoryMB = 300 } = (task["Resources"] ?? {}) as { MemoryMB?: number };
    if (MemoryMB < 10) problems.push(`${about}: minimum MemoryMB value is 10; got ${MemoryMB}`);
  }
  return problems;
}
