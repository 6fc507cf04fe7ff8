import { tryParseQuantity, wholeUnits } from "@virtual-kubelet/kubernetes";
import type { FieldError } from "../kind.ts";
import { invalidValue, forbiddenField, notSupported } from "../validation/field-errors.ts";

const supportedModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const volumeModes = ["Block", "Filesystem"];

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go. */

/** Validates access modes of a volume or a claim. */
export function accessModeErrors(modes: readonly string[], field: string): FieldError[] {
  const isAlone = modes.every((mode) => mode === "ReadWriteOncePod" || !supportedModes.includes(mode));
  return [
    ...modes.filter((mode) => !supportedModes.includes(mode)).map((mode) => notSupported(field, mode, supportedModes)),
    ...(modes.includes("ReadWriteOncePod") && !isAlone
      ? [forbiddenField(field, "may not use ReadWriteOncePod with other access modes")]
      : []),
  ];
}

/** Validates the mode of a volume or a claim. */
export function volumeModeErrors(mode: string | undefined, field: string): FieldError[] {
  return mode === undefined || volumeModes.includes(mode) ? [] : [notSupported(field, mode, volumeModes)];
}

export function positiveQuantityErrors(text: string, field: string): FieldError[] {
  const quantity = tryParseQuantity(text);
  return quantity === undefined || quantity.nano > 0n ? [] : [invalidValue(field, text, "must be greater than zero")];
}

export function capacityErrors(text: string, field: string): FieldError[] {
  const quantity = tryParseQuantity(text);
  return [
    ...(quantity && quantity.nano < 0n ? [invalidValue(field, Number(wholeUnits(quantity)), "must be a valid resource quantity")] : []),
    ...positiveQuantityErrors(text, field),
  ];
}
