import { systemClock } from "@virtual-kubelet/clock";
import { describe, expect, test } from "vitest";
import { checkFits, checkPod, checkPodList, checkPodOf, checkReport, checkStatus } from "./provider-output.ts";

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

const turns = { clock: systemClock, signal: new AbortController().signal };

test("an inventory must say whether it is complete", async () => {
  await expect(checkPodList({ pods: [] }, turns)).rejects.toThrow("getPods returned complete = undefined, expected true or false");
});

test("a pod of an inventory must say whose it is and which", async () => {
  const pod = { ref: { namespace: "default", name: "web", uid: "u1" }, owner: { clusterId: "c", nodeName: "n" }, status: {} };

  expect((await checkPodList({ complete: true, pods: [pod] }, turns)).pods).toEqual([pod]);
  const nameless = { ...pod, ref: { ...pod.ref, uid: "" } };
  await expect(checkPodList({ complete: true, pods: [nameless] }, turns)).rejects.toThrow("ref.uid");
  await expect(checkPodList({ complete: true, pods: [{ ...pod, owner: undefined }] }, turns)).rejects.toThrow("owner.clusterId");
});

test.each([undefined, "Pending", "Running", "Succeeded", "Failed", "Unknown"])("the phase %s is taken as it is", (phase) => {
  expect(checkStatus({ ...(phase && { phase }) }, "getPodStatus")).toEqual(phase ? { phase } : {});
});

test.each(["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"])(
  "each of %s has a name, and a list that is absent or null is none",
  (list) => {
    expect(checkStatus({ [list]: null }, "getPodStatus")).toEqual({});
    expect(checkStatus({ [list]: [{ name: "main" }] }, "getPodStatus")).toEqual({ [list]: [{ name: "main" }] });
    expect(() => checkStatus({ [list]: [{ name: "main" }, {}] }, "getPodStatus")).toThrow(`returned ${list}[1].name = undefined`);
    expect(() => checkStatus({ [list]: [{ name: 5 }] }, "getPodStatus")).toThrow(`returned ${list}[0].name = number`);
    expect(() => checkStatus({ [list]: "main" }, "getPodStatus")).toThrow(`returned ${list} = "main", expected a list`);
  },
);

test.each(["podIPs", "conditions"])("%s are a list, or absent or null", (list) => {
  expect(checkStatus({ [list]: null }, "getPodStatus")).toEqual({});
  expect(checkStatus({ [list]: [] }, "getPodStatus")).toEqual({ [list]: [] });
  expect(() => checkStatus({ [list]: 5 }, "getPodStatus")).toThrow(`returned ${list} = number, expected a list`);
});

test("what is null is left out of the copy, because JSON of many languages has it in place of an absent field", () => {
  const state = { running: { startedAt: "x" }, terminated: null, waiting: null };
  const given = { phase: "Running", message: null, containerStatuses: [{ name: "main", state, lastState: null }] };

  expect(checkStatus(given, "getPodStatus")).toEqual({
    phase: "Running",
    containerStatuses: [{ name: "main", state: { running: { startedAt: "x" } } }],
  });
});

