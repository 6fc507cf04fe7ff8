import { InvalidInputError, UnavailableError } from "@virtual-kubelet/errdefs";
import { resources, type Pod, type PodCondition } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { NodeRig, type NodeRigOptions } from "../../test-support/node-rig.ts";
import { asItRuns, isResized, resizeEventMessage, showsPendingResize, withResourcesOf, withRunningResources } from "./resize.ts";

/** A node of 4 cores whose provider can resize pods. */
class Rig extends NodeRig {
  /** The CPU and the label `v` of each update that the provider was given. */
  readonly told: string[] = [];
  failure: Error | undefined;
  hold: Promise<void> | undefined;

  constructor(options: NodeRigOptions = {}) {
    super({
      capabilities: { restarts: true, resize: true },
      node: { capacity: { cpu: "4", memory: "8Gi", pods: "10" } },
      provider: {
        updatePod: async (pod) => {
          this.told.push(`${pod.spec?.containers[0]?.resources?.requests?.["cpu"]} ${pod.metadata?.labels?.["v"] ?? "-"}`);
          await this.hold;
          if (this.failure) throw this.failure;
        },
      },
      ...options,
    });
  }

  async create(name: string, cpu: string): Promise<void> {
    await this.createPod(name, (pod) => {
      pod.metadata = { ...pod.metadata, generation: 1 };
      setCpu(pod, cpu);
    });
  }

  async resize(name: string, cpu: string): Promise<void> {
    await this.editPod(name, (pod) => {
      pod.metadata = { ...pod.metadata, generation: (pod.metadata?.generation ?? 0) + 1 };
      setCpu(pod, cpu);
    });
    await this.settle(2_000);
  }

  async label(name: string, v: string): Promise<void> {
    await this.editPod(name, (pod) => (pod.metadata = { ...pod.metadata, labels: { v } }));
    await this.settle(2_000);
  }

  /** The conditions of the pod's resize, as `type reason message`. */
  conditions(name: string): string[] {
    const isAbout = ({ type }: PodCondition): boolean => type.startsWith("PodResize");
    return (this.pod(name)?.status?.conditions ?? [])
      .filter(isAbout)
      .map(({ type, reason, message }) => [type, reason, message].filter(Boolean).join(" "));
  }

  resizeEvents(name: string): string[] {
    return this.eventsOn(name).filter((event) => event.includes("Resize"));
  }
}

function setCpu(pod: Pod, cpu: string): void {
  for (const container of pod.spec?.containers ?? []) container.resources = { requests: { cpu }, limits: { cpu } };
}

const deferred = "PodResizePending Deferred Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000";

