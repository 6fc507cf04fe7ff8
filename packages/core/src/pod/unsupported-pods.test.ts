import { UnsupportedError } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import type { PodOptions } from "../virtual-node/options.ts";
import type { PodPolicy } from "../policy/pod-policy.ts";
import { NodeRig } from "../test-support/node-rig.ts";
import type { PodAction } from "../test-support/scripted-provider.ts";

const two = { containers: ["one", "two"].map((name) => ({ name, image: "busybox" })) };
const message = "provider scripted does not support spec.containers[1]: more than one container in a pod";

describe("a pod that needs more than the provider can do", () => {
  const capabilities = { restarts: true };

  test("waits, told by its containers and one event", async () => {
    await using rig = await new NodeRig({ capabilities }).start();

    await rig.createPod("web", two);
    await rig.settle(600_000);

    expect(rig.pod("web")?.status?.phase).toBe("Pending");
    expect(rig.containerState("web")).toBe(`ProviderUnsupported ${message}`);
    expect(rig.eventsOn("web")).toEqual([`Warning ProviderUnsupported: ${message}`]);
    expect(rig.provider.given).toEqual([]);
  });

  test("is Failed where the node is to fail such pods", async () => {
    await using rig = await new NodeRig({ capabilities, pods: { onUnsupported: "fail" } }).start();

    await rig.createPod("web", two);
    await rig.settle(2_000);

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "ProviderUnsupported", message });
    expect(rig.eventsOn("web")).toEqual([`Warning ProviderUnsupported: ${message}`]);
    expect(rig.provider.given).toEqual([]);
  });

  test("is Failed there, too, when the provider says so itself, and is not asked for again", async () => {
    const rig = new NodeRig({ capabilities, pods: { onUnsupported: "fail" } });
    rig.provider.onCreate = () => {
      throw new UnsupportedError("spec.hostNetwork: no host network here", { fieldPath: "spec.hostNetwork" });
    };
    await using _node = await rig.start();

    await rig.createPod("web");
    await rig.settle(600_000);

    expect(rig.pod("web")?.status).toMatchObject({
      phase: "Failed",
      reason: "ProviderUnsupported",
      message: "spec.hostNetwork: no host network here",
    });
    expect(rig.provider.given).toHaveLength(1);
  });
});

