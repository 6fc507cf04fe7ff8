import { UnsupportedError } from "@virtual-kubelet/errdefs";

/** A field of a pod that the back end cannot do. */
export interface RefusedField {
  /** Such as `spec.containers[0].tty`. */
  readonly fieldPath: string;
  /** Why the back end cannot do it, and what to use instead. It never holds content of secrets. */
  readonly message: string;
}

/** Returns the field if the pod asks for it. */
export function refusedIf(isAsked: unknown, fieldPath: string, message: string): readonly RefusedField[] {
  return isAsked ? [{ fieldPath, message }] : [];
}

/**
 * Refuses a pod that has such fields; without any, does nothing. The message has the reason for the first field and the paths of the others.
 *
 * @throws UnsupportedError that names the first field
 */
export function refuseFields([first, ...others]: readonly RefusedField[]): void {
  if (!first) return;
  const rest = others.length === 0 ? "" : `; also ${[...new Set(others.map(({ fieldPath }) => fieldPath))].join(", ")}`;
  throw new UnsupportedError(`${first.fieldPath}: ${first.message}${rest}`, { fieldPath: first.fieldPath });
}
