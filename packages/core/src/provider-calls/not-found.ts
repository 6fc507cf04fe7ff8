import { isNotFound } from "@virtual-kubelet/errdefs";

/** An object of the Kubernetes API, as errors about it name it. */
export interface NamedObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** How deep a chain of causes is followed; a longer one is a loop. */
const maxCauses = 32;

/**
 * Runs work on an object of the API server; what it throws says which object it is about. Without that a provider that hands on
 * the error "secret not found" would seem to say that its pod is gone.
 */
export async function about<T>(object: NamedObject, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (typeof error === "object" && error !== null && Object.isExtensible(error)) Object.assign(error, { object });
    throw error;
  }
}

/** Whether the error says that the back end holds no such pod, and not that something else was not found. */
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