describe("a resize that does not fit beside the other pods of the node", () => {
  test("is Deferred, seen by its generation, told by one event, and not given to the provider", async () => {
    await using rig = await new Rig().start();
    await rig.create("web", "1");
    await rig.create("db", "2");

    await rig.resize("web", "3");
    await rig.settle(60_000);

    expect(rig.conditions("web")).toEqual([deferred]);
    expect(rig.pod("web")?.status).toMatchObject({
      observedGeneration: 2,
      conditions: expect.arrayContaining([expect.objectContaining({ observedGeneration: 2 })]),
    });
    expect(rig.resizeEvents("web")).toEqual([
      'Warning ResizeDeferred: Pod resize Deferred: {"containers":[{"name":"main","resources":{"requests":{"cpu":"3"},"limits":{"cpu":"3"}}}],"generation":2,"error":"Node didn\'t have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000"}',
    ]);
    expect(rig.told).toEqual([]);
  });

  test("is carried out as soon as another pod makes room by its end", async () => {
    await using rig = await new Rig().start();
    await rig.create("web", "1");
    await rig.create("db", "2");
    await rig.resize("web", "3");

    await rig.deletePod("db", 0);
    await rig.settle(2_000);

    expect(rig.told).toEqual(["3 -"]);
    expect(rig.conditions("web")).toEqual([]);
  });

  test("is carried out once another pod has been given less", async () => {
    await using rig = await new Rig().start();
    await rig.create("web", "1");
    await rig.create("db", "2");
    await rig.resize("web", "3");
    const gate = Promise.withResolvers<void>();
    rig.hold = gate.promise;
    await rig.resize("db", "1");
    expect(rig.told).toEqual(["1 -"]);

    gate.resolve();
    await rig.settle(2_000);

    expect(rig.told).toEqual(["1 -", "3 -"]);
    expect(rig.conditions("web")).toEqual([]);
  });

  test("is carried out when the node gets more", async () => {
    await using rig = await new Rig().start();
    await rig.create("web", "1");
    await rig.create("db", "2");
    await rig.resize("web", "3");

    rig.client.edit(
      resources.nodes,
      "node-1",
      (node) => (node.status = { ...node.status, allocatable: { cpu: "8", memory: "8Gi", pods: "10" } }),
    );
    await rig.settle(2_000);

    expect(rig.told).toEqual(["3 -"]);
  });

  test("is told by one event, however often it is looked at, while its condition says what is used now", async () => {
    await using rig = await new Rig().start();
    await rig.create("web", "1");
    await rig.create("db", "2");
    await rig.create("tiny", "500m");
    await rig.resize("web", "3");

    await rig.deletePod("tiny", 0);
    await rig.settle(2_000);

    expect(rig.conditions("web")).toEqual([deferred]);
    expect(rig.resizeEvents("web")).toEqual([expect.stringContaining("used: 2500")]);
  });

  test("takes no room: another pod is admitted beside what the pod runs with", async () => {
    await using rig = await new Rig().start();
    await rig.create("web", "1");
    await rig.create("db", "2");
    await rig.resize("web", "3");

    await rig.create("late", "1");
    await rig.settle(2_000);

    expect(rig.pod("late")?.status?.phase).toBe("Running");
  });

  test("holds no other change back", async () => {
    await using rig = await new Rig().start();
    await rig.create("web", "1");
    await rig.create("db", "2");
    await rig.resize("web", "3");

    await rig.label("web", "new");

    expect(rig.told).toEqual(["1 new"]);
    expect(rig.conditions("web")).toEqual([deferred]);
  });

  test("is forgotten when it is taken back", async () => {
    await using rig = await new Rig().start();
    await rig.create("web", "1");
    await rig.create("db", "2");
    await rig.resize("web", "3");

    await rig.resize("web", "1");

    expect(rig.conditions("web")).toEqual([]);
    expect(rig.told).toEqual([]);
  });

  test("stays Deferred over a restart of the program, and is carried out when there is room", async () => {
    const before = await new Rig().start();
    await before.create("web", "1");
    await before.create("db", "2");
    await before.resize("web", "3");
    before.abort.abort();
    await before.settle(5_000);
    await using rig = await new Rig({ after: before }).start();
    await rig.settle(10_000);
    expect(rig.told).toEqual([]);
    expect(rig.conditions("web")).toEqual([deferred]);

    await rig.deletePod("db", 0);
    await rig.settle(2_000);

    expect(rig.told).toEqual(["3 -"]);
    expect(rig.conditions("web")).toEqual([]);
  });
});

test("a pod tells what it runs with while a resize is pending, unless the provider does", async () => {
  await using rig = await new Rig().start();
  await rig.create("web", "1");
  await rig.create("db", "2");
  const resourcesOf = (): unknown => {
    const [status] = rig.pod("web")?.status?.containerStatuses ?? [];
    return [status?.resources, status?.allocatedResources];
  };
  expect(resourcesOf()).toEqual([undefined, undefined]);

  await rig.resize("web", "3");
  expect(resourcesOf()).toEqual([{ requests: { cpu: "1" }, limits: { cpu: "1" } }, { cpu: "1" }]);
  await rig.deletePod("db", 0);
  await rig.settle(2_000);

  expect(resourcesOf()).toEqual([undefined, undefined]);
});

