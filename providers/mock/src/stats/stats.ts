import type { ContainerStats, NetworkStats } from "@virtual-kubelet/core";

/** Average resource usage of a container. */
export interface LoadLevel {
  /** Billionths of a core. */
  readonly nanoCores: number;
  readonly memoryBytes: number;
}

/** Period of the load's oscillation. */
const periodMs = 120_000;
/** Relative amplitude of the load's oscillation. */
const cpuSwing = 0.3;
const memorySwing = 0.1;

/** Constant load of a container, derived from its names: 5 to 100 thousandths of a core, 16 to 272 MiB. */
export function loadLevelOf(uid: string, container: string): LoadLevel {
  const hash = hashOf(`${uid}/${container}`);
  return { nanoCores: 5_000_000 + (hash % 95_000) * 1000, memoryBytes: (16 + ((hash >>> 8) % 256)) * 1024 ** 2 };
}

/** Core-nanoseconds used during a run so far. Never decreases, because its slope {@link cpuNow} is never negative. */
function cpuSince(level: LoadLevel, ranMs: number, phase: number): number {
  const wave = (periodMs / (2 * Math.PI)) * cpuSwing * (Math.cos(phase) - Math.cos((2 * Math.PI * ranMs) / periodMs + phase));
  // Billionths of a core → cores (1e9), milliseconds → nanoseconds (1e6).
  return Math.max(0, Math.round(((level.nanoCores * (ranMs + wave)) / 1e9) * 1e6));
}

/** CPU usage at a moment of the run, in billionths of a core. */
function cpuNow(level: LoadLevel, ranMs: number, phase: number): number {
  return Math.round(level.nanoCores * (1 + cpuSwing * Math.sin((2 * Math.PI * ranMs) / periodMs + phase)));
}

/** A run with the data that its stats are derived from. */
export interface MeasuredRun {
  readonly uid: string;
  readonly container: string;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly ranMs: number;
  readonly level: LoadLevel;
}

/** Core-nanoseconds of a run so far. */
export function cpuOf({ uid, container, level, ranMs }: MeasuredRun): number {
  return cpuSince(level, ranMs, phaseOf(uid, container));
}

/** Stats of a running container. */
export function containerStats(run: MeasuredRun, time: string): ContainerStats {
  const { uid, container, level, ranMs, startedAt } = run;
  const phase = phaseOf(uid, container);
  const workingSetBytes = Math.round(level.memoryBytes * (1 + memorySwing * Math.sin((2 * Math.PI * ranMs) / periodMs + phase)));
  return {
    name: container,
    startTime: startedAt,
    cpu: { time, usageNanoCores: cpuNow(level, ranMs, phase), usageCoreNanoSeconds: Math.max(1, cpuOf(run)) },
    memory: { time, usageBytes: Math.round(workingSetBytes * 1.1), workingSetBytes, rssBytes: Math.round(workingSetBytes * 0.8) },
  };
}

/** Network traffic of a pod of the given age; it only grows. */
export function podTraffic(uid: string, ageMs: number, time: string): NetworkStats {
  const bytesPerSecond = 512 + (hashOf(uid) % 4096);
  const rxBytes = Math.round((bytesPerSecond * ageMs) / 1000);
  const txBytes = Math.round(rxBytes / 2);
  const figures = { name: "eth0", rxBytes, rxErrors: 0, txBytes, txErrors: 0 };
  return { time, ...figures, interfaces: [figures] };
}

function phaseOf(uid: string, container: string): number {
  return ((hashOf(`${container}/${uid}`) % 1000) / 1000) * 2 * Math.PI;
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}
