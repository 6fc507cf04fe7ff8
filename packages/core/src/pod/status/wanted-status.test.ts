import { expect, test } from "vitest";
import { newPodState } from "../state/pod-state.ts";
import { wantedStatus } from "./wanted-status.ts";

const ref = { namespace: "default", name: "web", uid: "uid-1" };
const nowMs = Date.parse("2026-05-01T12:00:30Z");

test("a pod started when its node first saw it, not when its first status is written, and a stored start stays", () => {
  const state = { ...newPodState(ref, 1_000), reported: { phase: "Running" } as const };
  const startOf = (startTime?: string): string | undefined =>
    wantedStatus({ spec: { containers: [] }, status: { startTime } }, state, { hostIPs: [], nowMs }, 11_000)?.startTime;

  expect(startOf()).toBe("2026-05-01T12:00:20Z");
  expect(startOf("2026-05-01T11:00:00Z")).toBe("2026-05-01T11:00:00Z");
});

test("a pod that is refused started when its node first saw it", () => {
  const verdict = { kind: "rejected", reason: "OutOfcpu", message: "m" } as const;
  const status = wantedStatus({}, { ...newPodState(ref, 1_000), verdict }, { hostIPs: [], nowMs }, 11_000);

  expect(status?.startTime).toBe("2026-05-01T12:00:20Z");
});
