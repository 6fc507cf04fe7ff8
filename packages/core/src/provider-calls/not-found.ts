import { isNotFound } from "@virtual-kubelet/errdefs";

/** Reference to an object of the Kubernetes API that an error carries. */
export interface NamedObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Maximum length of a chain of causes; a longer one is a loop. */
const maxCauses = 32;

/**
 * Awaits work on an object of the API server and adds the object to its error. Without it a provider that rethrows
 * "secret not found" would seem to report that its pod is gone.
 */
export async function about<T>(object: NamedObject, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (typeof error === "object" && error !== null && Object.isExtensible(error)) Object.assign(error, { object });
    throw error;
  }
}

/** Whether the error reports that the back end does not hold the pod, rather than that another object was not found. */
export function isPodNotFound(error: unknown): boolean {
  if (!isNotFound(error)) return false;
  let current = error;
  for (let depth = 0; depth < maxCauses && typeof current === "object" && current !== null; depth++) {
    const { object, cause } = current as { object?: Partial<NamedObject>; cause?: unknown };
    if (object?.kind !== undefined && object.kind !== "Pod") return false;
    current = cause;
  }
  return true;
}
