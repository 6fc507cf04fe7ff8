import type { TestProject } from "vitest/node";

/** Prevents recordings of the embedded server: only the real server is recorded. @throws Error if recordings are to be updated */
export function setup(project: TestProject): void {
  if (project.config.snapshotOptions.updateSnapshot !== "all") return;
  throw new Error(
    "cannot update the recorded answers from the embedded API server, which is compared with them; add --project control-plane",
  );
}
