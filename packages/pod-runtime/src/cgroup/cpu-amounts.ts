import type { ResourceLimits } from "../runtime/runtime-spec.ts";

// Source of all: kubernetes v1.36.3 pkg/kubelet/cm/helpers_linux.go.

/** Minimum CPU shares. */
export const minShares = 2;
/** Maximum CPU shares. */
export const maxShares = 262_144;
const periodMicros = 100_000n;
const minQuotaMicros = 1_000n;

/** Numbers above lose precision. A pod that asks for more has no limit in practice. */
const maxExact = BigInt(Number.MAX_SAFE_INTEGER);

/** CPU shares for thousandths of a CPU: 2 to 262,144. */
export function cpuSharesOf(milliCpu: bigint): number {
  return Number(clamp((milliCpu * 1024n) / 1000n, BigInt(minShares), BigInt(maxShares)));
}

/** CPU quota for thousandths of a CPU, in microseconds per period. */
export function cpuQuotaOf(milliCpu: bigint): Required<Pick<ResourceLimits, "cpuQuotaMicros" | "cpuPeriodMicros">> {
  const cpuQuotaMicros = Number(clamp((milliCpu * periodMicros) / 1000n, minQuotaMicros, maxExact));
  return { cpuQuotaMicros, cpuPeriodMicros: Number(periodMicros) };
}

/** Bytes as an exact number. */
export function exactBytes(bytes: bigint): number {
  return Number(clamp(bytes, 0n, maxExact));
}

function clamp(value: bigint, min: bigint, max: bigint): bigint {
  if (value < min) return min;
  return value > max ? max : value;
}
