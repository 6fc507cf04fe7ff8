import { tryParseQuantity, wholeUnits } from "@virtual-kubelet/kubernetes";
import type { FieldError } from "../kind.ts";
import { invalidValue, forbiddenField, notSupported } from "../validation/field-errors.ts";

const supportedModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const volumeModes = ["Block", "Filesystem"];

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go. */

/** What is wrong with access modes, of a volume or a claim. */
export function accessModeErrors(modes: readonly string[], field: string): FieldError[] {
  const isAlone = modes.every((mode) => mode === "ReadWriteOncePod" || !supportedModes.includes(mode));
  return [
    ...modes.filter((mode) => !supportedModes.includes(mode)).map((mode) => notSupported(field, mode, supportedModes)),
    ...(modes.includes("ReadWriteOncePod") && !isAlone
      ? [forbiddenField(field, "may not use ReadWriteOncePod with other access modes")]
      : []),
  ];
}

/** What is wrong with the mode of a volume, or with the one a claim wants. */
export function volumeModeErrors(mode: string | undefined, field: string): FieldError[] {
  return mode === undefined || volumeModes.includes(mode) ? [] : [notSupported(field, mode, volumeModes)];
}

/** A size that is more than nothing. */
export function positiveQuantityErrors(text: string, field: string): FieldError[] {
  const quantity = tryParseQuantity(text);
  return quantity === undefined || quantity.nano > 0n ? [] : [invalidValue(field, text, "must be greater than zero")];
}

/** What there is of a resource. */
export function capacityErrors(text: string, field: string): FieldError[] {
  const quantity = tryParseQuantity(text);
  return [
    ...(quantity && quantity.nano < 0n ? [invalidValue(field, Number(wholeUnits(quantity)), "must be a valid resource quantity")] : []),
    ...positiveQuantityErrors(text, field),
  ];
}
