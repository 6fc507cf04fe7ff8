import { isUnavailable, isUnsupported } from "@virtual-kubelet/errdefs";
import { noMetrics, type DeepReadonly, type MetricLabels, type Pod } from "@virtual-kubelet/kube-client";
import { duplexPair } from "node:stream";
import { describe, expect, test } from "vitest";
import { NodeAccess, type RunningNode } from "./node-access.ts";
import type { StatsSummary } from "../provider/pod-metrics.ts";
import type { Provider } from "../provider/provider.ts";

const ref = { namespace: "default", name: "web", uid: "u1" };
const { signal } = new AbortController();
const unused = (): never => {
  throw new Error("not expected to be called");
};
const lifecycle: Provider = {
  createPod: unused,
  updatePod: unused,
  deletePod: unused,
  getPod: unused,
  getPodStatus: unused,
  getPods: unused,
};

function accessTo(change: Partial<RunningNode>): NodeAccess {
  const access = new NodeAccess({ nodeName: "n1", providerName: "acme", metrics: noMetrics });
  access.open({ provider: lifecycle, listPods: () => [], getPods: unused, redact: (_uid, error) => error, ...change });
  return access;
}

function pod(uid: string, change: Pod["metadata"] = {}): DeepReadonly<Pod> {
  return { metadata: { namespace: "default", name: "web", uid, ...change } };
}

test("while the node does not run there are no pods, and calls fail as unavailable", async () => {
  const access = new NodeAccess({ nodeName: "n1", providerName: "acme", metrics: noMetrics });
  const running = access.open({
    provider: lifecycle,
    listPods: () => [pod("u1")],
    getPods: async () => ({ pods: [], complete: true }),
    redact: (_uid, error) => error,
  });
  expect(access.findPod("default", "web")).toBeDefined();

  running[Symbol.dispose]();

  expect(access.findPod("default", "web")).toBeUndefined();
  await expect(access.getStatsSummary(signal)).rejects.toSatisfy(isUnavailable);
  await expect(access.getMetricsResource(signal)).rejects.toSatisfy(isUnavailable);
});

test("what the provider has no method for is unsupported, and named", async () => {
  const call = accessTo({}).runInContainer(
    ref,
    "main",
    ["ls"],
    { stdin: undefined, stdout: undefined, stderr: undefined, tty: false, resizes: (async function* () {})() },
    signal,
  );

  await expect(call).rejects.toSatisfy(isUnsupported);
  await expect(call).rejects.toThrow("provider acme does not support exec");
});

test("of two pods of one name the one that is not being deleted is found", () => {
  const access = accessTo({ listPods: () => [pod("old", { deletionTimestamp: "2026-01-01T00:00:00Z" }), pod("new")] });

  expect(access.findPod("default", "web")?.metadata?.uid).toBe("new");
  expect(access.findPod("other", "web")).toBeUndefined();
});

test("a pod is found with the status that is known by now", () => {
  const access = accessTo({ listPods: () => [pod("u1")], statusOf: ({ metadata }) => ({ message: `of ${metadata?.uid}` }) });

  expect(access.findPod("default", "web")).toEqual({ ...pod("u1"), status: { message: "of u1" } });
});

test("a provider's error is shown without the pod's secrets, and counted by its code", async () => {
  const counted: MetricLabels[] = [];
  const metrics = { ...noMetrics, count: (_name: string, labels: MetricLabels = {}) => void counted.push(labels) };
  const access = new NodeAccess({ nodeName: "n1", providerName: "acme", metrics });
  access.open({
    provider: { ...lifecycle, getContainerLogs: () => Promise.reject(new Error("hunter2")) },
    listPods: () => [],
    getPods: unused,
    redact: (uid) => new Error(`redacted for ${uid}`),
  });

  await expect(access.getContainerLogs(ref, "main", { follow: false, previous: false, timestamps: false }, signal)).rejects.toThrow(
    "redacted for u1",
  );
  expect(counted).toEqual([{ method: "getContainerLogs", code: "UNKNOWN" }]);
});

test.each(["data", "live"] as const)("an error in the %s of a log is shown without the pod's secrets", async (part) => {
  const failing = async function* () {
    yield "begun\n";
    throw new Error("GET /logs: token hunter2 has expired");
  };
  const whole = async function* () {};
  const getContainerLogs = async () => ({ data: whole(), [part]: failing() });
  const access = accessTo({ provider: { ...lifecycle, getContainerLogs }, redact: (uid) => new Error(`redacted for ${uid}`) });

  const logs = await access.getContainerLogs(ref, "main", { follow: true, previous: false, timestamps: false }, signal);
  const read: (string | Uint8Array)[] = [];
  const reading = (async () => {
    for await (const chunk of logs[part] ?? []) read.push(chunk);
  })();

  await expect(reading).rejects.toThrow("redacted for u1");
  expect(read).toEqual(["begun\n"]);
});

test("a log that nobody wants any more ends at the provider", async () => {
  let isEnded = false;
  const endless = async function* () {
    try {
      while (true) yield "again\n";
    } finally {
      isEnded = true;
    }
  };
  const access = accessTo({ provider: { ...lifecycle, getContainerLogs: async () => ({ data: endless() }) } });

  const { data } = await access.getContainerLogs(ref, "main", { follow: false, previous: false, timestamps: false }, signal);
  for await (const _chunk of data) break;

  expect(isEnded).toBe(true);
});

