import { applyPatch } from "@virtual-kubelet/embedded-apiserver/patch";
import { resources, type ContainerStatus, type Pod, type PodStatus } from "@virtual-kubelet/kube-client";
import { shouldRestart } from "@virtual-kubelet/kubernetes";
import { isIPv4 } from "node:net";
import { describe, expect, test } from "vitest";
import { isSameJson } from "../../api-server/json-equality.ts";
import type { ProviderPodStatus } from "../../provider/pod-lifecycle.ts";
import { newPod, report } from "../../test-support/pod-arbitraries.ts";
import { ownedStatusFields } from "./owned-status.ts";
import { isTerminalPhase } from "./pod-phase.ts";
import { podStatusPatch } from "./pod-status-patch.ts";
import { derivePodStatus, endedStatus, rejectedStatus, waitingStatus } from "./pod-status.ts";
import fc from "fast-check";

const startMs = Date.parse("2026-05-01T12:00:00.750Z");

/** What comes to pass for a pod: a report, or something the core has to say. */
type Step = { readonly hostIPs: readonly string[] } & (
  | { readonly kind: "report"; readonly reported: ProviderPodStatus }
  | { readonly kind: "wait" | "end" | "reject" }
);

const hostIPs = fc.constantFrom(["192.0.2.1"], ["192.0.2.1", "2001:db8::1"], ["2001:DB8::1", "192.0.2.1"], []);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("report" as const), reported: report, hostIPs }) },
  fc.record({ kind: fc.constantFrom("wait", "end", "reject"), hostIPs }),
);
const history = fc.array(step, { minLength: 1, maxLength: 5 });

function statusAfter(pod: Pod, step: Step, nowMs: number): PodStatus {
  const context = { hostIPs: step.hostIPs, nowMs };
  switch (step.kind) {
    case "report":
      return derivePodStatus({ pod, reported: step.reported, ...context });
    case "wait":
      return waitingStatus(pod, { reason: "ProviderFailed", message: "no", ...context });
    case "end":
      return endedStatus(pod, context);
    case "reject":
      return rejectedStatus(pod, { reason: "OutOfpods", message: "full", nowMs });
  }
}

/** Runs through a history, with each status written before the next one is derived. */
function replay(pod: Pod, steps: readonly Step[], check: (before: Pod, wanted: PodStatus, after: Pod) => void): void {
  let stored = pod;
  for (const [index, step] of steps.entries()) {
    const nowMs = startMs + index * 61_234;
    const wanted = statusAfter(stored, step, nowMs);
    const body = podStatusPatch(stored, wanted);
    const after = body ? applyPatch(stored, { type: "strategic", body }, resources.pods) : stored;
    check(stored, wanted, after);
    const again = podStatusPatch(after, statusAfter(after, step, nowMs + 30_000));
    expect(again).toBeUndefined();
    stored = after;
  }
}

function allStatuses(status: PodStatus | undefined): ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

describe("whatever is reported, in whatever order", () => {
  test("one patch makes the stored status the wanted one, and none follows", () => {
    fc.assert(
      fc.property(newPod, history, (pod, steps) =>
        replay(pod, steps, (_, wanted, after) => {
          for (const field of ownedStatusFields) {
            expect(isSameJson(after.status?.[field], wanted[field])).toBe(true);
          }
        }),
      ),
    );
  });

  test("a final phase stays, and no pod is final and ready", () => {
    fc.assert(
      fc.property(newPod, history, (pod, steps) =>
        replay(pod, steps, (before, wanted) => {
          if (isTerminalPhase(before.status?.phase)) expect(wanted.phase).toBe(before.status.phase);
          if (isTerminalPhase(wanted.phase)) expect(wanted.conditions?.find(({ type }) => type === "Ready")?.status).not.toBe("True");
        }),
      ),
    );
  });

  test("each container of the spec has one status with one state, and its restart count never falls", () => {
    fc.assert(
      fc.property(newPod, history, (pod, steps) =>
        replay(pod, steps, (before, wanted) => {
          const statuses = allStatuses(wanted);
          if (statuses.length === 0) return;
          const specified = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])].map(({ name }) => name);
          expect(statuses.map(({ name }) => name).sort()).toEqual(specified.sort());
          for (const status of statuses) {
            expect(Object.values(status.state ?? {}).filter(Boolean)).toHaveLength(1);
            const stored = allStatuses(before.status).find(({ name }) => name === status.name);
            expect(status.restartCount).toBeGreaterThanOrEqual(stored?.restartCount ?? 0);
          }
        }),
      ),
    );
  });

  test("the API server would take it: addresses pair up, and no container leaves its end against its policy", () => {
    fc.assert(
      fc.property(newPod, history, (pod, steps) =>
        replay(pod, steps, (before, wanted) => {
          for (const [single, list] of [
            [wanted.podIP, wanted.podIPs],
            [wanted.hostIP, wanted.hostIPs],
          ] as const) {
            expect(list?.[0]?.ip).toBe(single);
            expect(new Set(list?.map(({ ip }) => isIPv4(ip))).size).toBe(list?.length ?? 0);
          }
          const spec = pod.spec ?? { containers: [] };
          for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
            const ended = allStatuses(before.status).find(({ name }) => name === container.name)?.state?.terminated;
            const state = allStatuses(wanted).find(({ name }) => name === container.name)?.state;
            if (ended && state && !shouldRestart(container, spec, ended.exitCode)) expect(state.terminated).toBeDefined();
          }
        }),
      ),
    );
  });
});
