const maxCauses = 32;

/** Whether the error, or one of its causes, has the name, so that errors of another copy of the package are recognized. */
export function hasNamedCause(error: unknown, name: string): boolean {
  for (let current = error, depth = 0; current instanceof Error && depth < maxCauses; current = current.cause, depth++) {
    if (current.name === name) return true;
  }
  return false;
}