test("a time that is a Date is copied as text, unless it is none", () => {
  const reported = (startedAt: Date): unknown => ({ containerStatuses: [{ name: "main", state: { running: { startedAt } } }] });

  expect(checkStatus(reported(new Date(0)), "getPodStatus").containerStatuses?.[0]?.state).toEqual({
    running: { startedAt: "1970-01-01T00:00:00.000Z" },
  });
  expect(checkStatus(reported(new Date(Number.NaN)), "getPodStatus").containerStatuses?.[0]?.state).toEqual({ running: {} });
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

test("an inventory is complete or not, as the provider says, and a list of pods", async () => {
  expect(await checkPodList({ pods: [], complete: true }, turns)).toEqual({ pods: [], complete: true });
  expect(await checkPodList({ pods: [], complete: false }, turns)).toEqual({ pods: [], complete: false });
  await expect(checkPodList(undefined, turns)).rejects.toThrow("getPods returned pods = undefined, expected a list");
  await expect(checkPodList({ pods: "none", complete: true }, turns)).rejects.toThrow('getPods returned pods = "none", expected a list');
  await expect(checkPodList([], turns)).rejects.toThrow("getPods returned pods = object, expected a list");
});

test("a long inventory lets the event loop turn", async () => {
  const owner = { clusterId: "c", nodeName: "n" };
  const pods = Array.from({ length: 1_200 }, (_, index) => ({ ref: { namespace: "a", name: "b", uid: `u${index}` }, owner, status: {} }));
  let others = 0;
  const timer = setInterval(() => others++, 0);

  const checked = await checkPodList({ pods, complete: true }, turns);
  clearInterval(timer);

  expect(checked.pods).toHaveLength(1_200);
  expect(others).toBeGreaterThan(0);
});

test("of a long text a hundred characters are shown", () => {
  expect(() => checkStatus({ phase: "x".repeat(101) }, "getPodStatus")).toThrow(`phase = "${"x".repeat(100)}", expected`);
});

const quantity = 'expected a quantity such as "500m"';

describe("of a status", () => {
  const inContainer = (field: object): object => ({ containerStatuses: [{ name: "main", ...field }] });
  const condition = (change: object): object => ({ conditions: [{ type: "Ready", status: "True", ...change }] });

  test.each<[object, string]>([
    [{ phase: null }, "phase = object, expected Pending, Running, Succeeded or Failed"],
    [{ podIP: 5 }, "podIP = number, expected an IP address"],
    [{ podIPs: [{ ip: "10.0.0.1" }, "10.0.0.2"] }, 'podIPs[1] = "10.0.0.2", expected an object such as {"ip": "10.0.0.1"}'],
    [{ podIPs: [{ ip: "" }] }, "podIPs[0] = object, expected an object"],
    [{ endsWhenGone: "yes" }, 'endsWhenGone = "yes", expected true or false'],
    [{ isMetadataOutdated: 1 }, "isMetadataOutdated = number, expected true or false"],
    [{ conditions: ["Ready"] }, 'conditions[0] = "Ready", expected an object with type and status'],
    [condition({ type: "" }), 'conditions[0].type = "", expected the condition\'s name'],
    [condition({ status: true }), "conditions[0].status = boolean, expected True, False or Unknown"],
    [condition({ lastTransitionTime: "yesterday" }), 'conditions[0].lastTransitionTime = "yesterday", expected an RFC 3339 time'],
    [condition({ lastProbeTime: 5 }), "conditions[0].lastProbeTime = number, expected an RFC 3339 time"],
    [{ resources: [] }, "resources = object, expected an object with limits and requests"],
    [{ resources: { limits: "1" } }, 'resources.limits = "1", expected quantities by resource name'],
    [{ resources: { requests: { cpu: "much" } } }, `resources.requests.cpu = "much", ${quantity}`],
    [{ allocatedResources: 5 }, "allocatedResources = number, expected quantities by resource name"],
    [{ allocatedResources: { memory: {} } }, `allocatedResources.memory = object, ${quantity}`],
    [inContainer({ state: "running" }), 'containerStatuses[0].state = "running", expected an object with running, waiting or terminated'],
    [inContainer({ lastState: [] }), "containerStatuses[0].lastState = object, expected an object with running"],
    [inContainer({ restartCount: "1" }), 'containerStatuses[0].restartCount = "1", expected a whole number, 0 or more'],
    [inContainer({ restartCount: -1 }), "containerStatuses[0].restartCount = number, expected a whole number, 0 or more"],
    [inContainer({ restartCount: 0.5 }), "containerStatuses[0].restartCount = number, expected a whole number, 0 or more"],
    [inContainer({ restartCount: Number.NaN }), "containerStatuses[0].restartCount = number, expected a whole number, 0 or more"],
    [inContainer({ resources: "1" }), 'containerStatuses[0].resources = "1", expected an object'],
    [inContainer({ resources: { limits: { cpu: "x" } } }), `containerStatuses[0].resources.limits.cpu = "x", ${quantity}`],
    [inContainer({ allocatedResources: { cpu: "x" } }), `containerStatuses[0].allocatedResources.cpu = "x", ${quantity}`],
  ])("%j is refused by its field, as a fault of the provider", (status, problem) => {
    expect(() => checkStatus(status, "getPodStatus")).toThrow(`provider's getPodStatus returned ${problem}`);
    expect(() => checkStatus(status, "getPodStatus")).toThrow("this is a fault of the provider");
  });

  test.each<object>([
    { podIP: null },
    { podIPs: [{ ip: "fd00::1" }] },
    condition({ lastTransitionTime: "2026-01-01T00:00:00Z", lastProbeTime: null }),
    condition({ status: "False" }),
    condition({ status: "Unknown" }),
    { resources: null, allocatedResources: null },
    { resources: { limits: { cpu: "500m" }, requests: null }, allocatedResources: { memory: "1Gi" } },
    inContainer({ restartCount: 0 }),
    inContainer({ restartCount: 3 }),
    inContainer({ state: null, restartCount: null, lastState: null, resources: null, allocatedResources: null }),
    inContainer({ state: { running: {} }, resources: { requests: { cpu: "1" } }, allocatedResources: { cpu: "1" } }),
  ])("%j is taken as it is, without null", (status) => {
    const withoutNull: unknown = JSON.parse(JSON.stringify(status), (_, value: unknown) => value ?? undefined);
    expect(checkStatus(status, "getPodStatus")).toEqual(withoutNull);
  });
});

describe("a report", () => {
  const ref = { namespace: "default", name: "web", uid: "u1" };

  test("says how a pod is, or that it is gone", () => {
    expect(checkReport({ ref, status: { phase: "Running" }, more: 1 })).toEqual({ ref, status: { phase: "Running" } });
    expect(checkReport({ ref: { ...ref, more: 1 }, gone: true, status: { phase: "Running" } })).toEqual({ ref, gone: true });
  });

  test.each<[string, unknown, string]>([
    ["that is none", "web", 'provider\'s notifyPods returned update = "web", expected an object with ref, and status or gone'],
    ["without a ref", { status: {} }, "provider's notifyPods returned ref.namespace = undefined, expected a non-empty string"],
    ["without a UID", { ref: { ...ref, uid: "" }, gone: true }, 'returned ref.uid = "", expected a non-empty string'],
    ["without a status", { ref }, "pod default/web: provider's notifyPods returned status = undefined, expected an object"],
    ["that is gone in a word", { ref, gone: "yes" }, "pod default/web: provider's notifyPods returned status = undefined"],
    ["of an unknown phase", { ref, status: { phase: "Odd" } }, 'pod default/web: provider\'s notifyPods returned phase = "Odd"'],
  ])("%s is refused, by the pod where it is known", (_what, update, problem) => {
    expect(() => checkReport(update)).toThrow(problem);
  });
});

test("a pod that was asked for is that pod by its UID, whatever it is called", () => {
  const pod = { ref: { namespace: "default", name: "web", uid: "u1" }, owner: { clusterId: "c", nodeName: "n" }, status: {} };

  expect(checkPodOf({ ...pod.ref, name: "other" }, pod, "getPod")).toEqual(pod);
  expect(() => checkPodOf({ ...pod.ref, uid: "u2" }, pod, "getPod")).toThrow(
    'provider\'s getPod returned ref.uid = "u1", expected u2, the UID of pod default/web, which was asked for',
  );
});

test("a reference fits a known pod of its UID only with that pod's namespace and name", () => {
  const known = { namespace: "default", name: "web", uid: "u1" };

  expect(() => checkFits(known, { ...known }, "notifyPods")).not.toThrow();
  expect(() => checkFits(known, { ...known, name: "other" }, "notifyPods")).toThrow(
    'provider\'s notifyPods returned ref.name = "other", expected web, that of the pod of UID u1',
  );
  expect(() => checkFits(known, { ...known, namespace: "kube-system" }, "getPods")).toThrow(
    'provider\'s getPods returned ref.namespace = "kube-system", expected default, that of the pod of UID u1',
  );
});