test("a provider's own figures are taken where it has them", async () => {
  const families = [{ name: "a", help: "", type: "gauge" as const, samples: [] }];

  expect(await accessTo({}).getMetricsResource(signal)).toBeUndefined();
  expect(await accessTo({ provider: { ...lifecycle, getMetricsResource: async () => families } }).getMetricsResource(signal)).toBe(
    families,
  );
});

describe("each call", () => {
  const io = { stdin: undefined, stdout: undefined, stderr: undefined, tty: false, resizes: (async function* () {})() };
  const [stream] = duplexPair();
  const summary = { node: { nodeName: "n1" }, pods: [] } as unknown as StatsSummary;

  function recorded(): { access: NodeAccess; made: unknown[][]; counted: string[] } {
    const made: unknown[][] = [];
    const counted: string[] = [];
    const access = new NodeAccess({
      nodeName: "n1",
      providerName: "acme",
      metrics: { ...noMetrics, count: (name, labels = {}) => void counted.push([name, ...Object.values(labels)].join(" ")) },
    });
    access.open({
      provider: {
        ...lifecycle,
        runInContainer: async (...call) => (made.push(["runInContainer", ...call]), { exitCode: 3 }),
        attachToContainer: async (...call) => void made.push(["attachToContainer", ...call]),
        portForward: async (...call) => void made.push(["portForward", ...call]),
        getStatsSummary: async () => summary,
        getMetricsResource: async () => [],
      },
      listPods: () => [],
      getPods: unused,
      redact: (_uid, error) => error,
    });
    return { access, made, counted };
  }

  test("reaches the provider with all that it is given, and answers what that does", async () => {
    const { access, made } = recorded();

    expect(await access.runInContainer(ref, "main", ["ls"], io, signal)).toEqual({ exitCode: 3 });
    await access.attachToContainer(ref, "main", io, signal);
    await access.portForward(ref, 80, stream, signal);
    expect(await access.getStatsSummary(signal)).toBe(summary);

    expect(made).toEqual([
      ["runInContainer", ref, "main", ["ls"], io, signal],
      ["attachToContainer", ref, "main", io, signal],
      ["portForward", ref, 80, stream, signal],
    ]);
  });

  test("is counted under its own name", async () => {
    const { access, counted } = recorded();
    await access.runInContainer(ref, "main", ["ls"], io, signal);
    await access.attachToContainer(ref, "main", io, signal);
    await access.portForward(ref, 80, stream, signal);
    await access.getStatsSummary(signal);
    await access.getMetricsResource(signal);

    expect(counted).toEqual(
      ["runInContainer", "attachToContainer", "portForward", "getStatsSummary", "getMetricsResource"].map(
        (method) => `vk_provider_calls_total ${method} OK`,
      ),
    );
  });

  test.each([
    ["logs", (access: NodeAccess) => access.getContainerLogs(ref, "main", { follow: false, previous: false, timestamps: false }, signal)],
    ["attach", (access: NodeAccess) => access.attachToContainer(ref, "main", io, signal)],
    ["port-forward", (access: NodeAccess) => access.portForward(ref, 80, stream, signal)],
    ["stats", (access: NodeAccess) => access.getStatsSummary(signal)],
  ])("that the provider has no method for is named as users know it: %s", async (feature, call) => {
    await expect(call(accessTo({}))).rejects.toThrow(`provider acme does not support ${feature}`);
  });

  test("about the node as a whole shows its errors as they are", async () => {
    const getStatsSummary = () => Promise.reject(new Error("plain"));
    const access = accessTo({ provider: { ...lifecycle, getStatsSummary }, redact: () => new Error("redacted") });

    await expect(access.getStatsSummary(signal)).rejects.toThrow("plain");
  });

  test("lists the pods that the back end holds", async () => {
    const list = { pods: [], complete: true };

    expect(await accessTo({ getPods: async () => list }).getPods(signal)).toBe(list);
    await expect(
      (async () => new NodeAccess({ nodeName: "n1", providerName: "acme", metrics: noMetrics }).getPods(signal))(),
    ).rejects.toThrow("node n1 is not running: it has not started yet, or has stopped");
  });
});

test("a log says what the provider says of it", async () => {
  const data = (async function* () {})();
  const getContainerLogs = async () => ({ data, timestamps: true, applied: ["tailLines"] as const });
  const access = accessTo({ provider: { ...lifecycle, getContainerLogs } });

  const logs = await access.getContainerLogs(ref, "main", { follow: false, previous: false, timestamps: true }, signal);

  expect(logs).toMatchObject({ timestamps: true, applied: ["tailLines"] });
  expect(logs.live).toBeUndefined();
});

test("of pods of one name that are all being deleted the first is found, and of other names none", () => {
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const access = accessTo({
    listPods: () => [pod("other", { name: "db" }), pod("first", { deletionTimestamp }), pod("second", { deletionTimestamp })],
  });

  expect(access.findPod("default", "web")?.metadata?.uid).toBe("first");
  expect(access.findPod("default", "nope")).toBeUndefined();
});
