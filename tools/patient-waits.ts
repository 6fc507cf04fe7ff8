import { vi } from "vitest";

// A second, as it is by default, says more of a busy machine than of what is waited for. `expect.poll` has an option for it; this has none.
const original = vi.waitFor;
const patient: typeof vi.waitFor = (callback, options) =>
  original(callback, typeof options === "number" ? options : { timeout: 30_000, ...options });

// Files of one worker share `vi`.
if (original.name !== patient.name) vi.waitFor = patient;