describe("where the provider cannot resize pods, a resize", () => {
  const fixed = { capabilities: { restarts: true } };
  const infeasible = "PodResizePending Infeasible provider scripted does not support changes of a running pod's resources";

  test("is Infeasible, and only other changes reach the provider", async () => {
    await using rig = await new Rig(fixed).start();
    await rig.create("web", "1");

    await rig.resize("web", "2");
    expect(rig.told).toEqual([]);
    await rig.label("web", "new");

    expect(rig.conditions("web")).toEqual([infeasible]);
    expect(rig.told).toEqual(["1 new"]);
  });

  test("stays so over a restart of the program, and holds no other change back", async () => {
    const before = await new Rig(fixed).start();
    await before.create("web", "1");
    await before.resize("web", "2");
    before.abort.abort();
    await before.settle(5_000);
    await using rig = await new Rig({ after: before, ...fixed }).start();

    await rig.label("web", "new");

    expect(rig.conditions("web")).toEqual([infeasible]);
    expect(rig.told).toEqual(["1 new"]);
  });
});

test("a resize beyond what the node has is Infeasible, in a kubelet's words, until the node has more", async () => {
  await using rig = await new Rig().start();
  await rig.create("web", "1");

  await rig.resize("web", "5");
  expect(rig.conditions("web")).toEqual([
    "PodResizePending Infeasible Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000",
  ]);
  expect(rig.resizeEvents("web")).toEqual([expect.stringContaining("Warning ResizeInfeasible: Pod resize Infeasible: ")]);
  rig.client.edit(resources.nodes, "node-1", (node) => (node.status = { ...node.status, allocatable: { cpu: "8", pods: "10" } }));
  await rig.settle(2_000);

  expect(rig.told).toEqual(["5 -"]);
  expect(rig.conditions("web")).toEqual([]);
});

describe("a resize that fits", () => {
  test("is in progress until the provider has taken it", async () => {
    await using rig = await new Rig().start();
    await rig.create("web", "1");
    const gate = Promise.withResolvers<void>();
    rig.hold = gate.promise;

    await rig.resize("web", "3");
    expect(rig.conditions("web")).toEqual(["PodResizeInProgress"]);
    gate.resolve();
    await rig.settle(2_000);

    expect(rig.conditions("web")).toEqual([]);
  });

  test("has its room from the moment it is begun", async () => {
    await using rig = await new Rig().start();
    await rig.create("web", "1");
    rig.hold = new Promise(() => {});

    await rig.resize("web", "3");
    await rig.create("late", "2");

    expect(rig.pod("late")?.status?.reason).toBe("OutOfcpu");
  });

  test("says what fails, and is tried again", async () => {
    await using rig = await new Rig().start();
    await rig.create("web", "1");
    rig.failure = new UnavailableError("the back end is away");

    await rig.resize("web", "3");
    expect(rig.conditions("web")).toEqual(["PodResizeInProgress Error the back end is away"]);
    rig.failure = undefined;
    await rig.settle(120_000);

    expect(rig.conditions("web")).toEqual([]);
    expect(new Set(rig.told)).toEqual(new Set(["3 -"]));
  });

  test("is Infeasible where the provider refuses it, and is tried again with the next change", async () => {
    await using rig = await new Rig().start();
    await rig.create("web", "1");
    rig.failure = new InvalidInputError("a machine has 2 cores");

    await rig.resize("web", "3");
    await rig.settle(120_000);
    expect(rig.conditions("web")).toEqual(["PodResizePending Infeasible a machine has 2 cores"]);
    expect(rig.told).toEqual(["3 -"]);
    rig.failure = undefined;
    await rig.resize("web", "2");

    expect(rig.told).toEqual(["3 -", "2 -"]);
    expect(rig.conditions("web")).toEqual([]);
  });
});

