import type { Taint } from "../kinds/node/node-fields.ts";
import type { Toleration } from "../kinds/pod/pod-fields.ts";

/** Whether a toleration is meant for a taint. Source: k8s.io/api v0.36.3 core/v1/toleration.go. */
export function tolerates({ key = "", operator = "Equal", value = "", effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  switch (operator) {
    case "Exists":
      return true;
    case "Equal":
      return value === (taint.value ?? "");
    case "Gt":
      return isInteger(value) && isInteger(taint.value) && BigInt(taint.value ?? "") > BigInt(value);
    case "Lt":
      return isInteger(value) && isInteger(taint.value) && BigInt(taint.value ?? "") < BigInt(value);
    default:
      return false;
  }
}

function isInteger(text: string | undefined): boolean {
  return text !== undefined && /^-?\d+$/.test(text);
}

/** Whether one of the tolerations is meant for the taint. */
export function toleratesTaint(tolerations: readonly Toleration[] | undefined, taint: Taint): boolean {
  return tolerations?.some((toleration) => tolerates(toleration, taint)) ?? false;
}
