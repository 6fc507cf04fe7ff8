/** A taint of a node. */
export interface Taint {
  readonly key: string;
  readonly value?: string | undefined;
  readonly effect: string;
}

/** A toleration of a pod. */
export interface Toleration {
  readonly key?: string | undefined;
  readonly operator?: string | undefined;
  readonly value?: string | undefined;
  readonly effect?: string | undefined;
}

/**
 * Whether a toleration matches a taint. An empty effect or key matches all; `Gt` and `Lt` compare 64-bit integers. An API server refuses
 * the two while its feature gate TaintTolerationComparisonOperators is off, so that a pod that has them is judged by them.
 * Source: ToleratesTaint in k8s.io/api v0.36.3 core/v1/toleration.go.
 */
export function tolerates({ effect, key, operator, value = "" }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  switch (operator || "Equal") {
    case "Equal":
      return value === (taint.value ?? "");
    case "Exists":
      return true;
    case "Gt":
    case "Lt": {
      const [bound, actual] = [tryInteger(value), tryInteger(taint.value ?? "")];
      if (bound === undefined || actual === undefined) return false;
      return operator === "Gt" ? actual > bound : actual < bound;
    }
    default:
      return false;
  }
}

/** Whether one of the tolerations matches the taint. */
export function toleratesTaint(tolerations: readonly Toleration[] | undefined, taint: Taint): boolean {
  return tolerations?.some((toleration) => tolerates(toleration, taint)) ?? false;
}

/** A decimal integer of 64 bits, without a plus sign or zeros in front. */
function tryInteger(text: string): bigint | undefined {
  if (!/^(?:0|-?[1-9]\d*)$/.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