describe("resources", () => {
  const pod = (resources: object | undefined, spec: object = {}): Pod => ({
    metadata: { generation: 3 },
    spec: { containers: [{ name: "main", image: "x", ...(resources && { resources }) }], ...spec },
  });
  const small = { requests: { cpu: "1" } };
  const big = { requests: { cpu: "2" } };

  test.each([
    ["of a container", pod(small), pod(big), true],
    [
      "of an init container",
      pod(small, { initContainers: [{ name: "init" }] }),
      pod(small, { initContainers: [{ name: "init", resources: big }] }),
      true,
    ],
    ["of the whole pod", pod(small), pod(small, { resources: big }), true],
    ["that are empty and absent", pod({}), pod(undefined), false],
    ["beside another image", pod(small), pod(small, { containers: [{ name: "main", image: "y", resources: small }] }), false],
    ["of a pod whose spec is not known", {}, pod(small), false],
  ])("%s are compared", (_of, before, after, differs) => {
    expect(isResized(before, after)).toBe(differs);
  });

  test("of before take the place of new ones, and all else stays", () => {
    const before = pod(small, { initContainers: [{ name: "init", resources: small }], resources: small });
    const init = { name: "init", image: "new", resources: big };
    const after = pod(big, {
      initContainers: [init],
      resources: big,
      containers: [
        { name: "main", image: "new", resources: big },
        { name: "added", resources: big },
      ],
    });

    expect(withResourcesOf(after, before).spec).toEqual({
      initContainers: [{ ...init, resources: small }],
      containers: [
        { name: "main", image: "new", resources: small },
        { name: "added", resources: big },
      ],
      resources: small,
    });
    expect(withResourcesOf(pod(big, { resources: big }), pod(undefined)).spec).toEqual({ containers: [{ name: "main", image: "x" }] });
    expect(withResourcesOf(after, undefined)).toBe(after);
  });

  test("that a pod runs with are read back from its status: of containers, init containers and the whole pod", () => {
    const resources = { requests: { cpu: "1" } };
    const runs = (name: string, own?: object) => ({
      name,
      image: "",
      imageID: "",
      ready: true,
      restartCount: 0,
      ...(own && { resources: own }),
    });
    const asked = pod(big, { initContainers: [{ name: "init", resources: big }], resources: big });
    const status = { resources, containerStatuses: [runs("main", resources)], initContainerStatuses: [runs("init", resources)] };

    expect(asItRuns({ ...asked, status })?.spec).toEqual({
      initContainers: [{ name: "init", resources }],
      containers: [{ name: "main", image: "x", resources }],
      resources,
    });
    expect(asItRuns({ ...asked, status: { containerStatuses: [runs("main", resources)] } })?.spec).toEqual({
      initContainers: [{ name: "init" }],
      containers: [{ name: "main", image: "x", resources }],
    });
    expect(asItRuns({ ...asked, status: { containerStatuses: [runs("main")] } })).toBeUndefined();
    expect(asItRuns({ status })).toBeUndefined();
  });

  test("that the provider tells of stay as it tells them", () => {
    const status = { containerStatuses: [{ name: "main", image: "", imageID: "", ready: true, restartCount: 0, resources: big }] };

    expect(withRunningResources(status, pod(small)).containerStatuses).toEqual(status.containerStatuses);
  });

  test("of init containers stand in the event's message, too", () => {
    expect(resizeEventMessage(pod(undefined, { initContainers: [{ name: "init", resources: small }] }), "Deferred", "no room")).toBe(
      'Pod resize Deferred: {"initContainers":[{"name":"init","resources":{"requests":{"cpu":"1"}}}],"containers":[{"name":"main","resources":{}}],"generation":3,"error":"no room"}',
    );
  });

  test.each([
    [[{ type: "PodResizePending", status: "True" }], true],
    [[{ type: "PodResizePending", status: "False" }], false],
    [[{ type: "PodResizeInProgress", status: "True" }], false],
    [undefined, false],
  ])("a status with the conditions %j shows a pending resize: %s", (conditions, shows) => {
    expect(showsPendingResize({ status: { ...(conditions && { conditions }) } })).toBe(shows);
  });
});
