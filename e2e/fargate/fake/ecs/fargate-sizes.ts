/** Sizes of memory, in MiB, that Fargate has for a number of CPU units: from, to, step. Source: "Task size" in the ECS developer guide. */
const sizes: Readonly<Record<number, readonly [fromMiB: number, toMiB: number, stepMiB: number]>> = {
  512: [1024, 4096, 1024],
  1024: [2048, 8192, 1024],
  2048: [4096, 16_384, 1024],
  4096: [8192, 30_720, 1024],
  8192: [16_384, 61_440, 4096],
  16_384: [32_768, 122_880, 8192],
};

/** Whether Fargate has tasks of that size. Windows tasks have at least 1 vCPU. */
export function isFargateSize(cpuUnits: number, memoryMiB: number, isWindows: boolean): boolean {
  if (isWindows && cpuUnits < 1024) return false;
  if (cpuUnits === 256) return [512, 1024, 2048].includes(memoryMiB);
  const [fromMiB, toMiB, stepMiB] = sizes[cpuUnits] ?? [1, 0, 1];
  return memoryMiB >= fromMiB && memoryMiB <= toMiB && (memoryMiB - fromMiB) % stepMiB === 0;
}

/** CPU units of a task-level value such as `1024` or `1 vCPU`; NaN if it is neither. */
export function cpuUnits(value: string): number {
  const [, vcpus] = /^([\d.]+) ?vcpu$/i.exec(value) ?? [];
  return vcpus === undefined ? wholeNumber(value) : Number(vcpus) * 1024;
}

/** MiB of a task-level value such as `2048` or `2 GB`; NaN if it is neither. */
export function memoryMiB(value: string): number {
  const [, gigabytes] = /^([\d.]+) ?gb$/i.exec(value) ?? [];
  return gigabytes === undefined ? wholeNumber(value) : Number(gigabytes) * 1024;
}

function wholeNumber(text: string): number {
  return /^\d+$/.test(text) ? Number(text) : NaN;
}