describe("a pod of which fields are to be ignored", () => {
  const probe = { httpGet: { port: 80 } };
  const probed = { containers: [{ name: "app", image: "busybox", livenessProbe: probe, readinessProbe: probe }] };
  const ignore = ["spec.containers[*].livenessProbe", "spec.containers[*].readinessProbe"];
  const left = "spec.containers[0].livenessProbe, spec.containers[0].readinessProbe";
  const told = (paths: string): string =>
    `Warning UnsupportedIgnored: provider scripted does not support these fields, which are left out: ${paths}`;

  test("runs without them, which one event names, and the provider sees them nowhere", async () => {
    await using rig = await new NodeRig({ pods: { onUnsupported: { ignore } } }).start();

    const ref = await rig.createPod("web", probed);
    const updated: unknown[] = [];
    rig.provider.onUpdate = (pod) => void updated.push(pod.spec?.containers);
    await rig.editPod("web", (pod) => (pod.metadata = { ...pod.metadata, labels: { v: "2" } }));
    await rig.settle(600_000);

    const bare = [{ name: "app", image: "busybox" }];
    expect(rig.provider.given.map(({ spec }) => spec?.containers)).toEqual([bare]);
    expect(updated).toEqual([bare]);
    expect(rig.host?.findPod(ref)?.spec?.containers).toEqual(bare);
    expect(rig.pod("web")?.spec?.containers).toEqual(probed.containers);
    expect(rig.eventsOn("web").filter((event) => event.includes("Unsupported"))).toEqual([told(left)]);
    // The same event again would count up the first.
    expect(rig.client.callsOf("patch", "events")).toEqual([]);
  });

  test("runs without the host's network and the host ports that come with it", async () => {
    const fields = ["spec.hostNetwork", "spec.containers[*].ports[*].hostPort"];
    await using rig = await new NodeRig({ pods: { onUnsupported: { ignore: fields } } }).start();
    const ports = [{ containerPort: 9100, hostPort: 9100 }];

    await rig.createPod("web", { hostNetwork: true, containers: [{ name: "app", image: "busybox", ports }] });

    const bare = [{ name: "app", image: "busybox", ports: [{ containerPort: 9100 }] }];
    expect(rig.provider.given.map(({ spec }) => [spec?.hostNetwork, spec?.containers])).toEqual([[undefined, bare]]);
    expect(rig.eventsOn("web")).toContain(told("spec.hostNetwork, spec.containers[0].ports[0].hostPort"));
  });

  test("is told what it was given before, without them, when it changes", async () => {
    const changes: unknown[] = [];
    await using rig = await new NodeRig({
      capabilities: { restarts: true },
      pods: { onUnsupported: { ignore } },
      provider: { updatePod: async (_pod, _resolved, _signal, { previous }) => void changes.push(previous?.spec?.containers) },
    }).start();
    await rig.createPod("web", probed);

    await rig.editPod("web", (pod) => (pod.metadata = { ...pod.metadata, labels: { v: "2" } }));
    await rig.settle(2_000);

    expect(changes).toEqual([[{ name: "app", image: "busybox" }]]);
  });

  test("waits where it needs more than that, and nothing is said of them", async () => {
    await using rig = await new NodeRig({ pods: { onUnsupported: { ignore: ignore.slice(1) } } }).start();

    await rig.createPod("web", probed);
    await rig.settle(600_000);

    expect(rig.provider.given).toEqual([]);
    expect(rig.eventsOn("web")).toEqual([
      "Warning ProviderUnsupported: provider scripted does not support spec.containers[0].livenessProbe: probes",
    ]);
  });

  test("is Failed where it needs more than that and the default says so", async () => {
    await using rig = await new NodeRig({ pods: { onUnsupported: { default: "fail", ignore: ignore.slice(1) } } }).start();

    await rig.createPod("web", probed);
    await rig.settle(2_000);

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "ProviderUnsupported" });
  });

  test("keeps what the provider supports", async () => {
    const capabilities = { restarts: true, probes: true };
    await using rig = await new NodeRig({ capabilities, pods: { onUnsupported: { ignore } } }).start();

    await rig.createPod("web", probed);

    expect(rig.provider.given.map(({ spec }) => spec?.containers)).toEqual([probed.containers]);
    expect(rig.eventsOn("web")).toEqual(["Normal ProviderCreateSuccess: Create pod in provider successfully"]);
  });

  test("is given again without a field that the provider itself calls unsupported", async () => {
    const rig = new NodeRig({ capabilities: { restarts: true, probes: true }, pods: { onUnsupported: { ignore } } });
    const refuseProbe: PodAction = ({ spec }) => {
      if (!spec?.containers[0]?.livenessProbe) return;
      throw new UnsupportedError("no HTTP probes", { fieldPath: "spec.containers[0].livenessProbe.httpGet" });
    };
    rig.provider.onCreate = refuseProbe;
    rig.provider.onUpdate = refuseProbe;
    await using _node = await rig.start();

    await rig.createPod("web", probed);
    await rig.editPod("web", (pod) => (pod.metadata = { ...pod.metadata, labels: { v: "2" } }));
    await rig.settle(2_000);

    expect(rig.provider.given.at(-1)?.spec?.containers).toEqual([{ name: "app", image: "busybox", readinessProbe: probe }]);
    expect(rig.eventsOn("web")).toEqual([
      told("spec.containers[0].livenessProbe"),
      "Normal ProviderCreateSuccess: Create pod in provider successfully",
      "Normal ProviderUpdateSuccess: Update pod in provider successfully",
    ]);
  });

  test("is told of by another event when an update adds such a field", async () => {
    const capabilities = { restarts: true, ephemeralContainers: true };
    const field = "spec.ephemeralContainers[*].securityContext.privileged";
    await using rig = await new NodeRig({ capabilities, pods: { onUnsupported: { ignore: [field] } } }).start();
    await rig.createPod("web");
    const debug = { name: "debug", image: "busybox", securityContext: { privileged: true } };

    await rig.editPod("web", (pod) => (pod.spec = { containers: [], ...pod.spec, ephemeralContainers: [debug] }));
    await rig.settle(2_000);

    expect(rig.eventsOn("web")).toEqual([
      "Normal ProviderCreateSuccess: Create pod in provider successfully",
      told("spec.ephemeralContainers[0].securityContext.privileged"),
      "Normal ProviderUpdateSuccess: Update pod in provider successfully",
    ]);
  });

  test("is none where the field is unknown: the node does not start", () => {
    const start = (): NodeRig => new NodeRig({ pods: { onUnsupported: { ignore: ["spec.containers[*].livenesProbe"] } } });

    expect(start).toThrow('onUnsupported.ignore: "spec.containers[*].livenesProbe": expected a field that a pod may be run without');
  });
});

