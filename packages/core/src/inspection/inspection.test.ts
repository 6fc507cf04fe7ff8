import { UnavailableError } from "@virtual-kubelet/errdefs";
import { resources } from "@virtual-kubelet/kube-client";
import type { NodeInspection } from "./node-inspection.ts";
import { describe, expect, test } from "vitest";
import { NodeRig } from "../test-support/node-rig.ts";
import type { PodInspection } from "./pod-inspection.ts";

const away = (): never => {
  throw new UnavailableError("connection refused");
};

function podOf(rig: NodeRig, name: string): PodInspection | undefined {
  return rig.node.inspect({ limit: 1, name }).pods[0];
}

describe("an inspection of a node", () => {
  test("names the stage that it has reached", async () => {
    const rig = new NodeRig();
    const stages = [rig.node.inspect({ limit: 0 }).stage];
    const gate = Promise.withResolvers<void>();
    rig.provider.script("getPods", () => gate.promise);

    rig.run();
    stages.push(rig.node.inspect({ limit: 0 }).stage);
    await rig.settle(5_000);
    stages.push(rig.node.inspect({ limit: 0 }).stage);
    gate.resolve();
    await rig.settle();
    stages.push(rig.node.inspect({ limit: 0 }).stage);
    await rig[Symbol.asyncDispose]();
    stages.push(rig.node.inspect({ limit: 0 }).stage);

    expect(stages).toEqual(["notStarted", "starting", "listing", "running", "ended"]);
  });

  test("says who holds the lease that it stands by for", async () => {
    await using first = await new NodeRig({ node: { instance: { identity: "first" } } }).start();
    await using second = new NodeRig({ after: first, node: { instance: { identity: "second", standby: true } } });
    second.run();
    await second.settle(5_000);

    const { stage, lease, problems } = second.node.inspect({ limit: 0 });

    expect({ stage, lease, problems }).toMatchObject({
      stage: "waitingForLease",
      lease: { isOurs: false, holder: "first", identity: "second", renewedAgeMs: undefined, failure: undefined },
      problems: [],
    });
  });

  test("tells of a lease that cannot be renewed, and when that is tried again", async () => {
    await using rig = await new NodeRig().start();
    using _away = rig.client.intercept(({ resource }) => (resource === "leases" ? away() : undefined));

    await rig.settle(60_000);

    const { lease, problems } = rig.node.inspect({ limit: 0 });
    expect(lease.failure).toMatchObject({ message: expect.stringContaining("connection refused"), attempt: expect.any(Number) });
    expect(lease.failure?.inMs).toBeLessThan(10_000);
    expect(problems).toEqual([
      expect.stringMatching(/^the lease was last renewed \d+ s ago, and is valid for 40 s$/),
      expect.stringMatching(/^the lease cannot be renewed: .*connection refused/),
    ]);
  });

  test("tells of a provider that does not answer, without the credentials in its message", async () => {
    await using rig = await new NodeRig().start();
    rig.pingFailure = new Error("POST https://me:hunter2@backend/ failed");

    await rig.settle(20_000);

    const { ping, problems, stage, isReady } = rig.node.inspect({ limit: 0 });
    expect(ping).toMatchObject({ kind: "down", answeredAgeMs: expect.any(Number) });
    expect(problems).toEqual(["the provider does not answer: POST https://[redacted]@backend/ failed"]);
    expect([stage, isReady]).toEqual(["running", false]);
  });

  test("tells of a condition Ready that somebody else has changed", async () => {
    await using rig = await new NodeRig().start();
    expect(rig.node.inspect({ limit: 0 })).toMatchObject({ isReady: true, problems: [] });
    // The node life-cycle controller does so when the Lease is late. Here the node cannot correct it.
    using _away = rig.client.intercept(({ resource, verb }) => (resource === "nodes" && verb === "patch" ? away() : undefined));
    const seen = await rig.client.get(resources.nodes, { name: "node-1" }, { signal: new AbortController().signal });
    const ready = { type: "Ready", status: "Unknown", reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." };
    rig.client.put(resources.nodes, { ...seen, status: { ...seen.status, conditions: [ready] } });
    await rig.settle();

    const { isReady, problems } = rig.node.inspect({ limit: 0 });
    expect(isReady).toBe(false);
    expect(problems).toContain("the node is not Ready: NodeStatusUnknown, Kubelet stopped posting node status.");
  });

  test("tells of an inventory that fails", async () => {
    const rig = new NodeRig();
    rig.provider.script("getPods", away);
    rig.run();
    await rig.settle(3_000);

    expect(rig.node.inspect({ limit: 0 })).toMatchObject({
      stage: "listing",
      inventory: { failure: "connection refused" },
      problems: ["the provider does not list its pods: connection refused"],
    } satisfies Partial<NodeInspection>);
    await rig[Symbol.asyncDispose]();
  });

  test("is plain JSON", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web");

    const inspection = rig.node.inspect({ limit: 10 });

    const defined = JSON.parse(JSON.stringify(inspection)) as unknown;
    expect(inspection).toMatchObject(defined as object);
    expect(inspection.queues.map(({ name }) => name)).toEqual(["pods", "pod-status"]);
  });
});

