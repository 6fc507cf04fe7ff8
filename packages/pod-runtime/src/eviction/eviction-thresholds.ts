import { tryDurationMs } from "@virtual-kubelet/core";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import { parseQuantity, type Quantity } from "@virtual-kubelet/kubernetes";
import { evictionSignals, formatOf, signalFacts, type ConfiguredSignal, type EvictionSignal } from "./eviction-signals.ts";

/** Amounts by signal, as text: a quantity such as `100Mi`, or a percentage of the capacity such as `10%`. */
export type SignalAmounts = Readonly<Partial<Record<ConfiguredSignal, string>>>;

/** Eviction settings with a kubelet's names. */
export interface EvictionSettings {
  /** Thresholds below which pods are evicted at once. Replaces {@link defaultEvictionHard}, which is the default. */
  readonly evictionHard?: SignalAmounts | undefined;
  /** Thresholds below which pods are evicted after {@link evictionSoftGracePeriod}. */
  readonly evictionSoft?: SignalAmounts | undefined;
  /** Durations such as `1m30s`, one for each signal of {@link evictionSoft}. */
  readonly evictionSoftGracePeriod?: Readonly<Partial<Record<ConfiguredSignal, string>>> | undefined;
  /** Amounts above the threshold at which eviction stops. */
  readonly evictionMinimumReclaim?: SignalAmounts | undefined;
  /** Minimum duration of a condition after its cause. Default: `5m`. */
  readonly evictionPressureTransitionPeriod?: string | undefined;
  /** Maximum grace period in seconds of a pod that a soft threshold evicts. Default: 0. */
  readonly evictionMaxPodGracePeriod?: number | undefined;
}

/** Source: DefaultEvictionHard in kubernetes v1.36.3 pkg/kubelet/eviction/defaults_linux.go. */
export const defaultEvictionHard: SignalAmounts = {
  "memory.available": "100Mi",
  "nodefs.available": "10%",
  "nodefs.inodesFree": "5%",
  "imagefs.available": "15%",
  "imagefs.inodesFree": "5%",
};

/** Source: EvictionPressureTransitionPeriod in kubernetes v1.36.3 pkg/kubelet/apis/config/v1beta1/defaults.go. */
const defaultTransition = "5m";

/** An amount, or a share of the capacity: 0.1 for 10 %. */
export type ThresholdValue = { readonly quantity: Quantity } | { readonly share: number };

/** Minimum available amount of a signal. */
export interface Threshold {
  readonly signal: EvictionSignal;
  readonly value: ThresholdValue;
  /** Time for which it must be missed before a pod is evicted, in milliseconds; 0 for a hard threshold. */
  readonly graceMs: number;
  readonly minReclaim?: ThresholdValue | undefined;
}

/** {@link EvictionSettings} in the eviction manager's form. */
export interface EvictionRules {
  readonly thresholds: readonly Threshold[];
  readonly transitionMs: number;
  readonly maxPodGraceMs: number;
}

/**
 * Parses the settings.
 *
 * Source: ParseThresholdConfig in kubernetes v1.36.3 pkg/kubelet/eviction/helpers.go.
 *
 * @param options - `isAllocatableEnforced`: the hard memory threshold also applies below the pods' common limit
 * @throws InvalidInputError naming field, value and expectation
 */
export function evictionRules(
  settings: EvictionSettings,
  { isAllocatableEnforced }: { readonly isAllocatableEnforced: boolean },
): EvictionRules {
  const { evictionHard = defaultEvictionHard, evictionSoft = {}, evictionMinimumReclaim = {} } = settings;
  const reclaims = new Map(valuesOf("evictionMinimumReclaim", evictionMinimumReclaim, { mayBeZero: true }));
  const make = (signal: ConfiguredSignal, value: ThresholdValue, graceMs: number): Threshold => {
    const minReclaim = reclaims.get(signal);
    return { signal, value, graceMs, ...(minReclaim && { minReclaim }) };
  };
  const hard = valuesOf("evictionHard", evictionHard).map(([signal, value]) => make(signal, value, 0));
  const soft = valuesOf("evictionSoft", evictionSoft).map(([signal, value]) =>
    make(signal, value, durationOf(`evictionSoftGracePeriod["${signal}"]`, settings.evictionSoftGracePeriod?.[signal])),
  );
  const ofPods = hard.filter(({ signal }) => isAllocatableEnforced && signal === "memory.available");
  return {
    thresholds: [...hard, ...soft, ...ofPods.map((threshold) => ({ ...threshold, signal: "allocatableMemory.available" as const }))],
    transitionMs: durationOf("evictionPressureTransitionPeriod", settings.evictionPressureTransitionPeriod ?? defaultTransition),
    maxPodGraceMs: (settings.evictionMaxPodGracePeriod ?? 0) * 1000,
  };
}

/** Amount of a threshold, for a capacity. Source: GetThresholdQuantity in kubernetes v1.36.3 pkg/kubelet/eviction/api. */
export function thresholdQuantity(value: ThresholdValue, capacity: number, signal: EvictionSignal): Quantity {
  if ("quantity" in value) return value.quantity;
  return { nano: BigInt(Math.trunc(capacity * value.share)) * 1_000_000_000n, format: formatOf(signalFacts[signal].resource) };
}

function valuesOf(
  field: string,
  amounts: SignalAmounts,
  { mayBeZero = false }: { readonly mayBeZero?: boolean } = {},
): readonly (readonly [ConfiguredSignal, ThresholdValue])[] {
  return Object.entries(amounts).flatMap(([name, text]): readonly (readonly [ConfiguredSignal, ThresholdValue])[] => {
    const signal = evictionSignals.find((known) => known === name);
    if (!signal) throw new InvalidInputError(`${field} has "${name}": expected one of ${evictionSignals.join(", ")}`);
    // Like a kubelet, treats these values as no threshold.
    if (text === "0%" || text === "100%") return [];
    return [[signal, valueOf(`${field}["${signal}"]`, text, mayBeZero)]];
  });
}

function valueOf(field: string, text: string, mayBeZero: boolean): ThresholdValue {
  const expected = "expected a quantity such as 100Mi, or a percentage such as 10%";
  const [, percent] = /^(\d+(?:\.\d+)?)%$/.exec(text) ?? [];
  if (percent !== undefined) {
    const share = Number(percent) / 100;
    if (share > 1 || (share === 0 && mayBeZero))
      throw new InvalidInputError(`${field} is ${text}: ${expected}, of more than 0% and at most 100%`);
    return { share };
  }
  const quantity = readQuantity(field, text, expected);
  if (quantity.nano < 0n || (quantity.nano === 0n && !mayBeZero))
    throw new InvalidInputError(`${field} is ${text}: ${expected}, of more than nothing; 0% switches the threshold off`);
  return { quantity };
}

function readQuantity(field: string, text: string, expected: string): Quantity {
  try {
    return parseQuantity(text);
  } catch (error) {
    throw new InvalidInputError(`${field} is "${text}": ${expected}`, { cause: new Error(messageOf(error)) });
  }
}

function durationOf(field: string, text: string | undefined): number {
  const ms = text === undefined ? undefined : tryDurationMs(text);
  if (ms === undefined || ms < 0)
    throw new InvalidInputError(`${field} is ${text === undefined ? "not set" : `"${text}"`}: expected a duration such as 1m30s`);
  return ms;
}
