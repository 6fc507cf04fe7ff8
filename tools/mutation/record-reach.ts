import { afterAll, beforeEach } from "vitest";
import { reachedName } from "./probes.ts";

// Set-up file of the run that finds out which test file reaches what.
let meta: object | undefined;

beforeEach(({ task }) => {
  meta = task.file.meta;
});

afterAll(() => {
  const reached = (globalThis as Record<string, unknown>)[reachedName];
  if (meta !== undefined) Object.assign(meta, { [reachedName]: reached instanceof Set ? [...reached] : [] });
});
