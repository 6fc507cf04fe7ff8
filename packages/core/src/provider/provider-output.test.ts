import { describe, expect, test } from "vitest";
import { checkPod, checkPodList, checkStatus } from "./provider-output.ts";

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

test.each([undefined, "Pending", "Running", "Succeeded", "Failed", "Unknown"])("the phase %s is taken as it is", (phase) => {
  expect(checkStatus({ ...(phase && { phase }) }, "getPodStatus")).toEqual(phase ? { phase } : {});
});

test.each(["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"])(
  "each of %s has a name, and a list that is absent or null is none",
  (list) => {
    expect(checkStatus({ [list]: null }, "getPodStatus")).toEqual({ [list]: null });
    expect(checkStatus({ [list]: [{ name: "main" }] }, "getPodStatus")).toEqual({ [list]: [{ name: "main" }] });
    expect(() => checkStatus({ [list]: [{ name: "main" }, {}] }, "getPodStatus")).toThrow(`returned ${list}[1].name = undefined`);
    expect(() => checkStatus({ [list]: [{ name: 5 }] }, "getPodStatus")).toThrow(`returned ${list}[0].name = number`);
    expect(() => checkStatus({ [list]: "main" }, "getPodStatus")).toThrow(`returned ${list} = "main", expected a list`);
  },
);

test.each(["podIPs", "conditions"])("%s are a list, or absent or null", (list) => {
  expect(checkStatus({ [list]: null }, "getPodStatus")).toEqual({ [list]: null });
  expect(checkStatus({ [list]: [] }, "getPodStatus")).toEqual({ [list]: [] });
  expect(() => checkStatus({ [list]: 5 }, "getPodStatus")).toThrow(`returned ${list} = number, expected a list`);
});

test("what is undefined is left out of the copy, and all else is in it, however deep", () => {
  const given = { phase: "Running", message: undefined, containerStatuses: [{ name: "main", state: { running: { startedAt: "x" } } }] };

  const copy = checkStatus(given, "getPodStatus");

  expect(copy).toEqual({ phase: "Running", containerStatuses: [{ name: "main", state: { running: { startedAt: "x" } } }] });
  expect(copy).not.toHaveProperty("message");
  expect(copy.containerStatuses?.[0]?.state?.running).not.toBe(given.containerStatuses[0]?.state.running);
});

describe("a pod of the provider's", () => {
  const pod = {
    ref: { namespace: "default", name: "web", uid: "u1" },
    owner: { clusterId: "", nodeName: "n" },
    createdAt: "2026-01-01T00:00:00Z",
    status: { phase: "Running" },
  };

  test("is taken with all that it says", () => {
    expect(checkPod(pod, "getPod")).toEqual(pod);
    expect(checkPod({ ...pod, createdAt: undefined }, "getPod")).not.toHaveProperty("createdAt");
  });

  test.each<[string, unknown, string]>([
    ["that is none", null, "pod = object, expected an object"],
    ["without a ref", { ...pod, ref: undefined }, "ref.namespace = undefined, expected a non-empty string"],
    ["with a name that is no text", { ...pod, ref: { ...pod.ref, name: 5 } }, "ref.name = number"],
    ["without a name", { ...pod, ref: { ...pod.ref, name: "" } }, 'ref.name = ""'],
    ["without a namespace", { ...pod, ref: { ...pod.ref, namespace: "" } }, 'ref.namespace = ""'],
    ["of no cluster", { ...pod, owner: { nodeName: "n" } }, "owner.clusterId = undefined, expected a string"],
    ["of no node", { ...pod, owner: { clusterId: "c" } }, "owner.nodeName = undefined, expected a string"],
    ["of a time that is no text", { ...pod, createdAt: 5 }, "createdAt = number, expected an RFC 3339 time"],
    ["without a status", { ...pod, status: undefined }, "status = undefined, expected an object"],
    ["with a list for a status", { ...pod, status: [] }, "status = object, expected an object"],
  ])("%s is refused by what is wrong", (_what, given, problem) => {
    expect(() => checkPod(given, "getPod")).toThrow(`provider's getPod returned ${problem}`);
  });
});

test("an inventory is complete or not, as the provider says, and a list of pods", () => {
  expect(checkPodList({ pods: [], complete: true })).toEqual({ pods: [], complete: true });
  expect(checkPodList({ pods: [], complete: false })).toEqual({ pods: [], complete: false });
  expect(() => checkPodList(undefined)).toThrow("getPods returned pods = undefined, expected a list");
  expect(() => checkPodList({ pods: "none", complete: true })).toThrow('getPods returned pods = "none", expected a list');
  expect(() => checkPodList([])).toThrow("getPods returned pods = object, expected a list");
});

test("of a long text a hundred characters are shown", () => {
  expect(() => checkStatus({ phase: "x".repeat(101) }, "getPodStatus")).toThrow(`phase = "${"x".repeat(100)}", expected`);
});