describe("a pod that asks for more than the provider's policy allows", () => {
  const capabilities = { restarts: true, hostNetwork: true, sharedNamespaces: true, ephemeralContainers: true, privileged: true };
  const rigWith = (policy: PodPolicy, pods: PodOptions = {}): NodeRig =>
    new NodeRig({ capabilities, definition: { policy: () => policy }, pods });
  const nosy = { containers: [{ name: "app", image: "busybox" }], hostNetwork: true, hostPID: true };

  test("waits, and never reaches the provider", async () => {
    await using rig = await rigWith({ hostPID: true }).start();

    await rig.createPod("web", nosy);
    await rig.settle(600_000);

    expect(rig.provider.given).toEqual([]);
    expect(rig.pod("web")?.status?.phase).toBe("Pending");
    expect(rig.eventsOn("web")).toEqual([
      "Warning ProviderUnsupported: not allowed on this node: spec.hostNetwork (the node's network; policy.hostNetwork allows it); the policy is in the provider's configuration",
    ]);
  });

  test("is told so, and not what the provider cannot do besides", async () => {
    await using rig = await rigWith({}).start();

    await rig.createPod("web", { ...nosy, containers: [{ name: "app", image: "busybox", livenessProbe: { tcpSocket: { port: 80 } } }] });

    expect(rig.eventsOn("web")).toEqual([
      expect.stringMatching(/^Warning ProviderUnsupported: not allowed on this node: spec\.hostNetwork .*, spec\.hostPID/),
    ]);
  });

  test("is Failed where the node fails what it cannot run", async () => {
    await using rig = await rigWith({}, { onUnsupported: "fail" }).start();

    await rig.createPod("web", nosy);
    await rig.settle(2_000);

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "ProviderUnsupported" });
    expect(rig.provider.given).toEqual([]);
  });

  test("is Failed for a sysctl, as on a kubelet", async () => {
    await using rig = await rigWith({}).start();

    await rig.createPod("web", {
      ...nosy,
      hostNetwork: false,
      hostPID: false,
      securityContext: { sysctls: [{ name: "kernel.msgmax", value: "1" }] },
    });
    await rig.settle(2_000);

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "SysctlForbidden" });
    expect(rig.provider.given).toEqual([]);
  });

  test("runs without what is to be left out", async () => {
    await using rig = await rigWith({}, { onUnsupported: { ignore: ["spec.hostNetwork", "spec.hostPID"] } }).start();

    await rig.createPod("web", nosy);

    expect(rig.provider.given.map(({ spec }) => [spec?.hostNetwork, spec?.hostPID])).toEqual([[undefined, undefined]]);
  });

  test("runs where the policy allows it", async () => {
    await using rig = await rigWith({ hostNetwork: true, hostPID: true }).start();

    await rig.createPod("web", nosy);

    expect(rig.provider.given).toHaveLength(1);
  });

  describe("after its start", () => {
    const debug = (name: string, isPrivileged: boolean) => ({ name, image: "busybox", securityContext: { privileged: isPrivileged } });
    const notAllowed = (path: string, what: string): string =>
      `Warning ProviderUpdateFailed: not allowed on this node: ${path} (${what} allows it); the policy is in the provider's configuration`;
    const privileged = "all of the node; policy.privileged";

    /** The pods that the provider gets by updates, and what it is told of the pod before. */
    function follow(rig: NodeRig): { readonly spec: unknown; readonly previous: unknown; readonly annotations: unknown }[] {
      const updates: { spec: unknown; previous: unknown; annotations: unknown }[] = [];
      rig.provider.onUpdate = (pod, _resolved, _signal, { previous }) =>
        void updates.push({
          spec: pod.spec?.ephemeralContainers?.map(({ name }) => name),
          previous: previous?.spec?.ephemeralContainers?.map(({ name }) => name),
          annotations: pod.metadata?.annotations,
        });
      return updates;
    }

    test("is told so once, and no provider gets the container; later changes are passed", async () => {
      await using rig = await rigWith({}).start();
      const ref = await rig.createPod("web");
      const updates = follow(rig);

      await rig.editPod("web", (pod) => (pod.spec = { containers: [], ...pod.spec, ephemeralContainers: [debug("root", true)] }));
      await rig.settle(2_000);
      expect(rig.eventsOn("web").at(-1)).toBe(notAllowed("spec.ephemeralContainers[0].securityContext.privileged", privileged));
      await rig.editPod("web", (pod) => pod.spec?.ephemeralContainers?.push(debug("plain", false)));
      await rig.settle(2_000);

      expect(updates).toMatchObject([
        { spec: [], previous: undefined },
        { spec: ["plain"], previous: [] },
      ]);
      expect(rig.host?.findPod(ref)?.spec?.ephemeralContainers).toMatchObject([{ name: "plain" }]);
      expect(rig.eventsOn("web").at(-1)).toBe("Normal ProviderUpdateSuccess: Update pod in provider successfully");
      expect(rig.eventsOn("web").filter((event) => event.includes("not allowed"))).toHaveLength(1);
    });

    test("is created again without the container if the back end loses it", async () => {
      await using rig = await rigWith({}).start();
      const ref = await rig.createPod("web", { containers: [{ name: "app", image: "busybox" }], restartPolicy: "Always" });
      await rig.editPod("web", (pod) => (pod.spec = { containers: [], ...pod.spec, ephemeralContainers: [debug("root", true)] }));
      await rig.settle(2_000);

      rig.provider.lose(ref);
      await rig.settle(60_000);

      expect(rig.provider.given.map(({ spec }) => spec?.ephemeralContainers)).toEqual([undefined, []]);
    });

    test("does not get an annotation to the provider that the policy refuses, and others do", async () => {
      const key = "example.com/driver";
      const definition = { policy: () => ({ annotations: { [key]: ["safe"] } }), policyAnnotations: [{ name: key }] };
      await using rig = await new NodeRig({ capabilities, definition }).start();
      const ref = await rig.createPod("web");
      const updates = follow(rig);

      await rig.editPod("web", (pod) => (pod.metadata = { ...pod.metadata, annotations: { [key]: "raw", team: "a" } }));
      await rig.settle(2_000);
      await rig.editPod("web", (pod) => (pod.metadata = { ...pod.metadata, annotations: { [key]: "safe", team: "a" } }));
      await rig.settle(2_000);

      expect(updates.map(({ annotations }) => annotations)).toEqual([{ team: "a" }, { [key]: "safe", team: "a" }]);
      expect(rig.eventsOn("web")).toContain(notAllowed(`metadata.annotations['${key}']`, '"raw"; policy.annotations'));
      expect(rig.host?.findPod(ref)?.metadata?.annotations).toEqual({ [key]: "safe", team: "a" });
    });
  });
});

describe("a change of a pod that runs", () => {
  test.each([
    [
      { restarts: true },
      [
        'Warning ResizeInfeasible: Pod resize Infeasible: {"containers":[{"name":"main","resources":{"limits":{"cpu":"2"}}}],"generation":0,"error":"provider scripted does not support changes of a running pod\'s resources"}',
      ],
    ],
    [{ restarts: true, resize: true }, ["Normal ProviderUpdateSuccess: Update pod in provider successfully"]],
  ])("of its resources is told to have failed, unless the provider can do it: %o", async (capabilities, told) => {
    await using rig = await new NodeRig({ capabilities }).start();
    await rig.createPod("web");
    const before = rig.eventsOn("web");

    await rig.editPod("web", (pod) => {
      for (const container of pod.spec?.containers ?? []) container.resources = { limits: { cpu: "2" } };
    });
    await rig.settle(600_000);

    expect(rig.eventsOn("web").filter((event) => !before.includes(event))).toEqual(told);
    expect(rig.containerState("web")).toBe("running");
  });
});
