import { UnsupportedError } from "@virtual-kubelet/errdefs";

/** Size of a Fargate task: CPU units (1,024 are one vCPU) and MiB. */
export interface TaskSize {
  readonly cpuUnits: number;
  readonly memoryMib: number;
}

interface GridRow {
  readonly cpuUnits: number;
  readonly leastMib: number;
  readonly mostMib: number;
  readonly stepMib: number;
  /** Whether platform version 1.4.0 or newer is required. */
  readonly isLarge?: boolean;
}

/** Source: Amazon ECS Developer Guide, "Task CPU and memory" of Fargate tasks. 256 CPU units have 512, 1,024 or 2,048 MiB. */
const rows: readonly GridRow[] = [
  { cpuUnits: 256, leastMib: 512, mostMib: 2_048, stepMib: 512 },
  { cpuUnits: 512, leastMib: 1_024, mostMib: 4_096, stepMib: 1_024 },
  { cpuUnits: 1_024, leastMib: 2_048, mostMib: 8_192, stepMib: 1_024 },
  { cpuUnits: 2_048, leastMib: 4_096, mostMib: 16_384, stepMib: 1_024 },
  { cpuUnits: 4_096, leastMib: 8_192, mostMib: 30_720, stepMib: 1_024 },
  { cpuUnits: 8_192, leastMib: 16_384, mostMib: 61_440, stepMib: 4_096, isLarge: true },
  { cpuUnits: 16_384, leastMib: 32_768, mostMib: 122_880, stepMib: 8_192, isLarge: true },
];

/**
 * Returns the smallest size of a task that has at least this much of both.
 *
 * @throws UnsupportedError if there is none, or none with the platform version
 */
export function taskSizeFor({ cpuUnits, memoryMib }: TaskSize, platformVersion = "LATEST"): TaskSize {
  const allowed = rows.filter(({ isLarge }) => !isLarge || hasLargeSizes(platformVersion));
  const row = allowed.find((each) => each.cpuUnits >= cpuUnits && each.mostMib >= memoryMib);
  if (!row) {
    const last = allowed.at(-1) ?? { cpuUnits: 0, mostMib: 0 };
    throw new UnsupportedError(
      `spec.containers: they ask for ${cpuUnits / 1024} vCPU and ${memoryMib} MiB; a Fargate task has at most ${last.cpuUnits / 1024} vCPU ` +
        `and ${last.mostMib} MiB${allowed.length < rows.length ? ` with platform version ${platformVersion}` : ""}`,
      { fieldPath: "spec.containers" },
    );
  }
  const steps = Math.max(0, Math.ceil((memoryMib - row.leastMib) / row.stepMib));
  const rounded = row.leastMib + steps * row.stepMib;
  return { cpuUnits: row.cpuUnits, memoryMib: isGap(row, rounded) ? rounded + row.stepMib : rounded };
}

/** The smallest row has no 1,536 MiB. */
function isGap(row: GridRow, memoryMib: number): boolean {
  return row.cpuUnits === 256 && memoryMib === 1_536;
}

function hasLargeSizes(platformVersion: string): boolean {
  if (platformVersion === "LATEST") return true;
  const [major = 0, minor = 0] = platformVersion.split(".").map(Number);
  return major > 1 || (major === 1 && minor >= 4);
}