describe("an inspection of a pod", () => {
  test("of a pod that runs finds nothing to do", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    await rig.settle(2_000);

    expect(podOf(rig, "web")).toEqual({
      ...ref,
      ageMs: 2_000,
      phase: "Running",
      wantedPhase: "Running",
      isStatusWritten: true,
      apiServer: "bound",
      backEnd: "present",
      next: "nothing",
      activity: { kind: "idle" },
      failures: 0,
      verdict: undefined,
      ending: undefined,
      lastError: undefined,
      problem: undefined,
    });
  });

  test("of a pod that fails to start says how often, why, and when it is tried again", async () => {
    await using rig = await new NodeRig().start();
    rig.provider.script("createPod", away);
    await rig.createPod("web");
    await rig.settle(2_500);

    const pod = podOf(rig, "web");

    expect(pod).toMatchObject({
      backEnd: "unknown",
      activity: { kind: "backingOff", inMs: expect.any(Number) },
      failures: 3,
      verdict: { kind: "waiting", reason: "ProviderFailed" },
      lastError: { message: "connection refused" },
      problem: "start failed 3 times: connection refused",
    });
  });

  test("of a pod whose call hangs says for how long", async () => {
    await using rig = await new NodeRig().start();
    rig.provider.script("createPod", () => new Promise(() => {}));
    await rig.createPod("web");
    await rig.settle(31_000);

    expect(podOf(rig, "web")).toMatchObject({
      activity: { kind: "calling", operation: "start", forMs: 31_000, isGivenUp: false },
      problem: "the provider has not answered its call to start the pod",
    });
  });

  test("of a pod that waits for a permit says so", async () => {
    await using rig = await new NodeRig({ pods: { workers: 1 } }).start();
    rig.provider.script("createPod", () => new Promise(() => {}));
    await rig.createPod("first");
    await rig.createPod("second");
    await rig.settle(1_000);

    expect(podOf(rig, "second")?.activity).toEqual({ kind: "waitingForPermit", operation: "start", forMs: 1_000 });
    expect(rig.node.inspect({ limit: 0 }).permits[0]).toEqual({ kind: "start", held: 1, waiting: 1 });
  });

  test("of a deleted pod says how long it has left", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web");
    rig.provider.script("deletePod", () => new Promise(() => {}));
    await rig.deletePod("web", 30);
    await rig.settle(10_000);

    expect(podOf(rig, "web")).toMatchObject({
      backEnd: "ending",
      ending: { graceSeconds: 30, inMs: 20_000 },
      activity: { kind: "calling", operation: "delete" },
    });
  });

  test("of a pod whose status the API server refuses says so", async () => {
    await using rig = await new NodeRig().start();
    using _away = rig.client.intercept(({ verb, resource }) => (verb === "patch" && resource === "pods" ? away() : undefined));
    await rig.createPod("web");
    await rig.settle(1_500);

    expect(podOf(rig, "web")).toMatchObject({
      phase: "Pending",
      wantedPhase: "Running",
      isStatusWritten: false,
      problem: expect.stringMatching(/^writing the status failed (once|\d times): connection refused$/),
    });
  });

  test("of a pod that waits for a secret names it, and never what a secret contains", async () => {
    await using rig = await new NodeRig().start();
    rig.putSecret("known", "hunter2-hunter2");
    rig.provider.onCreate = async (_pod, resolved, signal) => {
      const known = (await resolved.environment("side", signal)).map(({ name, value }) => `${name}=${value}`);
      await resolved.environment("main", signal).catch((error: unknown) => {
        throw new Error(`create with ${known.join()}`, { cause: error });
      });
    };
    const key = (name: string): object => ({ valueFrom: { secretKeyRef: { name, key: "key" } } });
    const containers = [
      { name: "main", image: "busybox", command: ["run-it"], env: [{ name: "B", ...key("missing") }] },
      { name: "side", image: "busybox", env: [{ name: "A", ...key("known") }] },
    ];
    await rig.createPod("web", { containers });
    await rig.settle(1_000);

    const text = JSON.stringify(rig.node.inspect({ limit: 10 }));

    expect(podOf(rig, "web")?.problem).toMatch(/^CreateContainerConfigError: .*\[redacted\].*missing/);
    expect(text).not.toContain("hunter2");
    expect(text).not.toContain(Buffer.from("hunter2-hunter2").toString("base64"));
    expect(text).not.toContain("run-it");
  });
});

describe("the selected pods", () => {
  test("are those with a problem first, page by page, and all are counted", async () => {
    await using rig = await new NodeRig().start();
    rig.provider.script("createPod", (ref) => {
      if (ref?.name === "c") away();
    });
    for (const name of ["a", "b", "c", "d"]) await rig.createPod(name);
    await rig.settle(1_500);

    const first = rig.node.inspect({ limit: 2 });
    const second = rig.node.inspect({ limit: 2, continue: first.continue });

    expect([first, second].map(({ pods }) => pods.map(({ name }) => name))).toEqual([
      ["c", "a"],
      ["b", "d"],
    ]);
    expect([first.matching, second.matching, second.continue]).toEqual([4, 4, undefined]);
    expect(second.counts).toMatchObject({ total: 4, problems: 1, byBackEnd: { present: 3, unknown: 1 } });
  });

  test.for([
    [{ namespace: "other" }, []],
    [{ name: "b" }, ["b"]],
    [{ problemsOnly: true }, ["c"]],
  ] as const)("with %j are %j", async ([query, names]) => {
    await using rig = await new NodeRig().start();
    rig.provider.script("createPod", (ref) => {
      if (ref?.name === "c") away();
    });
    for (const name of ["a", "b", "c"]) await rig.createPod(name);
    await rig.settle(1_500);

    const { pods, matching } = rig.node.inspect({ limit: 10, ...query });

    expect(pods.map(({ name }) => name)).toEqual(names);
    expect(matching).toBe(names.length);
  });
});
