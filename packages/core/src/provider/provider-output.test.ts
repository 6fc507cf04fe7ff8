import { expect, test } from "vitest";
import { checkPodList, checkStatus } from "./provider-output.ts";

test("a status is copied, so that the provider may change its own", () => {
  const given = { phase: "Running", containerStatuses: [{ name: "main", state: { running: {} } }] };

  const kept = checkStatus(given, "notifyPods");
  given.containerStatuses[0] = { name: "other", state: { running: {} } };

  expect(kept.containerStatuses?.[0]?.name).toBe("main");
});

test.each([
  [undefined, "status"],
  ["Running", "status"],
  [{ phase: "running" }, "phase"],
  [{ containerStatuses: {} }, "containerStatuses"],
  [{ podIPs: "10.0.0.1" }, "podIPs"],
  [{ conditions: {} }, "conditions"],
  [{ containerStatuses: [null] }, "containerStatuses[0].name"],
  [{ initContainerStatuses: [{ name: "a" }, { name: "" }] }, "initContainerStatuses[1].name"],
])("%j is refused by naming %s", (status, field) => {
  expect(() => checkStatus(status, "getPodStatus")).toThrow(`provider's getPodStatus returned ${field} = `);
});

test("an inventory must say whether it is complete", () => {
  expect(() => checkPodList({ pods: [] })).toThrow("getPods returned complete = undefined, expected true or false");
});

test("a pod of an inventory must say whose it is and which", () => {
  const pod = { ref: { namespace: "default", name: "web", uid: "u1" }, owner: { clusterId: "c", nodeName: "n" }, status: {} };

  expect(checkPodList({ complete: true, pods: [pod] }).pods).toEqual([pod]);
  expect(() => checkPodList({ complete: true, pods: [{ ...pod, ref: { ...pod.ref, uid: "" } }] })).toThrow("ref.uid");
  expect(() => checkPodList({ complete: true, pods: [{ ...pod, owner: undefined }] })).toThrow("owner.clusterId");
});
