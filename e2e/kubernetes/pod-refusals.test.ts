import { expect, test } from "vitest";
import { refusalIn, refusalOf } from "./pod-refusals.ts";

const message =
  "not allowed on this node: spec.hostNetwork (the node's network; policy.hostNetwork allows it), spec.volumes[0].hostPath.path (\"/tmp\" of the node; policy.hostPaths allows it); the policy is in the provider's configuration";

test.each(["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"])(
  "the fields that the policy refuses are read from %s",
  (field) => {
    const waiting = { name: "main", state: { waiting: { reason: "ProviderUnsupported", message } } };

    expect(refusalOf({ [field]: [waiting] })).toBe(
      'spec.hostNetwork (the node\'s network; policy.hostNetwork allows it), spec.volumes[0].hostPath.path ("/tmp" of the node; policy.hostPaths allows it)',
    );
  },
);

test("a pod that waits for another reason is not counted as refused", () => {
  expect(refusalOf({ containerStatuses: [{ name: "main", state: { waiting: { message: "pulling" } } } as never] })).toBeUndefined();
  expect(refusalOf({ phase: "Failed", reason: "Evicted", message: "no room" })).toBeUndefined();
  expect(refusalOf({ phase: "Failed", reason: "SysctlForbidden", message: "forbidden" })).toBe("forbidden");
});

test("a test gets the refusal of the namespace in its output, not of a namespace with the same prefix", () => {
  const refusals = new Map([
    ["pods-12", "spec.hostPID"],
    ["pods-123", "spec.hostIPC"],
  ]);

  expect(refusalIn('Waiting for a default service account in namespace "pods-123".', refusals)).toBe("spec.hostIPC");
  expect(refusalIn('namespace "pods-1234"', refusals)).toBeUndefined();
});
