import {
  DeadlineExceededError,
  InvalidInputError,
  NotFoundError,
  QuotaExceededError,
  TerminalError,
  UnavailableError,
  UnsupportedError,
} from "@virtual-kubelet/errdefs";
import {
  resources,
  type CallOptions,
  type Container,
  type KubernetesObject,
  type ObjectName,
  type Patch,
  type Pod,
  type Resource,
  type Tracer,
} from "@virtual-kubelet/kube-client";
import type { Clock } from "@virtual-kubelet/clock";
import { describe, expect, test } from "vitest";
import { missingConfig, unreadableConfig } from "../env/config-error.ts";
import type { PodRef } from "../provider/pod-ref.ts";
import type { ProviderPodStatus } from "../provider/pod-lifecycle.ts";
import { FakeKubeClient } from "../test-support/fake-kube-client.ts";
import { NodeRig } from "../test-support/node-rig.ts";
import { ended, running } from "../test-support/scripted-provider.ts";

const away = (): never => {
  throw new UnavailableError("connection refused");
};

function patchesOf(rig: NodeRig): number {
  return rig.client.callsOf("patch", "pods", "status").length;
}

/** Makes the API server store no status of a pod. */
function refusePatches(rig: NodeRig): Disposable {
  return rig.client.intercept(({ verb, resource }) => {
    if (verb === "patch" && resource === "pods") away();
  });
}

/** Makes the provider throw this once, and then no more. */
function failOnce(rig: NodeRig, method: "createPod" | "updatePod" | "deletePod" | "getPod", error: Error): void {
  rig.provider.script(method, () => {
    rig.provider.unscript(method);
    throw error;
  });
}

function label(value: string): (pod: Pod) => void {
  return (pod) => void (pod.metadata = { ...pod.metadata, labels: { value } });
}

/** An API server that takes writes of `status.hostIPs` and forgets them, as one from before that field does. */
class ForgetfulClient extends FakeKubeClient {
  override patch<T extends KubernetesObject>(resource: Resource<T>, name: ObjectName, patch: Patch, options: CallOptions): Promise<T> {
    const body = structuredClone(patch.body) as { status?: Record<string, unknown> };
    delete body.status?.["hostIPs"];
    return super.patch(resource, name, { ...patch, body }, options);
  }
}

/** An API server that does not know pod-level resources in the status. */
class OlderClient extends FakeKubeClient {
  override patch<T extends KubernetesObject>(resource: Resource<T>, name: ObjectName, patch: Patch, options: CallOptions): Promise<T> {
    const body = structuredClone(patch.body) as { status?: Record<string, unknown> };
    delete body.status?.["resources"];
    return super.patch(resource, name, { ...patch, body }, options);
  }
}

/** An API server behind something that answers status patches with the metadata of another object, or with less than it should. */
class MixedUpClient extends FakeKubeClient {
  uid: string | undefined;

  override async patch<T extends KubernetesObject>(
    resource: Resource<T>,
    name: ObjectName,
    patch: Patch,
    options: CallOptions,
  ): Promise<T> {
    const answer = await super.patch(resource, name, patch, options);
    const metadata = { ...answer.metadata, uid: this.uid, resourceVersion: "99999" };
    return options.subresource === "status" ? { ...answer, metadata } : answer;
  }
}

describe("a creation", () => {
  test("that takes longer than a second shows the pod as being made, and no sooner", async () => {
    await using rig = await new NodeRig().start();
    const gate = Promise.withResolvers<void>();
    rig.provider.script("createPod", () => gate.promise);
    await rig.createPod("web");
    await rig.settle(1_000);
    expect([rig.waitingReason("web"), patchesOf(rig)]).toEqual([undefined, 0]);

    await rig.settle(1);
    expect([rig.waitingReason("web"), rig.pod("web")?.status?.phase]).toEqual(["ContainerCreating", "Pending"]);
    gate.resolve();
    await rig.settle();

    expect(rig.pod("web")?.status?.phase).toBe("Running");
    expect(patchesOf(rig)).toBe(2);
  });

  test("that waited for its turn shows the pod as being made all the same, a second after it was due", async () => {
    await using rig = await new NodeRig({ pods: { workers: 1 } }).start();
    const gate = Promise.withResolvers<void>();
    rig.provider.script("createPod", (ref) => (ref?.name === "first" ? gate.promise : new Promise(() => {})));
    await rig.createPod("first");
    await rig.createPod("web");
    await rig.settle(500);
    gate.resolve();
    await rig.settle(501);

    expect(rig.waitingReason("web")).toBe("ContainerCreating");
  });

  test("that fails although the pod was seen to run meanwhile does not show it as waiting", async () => {
    await using rig = await new NodeRig().start();
    const gate = Promise.withResolvers<void>();
    rig.provider.script("createPod", () => gate.promise);
    const ref = await rig.createPod("web");
    rig.provider.report(ref, running(["main"]));
    await rig.settle();
    gate.reject(new UnavailableError("connection reset"));
    await rig.settle();

    expect([rig.pod("web")?.status?.phase, rig.waitingReason("web")]).toEqual(["Running", undefined]);
  });

  test.each([
    ["is missing", missingConfig('secret "credentials" not found')],
    ["cannot be read", unreadableConfig('failed to read secret "credentials"', new UnavailableError("too many requests"))],
  ])("for which a secret %s leaves the pod alone that an earlier one has made", async (_what, error) => {
    await using rig = await new NodeRig().start();
    const gate = Promise.withResolvers<void>();
    rig.provider.script("createPod", () => gate.promise);
    const ref = await rig.createPod("web", { restartPolicy: "Never" });
    const status = running(["main"]);
    rig.provider.held.set(ref.uid, { ref, owner: rig.owner, status });
    rig.provider.report(ref, status);
    await rig.settle();
    gate.reject(error);
    await rig.settle();

    expect([rig.pod("web")?.status?.phase, rig.waitingReason("web")]).toEqual(["Running", undefined]);
    await rig.settle(120_000);
    expect([rig.pod("web")?.status?.phase, rig.callsOf("createPod web"), rig.callsOf("deletePod web")]).toEqual(["Running", 1, 0]);
  });

  test("is told by one event, and is counted and measured", async () => {
    await using rig = await new NodeRig().start();
    rig.provider.script("createPod", () => rig.clock.sleep(3_000));
    await rig.createPod("web");
    await rig.settle(3_500);

    expect(rig.eventsOn("web")).toEqual(["Normal ProviderCreateSuccess: Create pod in provider successfully"]);
    expect(rig.counted).toContain("kubelet_started_pods_total");
    expect(rig.counted).not.toContain("kubelet_started_pods_errors_total");
    expect(rig.measured.get("kubelet_pod_worker_duration_seconds create")).toBe(3);
    expect(rig.measured.get("kubelet_pod_start_duration_seconds")).toBe(3);
    expect(rig.measured.get("kubelet_pod_start_total_duration_seconds")).toBe(3);
  });

  test("of a pod that waited in the cluster before counts from when that was made, whatever the server's clock says", async () => {
    await using rig = await new NodeRig().start();
    const createdAt = (ms: number) => (pod: Pod) =>
      void (pod.metadata = { ...pod.metadata, creationTimestamp: new Date(rig.clock.now() + ms).toISOString() });

    await rig.createPod("old", createdAt(-60_000));
    expect(rig.measured.get("kubelet_pod_start_total_duration_seconds")).toBe(60);
    await rig.createPod("new", createdAt(60_000));
    expect(rig.measured.get("kubelet_pod_start_total_duration_seconds")).toBe(0);
  });

  test.each([
    ["ProviderFailed", new UnavailableError("the back end is on fire")],
    ["ProviderFailed", new InvalidInputError("annotation x: expected a number")],
    ["ProviderFailed", new QuotaExceededError("no more pods today")],
    ["ProviderFailed", new Error("a plain one")],
    ["ProviderTimeout", new DeadlineExceededError("no answer")],
  ])("that fails leaves the pod waiting, %s, with an event, and is tried again: %s", async (reason, error) => {
    await using rig = await new NodeRig().start();
    failOnce(rig, "createPod", error);
    await rig.createPod("web");
    expect(rig.pod("web")?.status?.containerStatuses?.[0]?.state?.waiting).toEqual({ reason, message: error.message });

    await rig.settle(10_000);

    expect(rig.callsOf("createPod web")).toBe(2);
    expect(rig.pod("web")?.status?.phase).toBe("Running");
    expect(rig.eventsOn("web")).toEqual([
      `Warning ProviderCreateFailed: ${error.message}`,
      "Normal ProviderCreateSuccess: Create pod in provider successfully",
    ]);
    expect(rig.counted).toContain("kubelet_started_pods_errors_total");
  });

  test("that is refused for good is a rejection, with one event, and is not tried again", async () => {
    await using rig = await new NodeRig().start();
    rig.provider.script("createPod", () => {
      throw new TerminalError("it can never run", { reason: "NodePorts" });
    });
    await rig.createPod("web");
    await rig.settle(3_600_000);

    expect(rig.callsOf("createPod web")).toBe(1);
    expect(rig.eventsOn("web")).toEqual(["Warning NodePorts: it can never run"]);
    expect(rig.counted.filter((line) => line.startsWith("kubelet_admission_rejections_total"))).toHaveLength(1);
  });

  test("under way when the pod is deleted is no failed start", async () => {
    await using rig = await new NodeRig().start();
    rig.provider.script(
      "createPod",
      (_ref, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("it broke")))),
    );
    await rig.createPod("web");
    await rig.deletePod("web", 30);
    await rig.settle(5_000);

    expect(rig.pod("web")).toBeUndefined();
    expect(rig.eventsOn("web").filter((event) => event.includes("ProviderCreateFailed"))).toEqual([]);
    expect(rig.counted).not.toContain("kubelet_started_pods_errors_total");
  });

  test("is not asked for while the pod has ended already", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web", (pod) => void (pod.status = { phase: "Succeeded" }));
    await rig.settle(60_000);

    expect(rig.callsOf("createPod web")).toBe(0);
  });
});

describe("the volume of the service account", () => {
  const withToken = (pod: Pod): void => {
    pod.spec = {
      ...pod.spec,
      volumes: [{ name: "kube-api-access-abcde", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }],
      containers: [
        {
          name: "main",
          volumeMounts: [{ name: "kube-api-access-abcde", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true }],
        },
      ],
    };
  };

  test.each([
    [[], 0],
    [["projected"], 1],
  ])("is given to a provider that has volumes %j: %i", async (volumes, count) => {
    const given: (number | undefined)[] = [];
    const capabilities = { restarts: true, volumes };
    await using rig = await new NodeRig({
      capabilities,
      provider: {
        createPod: async (pod) => void given.push(pod.spec?.volumes?.length, pod.spec?.containers[0]?.volumeMounts?.length),
        updatePod: async (pod) => void given.push(pod.spec?.volumes?.length),
      },
    }).start();

    await rig.createPod("web", withToken);
    await rig.editPod("web", label("1"));

    expect(given.map((number) => number ?? 0)).toEqual([count, count, count]);
  });

  test("is unsupported where tokens are required", async () => {
    await using rig = await new NodeRig({ pods: { automountToken: "require" } }).start();
    await rig.createPod("web", withToken);

    expect(rig.waitingReason("web")).toBe("ProviderUnsupported");
  });
});

describe("a change of the pod", () => {
  test("is told to the provider, and its success to the user", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web");
    await rig.editPod("web", label("1"));

    expect(rig.callsOf("updatePod web")).toBe(1);
    expect(rig.eventsOn("web").at(-1)).toBe("Normal ProviderUpdateSuccess: Update pod in provider successfully");
  });

  test("of its status alone is not", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web");
    await rig.editPod("web", (pod) => void (pod.status = { ...pod.status, nominatedNodeName: "other" }));

    expect(rig.callsOf("updatePod web")).toBe(0);
  });

  test.each([new UnsupportedError("not this"), new InvalidInputError("not so"), new TerminalError("never")])(
    "that the provider refuses is told once, and tried again with the next change only: %s",
    async (error) => {
      await using rig = await new NodeRig().start();
      await rig.createPod("web");
      rig.provider.script("updatePod", () => {
        throw error;
      });
      await rig.editPod("web", label("1"));
      await rig.settle(3_600_000);
      expect(rig.callsOf("updatePod web")).toBe(1);
      expect(rig.eventsOn("web").at(-1)).toBe(`Warning ProviderUpdateFailed: ${error.message}`);
      expect(rig.pod("web")?.status?.phase).toBe("Running");
      expect(rig.warnings).not.toContain("work failed; trying again");

      rig.provider.unscript("updatePod");
      await rig.editPod("web", label("2"));

      expect(rig.callsOf("updatePod web")).toBe(2);
      expect(rig.eventsOn("web").at(-1)).toBe("Normal ProviderUpdateSuccess: Update pod in provider successfully");
    },
  );

  test("that fails is tried again", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web");
    failOnce(rig, "updatePod", new UnavailableError("not now"));
    await rig.editPod("web", label("1"));
    expect(rig.eventsOn("web").at(-1)).toBe("Warning ProviderUpdateFailed: not now");

    await rig.settle(10_000);

    expect(rig.callsOf("updatePod web")).toBe(2);
    expect(rig.eventsOn("web").at(-1)).toBe("Normal ProviderUpdateSuccess: Update pod in provider successfully");
  });

  test("that comes back after it was given up is told once more: what it did is unclear", async () => {
    await using rig = await new NodeRig().start();
    const gate = Promise.withResolvers<void>();
    await rig.createPod("web");
    rig.provider.script("updatePod", () => gate.promise);
    await rig.editPod("web", label("1"));
    await rig.settle(400_000);
    expect(rig.callsOf("updatePod web")).toBe(1);

    rig.provider.unscript("updatePod");
    gate.resolve();
    await rig.settle(10_000);

    expect(rig.callsOf("updatePod web")).toBe(2);
  });

  test("that fails because the pod is being deleted is not told", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web");
    rig.provider.script(
      "updatePod",
      (_ref, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("it broke")))),
    );
    await rig.editPod("web", label("1"));
    await rig.deletePod("web", 30);
    await rig.settle(5_000);

    expect(rig.pod("web")).toBeUndefined();
    expect(rig.eventsOn("web").filter((event) => event.includes("ProviderUpdateFailed"))).toEqual([]);
  });
});

describe("a deletion", () => {
  test("of a pod that ends when it is gone keeps the pod, and is told, when the provider has released all of it", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    const status = { ...running(["main"]), endsWhenGone: true };
    rig.provider.report(ref, status);
    rig.provider.reports = false;
    await rig.deletePod("web", 30);
    rig.provider.report(ref, { ...ended(status), phase: "Running" });
    await rig.settle(20_000);
    expect([rig.pod("web")?.status?.phase, rig.pod("web")?.status?.containerStatuses?.[0]?.state?.terminated?.exitCode]).toEqual([
      "Running",
      0,
    ]);
    rig.provider.report(ref, ended(status));
    await rig.settle(300_000);
    expect(rig.pod("web")?.status?.phase).toBe("Succeeded");
    expect([rig.eventsOn("web").slice(1), rig.callsOf("deletePod web 30")]).toEqual([[], 1]);

    rig.provider.lose(ref);
    await rig.settle();
    expect(rig.pod("web")).toBeUndefined();
    expect(rig.eventsOn("web").slice(1)).toEqual(["Normal ProviderDeleteSuccess: Delete pod in provider successfully"]);
  });

  test("is told by one event", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web");
    await rig.deletePod("web", 30);

    expect(rig.eventsOn("web").slice(1)).toEqual(["Normal ProviderDeleteSuccess: Delete pod in provider successfully"]);
    expect(rig.counted).toContain("vk_pods_removed_total");
    expect(rig.node.health.knownPods).toBe(0);
  });

  test("of a pod that the provider does not know any more is done", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    rig.provider.lose(ref, { silently: true });
    await rig.deletePod("web", 30);
    await rig.settle(1_000);

    expect(rig.pod("web")).toBeUndefined();
    expect(rig.callsOf("createPod web")).toBe(1);
  });

  test("that fails is told and tried again, and the pod goes on meanwhile", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web");
    failOnce(rig, "deletePod", new UnavailableError("not now"));
    await rig.deletePod("web", 30);
    expect(rig.eventsOn("web").at(-1)).toBe("Warning ProviderDeleteFailed: not now");
    expect(rig.pod("web")?.status?.phase).toBe("Running");

    await rig.settle(10_000);

    expect(rig.pod("web")).toBeUndefined();
  });

  test("whose end nobody reports is asked after two seconds after its grace, and done when the provider has no such pod", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    rig.provider.reports = false;
    await rig.deletePod("web", 30);
    rig.provider.lose(ref, { silently: true });
    await rig.settle(31_900);
    expect([rig.pod("web") === undefined, rig.callsOf("getPod web")]).toEqual([false, 0]);

    await rig.settle(200);

    expect([rig.pod("web") === undefined, rig.callsOf("getPod web")]).toEqual([true, 1]);
  });

  test("of a pod that goes on running is made once more without grace ten seconds after that, and again every ten", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web");
    rig.provider.reports = false;
    await rig.deletePod("web", 30);
    await rig.settle(39_900);
    expect(rig.callsOf("deletePod web 0")).toBe(0);
    await rig.settle(200);
    expect(rig.callsOf("deletePod web 0")).toBe(1);

    await rig.settle(20_100);

    expect(rig.callsOf("deletePod web 0")).toBe(3);
    expect(rig.eventsOn("web").filter((event) => event.includes("still runs 10 s after its grace period"))).not.toEqual([]);
  });

  test("with less grace is passed on only if it is shorter by more than half a second", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web");
    rig.provider.reports = false;
    await rig.deletePod("web", 30);
    await rig.settle(1_000);
    await rig.deletePod("web", 20);

    expect(rig.provider.calls.filter((call) => call.startsWith("deletePod"))).toEqual(["deletePod web 30", "deletePod web 19"]);
  });

  test("leaves a pod of which somebody else has removed the object already", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web");
    using _race = rig.client.intercept(({ verb, resource, body }) => {
      const isOurs = (body as { preconditions?: unknown } | undefined)?.preconditions !== undefined;
      if (verb === "delete" && resource === "pods" && isOurs) rig.client.remove(resources.pods, "web", "default");
    });
    await rig.deletePod("web", 30);
    await rig.settle(60_000);

    expect(rig.pod("web")).toBeUndefined();
    expect(rig.node.health).toMatchObject({ knownPods: 0, pendingPods: 0 });
    expect(rig.warnings).toEqual([]);
  });

  test("names the pod's UID, so that another pod of the name is left alone", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    await rig.deletePod("web", 30);

    const [removal] = rig.client
      .callsOf("delete", "pods")
      .map(({ body }) => body)
      .filter((body) => JSON.stringify(body).includes("uid"));
    expect(removal).toEqual({ gracePeriodSeconds: 0, preconditions: { uid: ref.uid } });
  });
});

describe("a status", () => {
  /** So many reports, each of which is looked at before the next. */
  async function flood(rig: NodeRig, ref: PodRef, count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      rig.provider.report(ref, running(["main"], `10.1.${rig.provider.calls.length}.${index}`));
      await rig.settle();
    }
  }

  test("that changes all the time is written ten times at once, and then once a second", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    const before = patchesOf(rig);
    await flood(rig, ref, 30);
    expect(patchesOf(rig) - before).toBe(10);
    await rig.settle(999);
    expect(patchesOf(rig) - before).toBe(10);
    await rig.settle(1);
    expect(patchesOf(rig) - before).toBe(11);

    await rig.settle(60_000);
    expect(patchesOf(rig) - before).toBe(11);
    await flood(rig, ref, 30);
    expect(patchesOf(rig) - before).toBe(21);
  });

  test("with another phase is written at once, however much was written before", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    await flood(rig, ref, 30);

    rig.provider.report(ref, ended(running(["main"])));
    await rig.settle();

    expect(rig.pod("web")?.status?.phase).toBe("Succeeded");
  });

  test("that the API server takes without effect is not written again, and is counted", async () => {
    await using rig = await new NodeRig({ client: (clock) => new ForgetfulClient(clock) }).start();
    const ref = await rig.createPod("web");
    rig.provider.report(ref, running(["main"]));
    await rig.settle(60_000);

    expect(rig.pod("web")?.status?.hostIPs).toBeUndefined();
    expect(rig.counted).toContain("vk_status_patches_ignored_total");
    expect(patchesOf(rig)).toBe(2);
  });

  test("of which an older API server drops a field is written once more, and then without the field, and is not counted", async () => {
    await using rig = await new NodeRig({ client: (clock) => new OlderClient(clock) }).start();
    const podWithResources = { limits: { cpu: "1" }, requests: { cpu: "1" } };
    for (const name of ["web", "next"]) {
      const ref = await rig.createPod(name);
      rig.provider.report(ref, { ...running(["main"]), resources: podWithResources });
      await rig.settle(60_000);
    }

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Running" });
    expect(rig.pod("web")?.status?.resources).toBeUndefined();
    expect(rig.counted).not.toContain("vk_status_patches_ignored_total");
    expect(rig.node.inspect({ limit: 10 }).pods.map(({ isStatusWritten }) => isStatusWritten)).toEqual([true, true]);
    expect(patchesOf(rig)).toBe(3);
  });

  test("of a pod that is gone or another by now is tried once more a second later, without a word", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    let refusals = 1;
    const times: number[] = [];
    using _refuse = rig.client.intercept(({ verb, subresource }) => {
      if (verb !== "patch" || subresource !== "status") return;
      times.push(rig.clock.monotonic());
      if (refusals-- > 0) throw new NotFoundError('pods "web" not found');
    });
    rig.provider.report(ref, running(["main"], "10.0.0.9"));
    await rig.settle(5_000);

    expect(times.map((time) => time - (times[0] ?? 0))).toEqual([0, 1_000]);
    expect(rig.pod("web")?.status?.podIP).toBe("10.0.0.9");
    expect(rig.warnings).toEqual([]);
  });

  test("that the API server refuses is told to the operator, and is tried again", async () => {
    await using rig = await new NodeRig().start();
    let refusals = 1;
    using _refuse = rig.client.intercept(({ verb, subresource }) => {
      if (verb === "patch" && subresource === "status" && refusals-- > 0) throw new InvalidInputError("status.podIP: Invalid value");
    });
    await rig.createPod("web");
    await rig.settle(10_000);

    expect(rig.warnings.filter((message) => message === "the API server refuses the pod's status")).toHaveLength(1);
    expect(rig.pod("web")?.status?.phase).toBe("Running");
  });

  test("of a deleted pod's end is refused three times before the pod is removed without it", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web");
    const writes: string[] = [];
    using _refuse = rig.client.intercept(({ verb, resource, subresource }) => {
      if (resource === "pods" && (verb === "patch" || verb === "delete")) writes.push(verb);
      if (verb === "patch" && subresource === "status") throw new InvalidInputError("status.podIP: Invalid value");
    });
    await rig.deletePod("web", 30);
    await rig.settle(120_000);

    // The first is the user's own.
    expect(writes).toEqual(["delete", "patch", "patch", "patch", "delete"]);
    expect(rig.pod("web")).toBeUndefined();
  });

  test.each([undefined, "another"])("names the pod's UID, also where the answer to the last one had the UID %s", async (uid) => {
    const clients: MixedUpClient[] = [];
    const client = (clock: Clock): FakeKubeClient => {
      const made = Object.assign(new MixedUpClient(clock), { uid });
      clients.push(made);
      return made;
    };
    await using rig = await new NodeRig({ client }).start();
    const ref = await rig.createPod("web");
    rig.provider.report(ref, running(["main"], "10.0.0.9"));
    await rig.settle(3_000);

    const patches = clients[0]?.callsOf("patch", "pods", "status").map(({ body }) => (body as Patch).body as Pod);
    expect(patches?.map(({ metadata }) => metadata?.uid)).toEqual([ref.uid, ref.uid]);
    expect(rig.pod("web")?.status?.podIP).toBe("10.0.0.9");
  });

  test("of a pod that runs already does not measure its start again", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    rig.measured.delete("kubelet_pod_start_duration_seconds");
    rig.provider.report(ref, running(["main"], "10.0.0.9"));
    await rig.settle(5_000);

    expect(rig.pod("web")?.status?.podIP).toBe("10.0.0.9");
    expect(rig.measured.has("kubelet_pod_start_duration_seconds")).toBe(false);
  });

  test("is a span of its own where the node is traced", async () => {
    const spans: string[] = [];
    const tracer: Tracer = {
      span: (name, _attributes, work) => {
        spans.push(name);
        return work();
      },
    };
    await using rig = await new NodeRig({ tracer }).start();
    await rig.createPod("web");

    expect(spans).toContain("status.patch");
  });

  test("is measured by how long its write takes", async () => {
    await using rig = await new NodeRig().start();
    using _slow = rig.client.intercept(({ verb, subresource }) =>
      verb === "patch" && subresource === "status" ? rig.clock.sleep(250) : undefined,
    );
    await rig.createPod("web");
    await rig.settle(1_000);

    expect(rig.measured.get("kubelet_pod_status_sync_duration_seconds")).toBe(0.25);
  });

  test("that somebody else wrote over is put right, from what the server holds then", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web");
    await rig.editPod("web", (pod) => void (pod.status = { phase: "Pending", nominatedNodeName: "other" }));

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Running", podIP: "10.0.0.1", nominatedNodeName: "other" });
  });
});

test("a deletion is not over while the provider says nothing of one of the containers", async () => {
  await using rig = await new NodeRig().start();
  const ref = await rig.createPod("web", { containers: [{ name: "a" }, { name: "b" }] });
  rig.provider.reports = false;
  await rig.deletePod("web", 30);
  rig.provider.report(ref, { ...ended(running(["a"])), phase: "Running" });
  await rig.settle(1_000);
  expect(rig.pod("web")).toBeDefined();

  rig.provider.report(ref, { ...ended(running(["a", "b"])), phase: "Running" });
  await rig.settle(1_000);
  expect(rig.pod("web")).toBeUndefined();
});

describe("reports of the provider", () => {
  test("that give null for the states a container is not in do not end it", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    rig.provider.reports = false;
    const report = { ...running(["main"]), podIPs: null };
    for (const status of report.containerStatuses ?? []) Object.assign(status.state ?? {}, { terminated: null, waiting: null });
    await rig.deletePod("web", 30);
    rig.provider.report(ref, report as unknown as ProviderPodStatus);
    await rig.settle(29_000);
    expect(rig.pod("web")).toBeDefined();

    rig.provider.report(ref, ended(running(["main"])));
    await rig.settle(1_000);
    expect(rig.pod("web")).toBeUndefined();
  });

  test("on pods that nobody knows are counted and change nothing", async () => {
    await using rig = await new NodeRig().start();
    rig.provider.report({ namespace: "default", name: "stranger", uid: "u" }, running(["main"]));
    await rig.settle();

    expect(rig.counted).toContain("vk_provider_unknown_pod_reports_total");
    expect(rig.node.health.knownPods).toBe(0);
  });

  test("that are malformed are told to the operator and change nothing", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    const malformed = { phase: "running" } as ProviderPodStatus;
    rig.provider.report(ref, malformed);
    await rig.settle();

    expect(rig.warnings).toEqual(["provider reported a malformed status"]);
    expect(rig.pod("web")?.status?.phase).toBe("Running");
  });

  test.each([
    ["name", { name: "other" }],
    ["namespace", { namespace: "kube-system" }],
  ])("with a pod's UID and another pod's %s are refused, because nobody knows which is meant", async (_field, change) => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    rig.provider.report({ ...ref, ...change }, { phase: "Failed" });
    rig.provider.lose({ ...ref, ...change });
    await rig.settle();

    expect(rig.pod("web")?.status?.phase).toBe("Running");
    expect(rig.warnings).toEqual(Array(2).fill("provider reported a malformed status"));
    expect(rig.counted).toContain("vk_provider_malformed_reports_total");
  });

  test("that a pod is gone are believed once", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web", { restartPolicy: "Never" });
    rig.provider.lose(ref);
    rig.provider.lose(ref);
    await rig.settle(60_000);

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "ProviderLost" });
    expect(rig.eventsOn("web").filter((event) => event.includes("ProviderLost"))).toEqual([
      "Warning ProviderLost: Provider scripted no longer holds the pod",
    ]);
  });

  test("that a pod is gone, one of whose containers has succeeded for good, do not run that container again", async () => {
    await using rig = await new NodeRig().start();
    const two = [
      { name: "main", image: "busybox" },
      { name: "second", image: "busybox" },
    ];
    const ref = await rig.createPod("web", { containers: two, restartPolicy: "OnFailure" });
    const [main, second] = running(["main", "second"]).containerStatuses ?? [];
    if (!main || !second) throw new Error("two statuses are expected");
    rig.provider.report(ref, { containerStatuses: [main, { ...second, state: { terminated: { exitCode: 0 } } }] });
    await rig.settle();
    expect(rig.pod("web")?.status?.phase).toBe("Running");

    rig.provider.lose(ref);
    await rig.settle(60_000);

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "ProviderLost" });
    expect(rig.provider.calls.filter((call) => call === "createPod web")).toHaveLength(1);
  });

  test.each([
    ["do not run that container again", undefined, 1],
    ["make it again if a rule restarts that container", { operator: "In", values: [137] }, 2],
  ])(
    "that a pod is gone, one of whose containers has run and has a restart policy Never of its own, %s",
    async (_, exitCodes, creations) => {
      await using rig = await new NodeRig().start();
      const once: Container = { name: "main", image: "busybox", restartPolicy: "Never" };
      if (exitCodes) once.restartPolicyRules = [{ action: "Restart", exitCodes }];
      const containers = [once, { name: "second", image: "busybox" }];
      const ref = await rig.createPod("web", { containers });
      expect(rig.pod("web")?.status?.phase).toBe("Running");

      rig.provider.lose(ref);
      await rig.settle(60_000);

      expect(rig.callsOf("createPod web")).toBe(creations);
      expect(rig.pod("web")?.status?.phase).toBe(creations === 1 ? "Failed" : "Running");
    },
  );

  test("that a pod is gone, one of whose containers failed and is started anew, make it again", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web", { restartPolicy: "OnFailure" });
    const [main] = running(["main"]).containerStatuses ?? [];
    if (!main) throw new Error("a status is expected");
    rig.provider.report(ref, { containerStatuses: [{ ...main, state: { terminated: { exitCode: 1 } } }] });
    await rig.settle();

    rig.provider.lose(ref);
    await rig.settle(60_000);

    expect(rig.pod("web")?.status?.phase).not.toBe("Failed");
    expect(rig.provider.calls.filter((call) => call === "createPod web")).toHaveLength(2);
  });

  test("that a pod which may run again is gone make it again, and tell so once", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    rig.provider.script("createPod", away);
    rig.provider.lose(ref);
    await rig.settle(60_000);
    rig.provider.unscript("createPod");
    await rig.settle(400_000);

    expect(rig.pod("web")?.status?.phase).toBe("Running");
    expect(rig.eventsOn("web").filter((event) => event.includes("ProviderLost"))).toEqual([
      "Warning ProviderLost: Provider scripted no longer holds the pod; it is created again",
    ]);
  });

  test("that a pod is gone, again and again, do not have it made without end", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    const creations = (): number => rig.callsOf("createPod web");
    rig.provider.lose(ref);
    await rig.settle();
    expect(creations()).toBe(2);

    for (const [waitMs, count] of [
      [10_000, 3],
      [20_000, 4],
      [40_000, 5],
    ] as const) {
      rig.provider.lose(ref);
      await rig.settle(waitMs - 1_000);
      expect([creations(), rig.pod("web")?.status?.phase]).toEqual([count - 1, "Pending"]);
      expect(rig.waitingReason("web")).toBe("ProviderLost");
      await rig.settle(1_000);
      expect([creations(), rig.pod("web")?.status?.phase]).toEqual([count, "Running"]);
    }

    await rig.settle(600_000);
    rig.provider.lose(ref);
    await rig.settle();
    expect(creations()).toBe(6);
  });

  describe.each(["Never", "OnFailure", "Always"] as const)(
    "that a pod with restartPolicy %s has succeeded and then is gone",
    (restartPolicy) => {
      const finished = (reported: ProviderPodStatus["phase"]): ProviderPodStatus => ({ ...ended(running(["main"])), phase: reported });
      const job = (pod: Pod): void => void (pod.spec = { containers: [], ...pod.spec, restartPolicy });

      test("keep that end, also where the API server has not taken it yet", async () => {
        await using rig = await new NodeRig().start();
        const ref = await rig.createPod("job", job);
        const outage = rig.client.intercept(({ resource }) => (resource === "pods" ? away() : undefined));
        rig.provider.report(ref, finished("Succeeded"));
        await rig.settle(20_000);
        rig.provider.lose(ref);
        await rig.settle(20_000);
        outage[Symbol.dispose]();
        await rig.settle(400_000);

        expect(rig.pod("job")?.status?.phase).toBe("Succeeded");
        expect(rig.pod("job")?.status?.reason).toBeUndefined();
        expect(rig.callsOf("createPod job")).toBe(1);
        expect(rig.eventsOn("job").filter((event) => event.includes("ProviderLost"))).toEqual([]);
      });

      test("keep that end where the provider only answers that there is no such pod", async () => {
        await using rig = await new NodeRig().start();
        const ref = await rig.createPod("job", job);
        rig.client.intercept(({ resource, verb }) => (resource === "pods" && verb === "patch" ? away() : undefined));
        rig.provider.report(ref, finished("Succeeded"));
        rig.provider.lose(ref, { silently: true });
        await rig.settle(400_000);

        expect(rig.callsOf("getPod job")).toBe(1);
        expect(rig.callsOf("createPod job")).toBe(1);
      });
    },
  );

  test("that a pod is gone whose containers have ended, and are not to run again, give it the phase that follows", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("job", { restartPolicy: "OnFailure" });
    rig.provider.report(ref, { ...ended(running(["main"])), phase: "Running", endsWhenGone: true });
    await rig.settle(5_000);
    expect(rig.pod("job")?.status?.phase).toBe("Running");

    rig.provider.lose(ref);
    await rig.settle(5_000);

    expect(rig.pod("job")?.status?.phase).toBe("Succeeded");
    expect(rig.callsOf("createPod job")).toBe(1);
  });

  test("that a pod is gone of which only a sidecar ran, because the rest had ended, do not have it created again", async () => {
    await using rig = await new NodeRig({ capabilities: { initContainers: true, sidecarContainers: true, restarts: true } }).start();
    const ref = await rig.createPod("job", (pod) => {
      const initContainers = [{ name: "proxy", restartPolicy: "Always" as const }];
      pod.spec = { containers: [], ...pod.spec, restartPolicy: "OnFailure", initContainers };
    });
    const proxy = running(["proxy"]).containerStatuses ?? [];
    rig.provider.report(ref, { ...ended(running(["main"])), phase: "Running", initContainerStatuses: proxy });
    rig.provider.lose(ref);
    await rig.settle(5_000);

    expect(rig.pod("job")?.status?.phase).toBe("Succeeded");
    expect(rig.pod("job")?.status?.reason).toBeUndefined();
    expect(rig.callsOf("createPod job")).toBe(1);
  });

  test.each([
    ["do not make it again if that container is never restarted", "Never", 1],
    ["make it again if that container is restarted", undefined, 2],
  ] as const)("that a pod is gone, an init container of which had failed, %s", async (_, restartPolicy, creations) => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web", {
      initContainers: [{ name: "init", image: "busybox", ...(restartPolicy && { restartPolicy }) }],
    });
    const { containerStatuses: [init, main] = [] } = running(["init", "main"]);
    if (!init || !main) throw new Error("two statuses are expected");
    using outage = refusePatches(rig);
    rig.provider.report(ref, {
      initContainerStatuses: [{ ...init, state: { terminated: { exitCode: 3 } } }],
      containerStatuses: [{ ...main, state: { waiting: { reason: "PodInitializing" } } }],
    });
    rig.provider.lose(ref);
    await rig.settle(5_000);
    outage[Symbol.dispose]();
    await rig.settle(60_000);

    expect(rig.callsOf("createPod web")).toBe(creations);
    expect(rig.pod("web")?.status?.phase).toBe(creations === 1 ? "Failed" : "Running");
  });

  test("that a pod is gone, whose end by a failed init container is not stored yet, keep that end and the exit code", async () => {
    await using rig = await new NodeRig().start();
    rig.provider.reports = false;
    const ref = await rig.createPod("job", { restartPolicy: "Never", initContainers: [{ name: "init", image: "busybox" }] });
    const { containerStatuses: [init] = [] } = running(["init"]);
    if (!init) throw new Error("a status is expected");
    using outage = refusePatches(rig);
    rig.provider.report(ref, { initContainerStatuses: [{ ...init, state: { terminated: { exitCode: 3 } } }] });
    rig.provider.lose(ref);
    await rig.settle(5_000);
    outage[Symbol.dispose]();
    await rig.settle(60_000);

    expect(rig.pod("job")?.status).toMatchObject({ phase: "Failed", initContainerStatuses: [{ state: { terminated: { exitCode: 3 } } }] });
    expect(rig.pod("job")?.status?.reason).toBeUndefined();
  });

  test("that a pod is gone, of which one container had just ended and another ran, show that container's own exit code", async () => {
    await using rig = await new NodeRig().start();
    const containers = ["main", "second"].map((name) => ({ name, image: "busybox" }));
    const ref = await rig.createPod("job", { restartPolicy: "Never", containers });
    const { containerStatuses: [main, second] = [] } = running(["main", "second"]);
    if (!main || !second) throw new Error("two statuses are expected");
    using outage = refusePatches(rig);
    rig.provider.report(ref, { containerStatuses: [main, { ...second, state: { terminated: { exitCode: 0 } } }] });
    rig.provider.lose(ref);
    await rig.settle(5_000);
    outage[Symbol.dispose]();
    await rig.settle(60_000);

    const { status } = rig.pod("job") ?? {};
    expect(status).toMatchObject({ phase: "Failed", reason: "ProviderLost" });
    expect(status?.containerStatuses?.map(({ state }) => state?.terminated?.exitCode)).toEqual([137, 0]);
  });

  test.each([
    ["do not make it again if its restart policy is Never", "Never", 1],
    ["make it again, after the API server was asked, if it may run again", "Always", 2],
  ])("that a pod is gone, of which nothing else was ever reported, %s", async (_, restartPolicy, creations) => {
    await using rig = await new NodeRig().start();
    rig.provider.reports = false;
    const ref = await rig.createPod("job", { restartPolicy });
    rig.provider.lose(ref);
    await rig.settle(5_000);

    expect(rig.callsOf("createPod job")).toBe(creations);
    expect(rig.client.callsOf("get", "pods")).toHaveLength(1);
    if (creations === 1) expect(rig.pod("job")?.status).toMatchObject({ phase: "Failed", reason: "ProviderLost" });
  });

  test("that a pod is gone whose container was between two runs have it created again", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    rig.provider.report(ref, { ...ended(running(["main"])), phase: "Running" });
    rig.provider.lose(ref);
    await rig.settle(5_000);

    expect(rig.callsOf("createPod web")).toBe(2);
    expect(rig.pod("web")?.status?.phase).toBe("Running");
  });

  test("that a pod being deleted is gone end it", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    rig.provider.reports = false;
    await rig.deletePod("web", 30);
    rig.provider.lose(ref);
    await rig.settle();

    expect(rig.pod("web")).toBeUndefined();
  });
});

describe("an inventory", () => {
  const polled = { provider: { notifyPods: undefined }, pods: { pollIntervalMs: 5_000 } };

  test("shows how pods go where the provider does not say so", async () => {
    await using rig = await new NodeRig(polled).start();
    const ref = await rig.createPod("web");
    await rig.settle(6_000);
    expect(rig.pod("web")?.status?.phase).toBe("Running");

    rig.provider.report(ref, running(["main"], "10.0.0.9"));
    await rig.settle(6_000);

    expect(rig.pod("web")?.status?.podIP).toBe("10.0.0.9");
  });

  test("may lack a pod for a minute after it was made, and not longer", async () => {
    await using rig = await new NodeRig(polled).start();
    const ref = await rig.createPod("web");
    rig.provider.lose(ref, { silently: true });
    await rig.settle(59_000);
    expect(rig.callsOf("getPod web")).toBe(0);

    await rig.settle(8_000);

    expect(rig.callsOf("getPod web")).toBe(1);
    expect(rig.callsOf("createPod web")).toBe(2);
  });

  test("that lacks a pod which was seen there has it asked for at once", async () => {
    await using rig = await new NodeRig(polled).start();
    const ref = await rig.createPod("web");
    await rig.settle(6_000);
    rig.provider.lose(ref, { silently: true });
    await rig.settle(6_000);

    expect(rig.callsOf("getPod web")).toBe(1);
    expect(rig.callsOf("createPod web")).toBe(2);
  });

  test("that lacks a pod being deleted has it asked for at once, before its grace is over", async () => {
    await using rig = await new NodeRig(polled).start();
    const ref = await rig.createPod("web");
    await rig.settle(6_000);
    rig.provider.reports = false;
    await rig.deletePod("web", 300);
    rig.provider.lose(ref, { silently: true });
    await rig.settle(6_000);

    expect(rig.callsOf("getPod web")).toBe(1);
    expect(rig.pod("web")).toBeUndefined();
  });

  test("that is partial takes nothing away", async () => {
    await using rig = await new NodeRig(polled).start();
    const ref = await rig.createPod("web");
    await rig.settle(6_000);
    rig.provider.complete = false;
    rig.provider.lose(ref, { silently: true });
    await rig.settle(60_000);

    expect(rig.callsOf("getPod web")).toBe(0);
    expect(rig.pod("web")?.status?.phase).toBe("Running");
  });

  test.each([{ clusterId: "cluster-2" }, { nodeName: "node-2" }])("has nothing to say of pods of somebody else: %j", async (other) => {
    const rig = new NodeRig();
    const { metadata } = rig.client.put(resources.pods, {
      metadata: { namespace: "default", name: "web" },
      spec: { nodeName: "node-1", restartPolicy: "Always", containers: [{ name: "main" }] },
      status: { phase: "Pending" },
    });
    const ref = { namespace: "default", name: "web", uid: metadata?.uid ?? "" };
    rig.provider.held.set(ref.uid, { ref, owner: { ...rig.owner, ...other }, status: running(["main"], "10.0.0.66") });
    await using _running = await rig.start();

    expect(rig.callsOf("createPod web")).toBe(1);
    expect(rig.pod("web")?.status?.podIP).toBe("10.0.0.1");
  });
});

describe("a restart", () => {
  async function restarted(first: NodeRig, options: ConstructorParameters<typeof NodeRig>[0] = {}): Promise<NodeRig> {
    await first[Symbol.asyncDispose]();
    first.provider.calls.length = 0;
    return await new NodeRig({ ...options, after: first }).start();
  }

  test("touches no pod that runs as it should", async () => {
    const first = await new NodeRig().start();
    await first.createPod("web");
    await using second = await restarted(first);
    await second.settle(60_000);

    expect(second.provider.calls).toEqual(["getPods"]);
    expect(second.pod("web")?.status?.phase).toBe("Running");
  });

  test("tells the provider of what changed meanwhile", async () => {
    const first = await new NodeRig().start();
    await first.createPod("web", (pod) => void (pod.metadata = { ...pod.metadata, generation: 1 }));
    await first[Symbol.asyncDispose]();
    await first.editPod("web", (pod) => {
      pod.metadata = { ...pod.metadata, generation: 2 };
      pod.spec = { ...pod.spec, containers: [{ name: "main", image: "busybox:2" }] };
    });
    await using second = await restarted(first);

    expect(second.callsOf("updatePod web")).toBe(1);
    expect(second.pod("web")?.status?.observedGeneration).toBe(2);
  });

  test.each([
    [0, "Succeeded"],
    [3, "Failed"],
  ])("gives a pod its own end whose container had ended with %i before its back end lost it meanwhile", async (exitCode, phase) => {
    const first = await new NodeRig({ capabilities: { initContainers: true, sidecarContainers: true } }).start();
    const ref = await first.createPod("job", {
      restartPolicy: "Never",
      initContainers: [{ name: "proxy", image: "busybox", restartPolicy: "Always" }],
    });
    const { containerStatuses: [main] = [] } = running(["main"]);
    if (!main) throw new Error("a status is expected");
    const { containerStatuses: initContainerStatuses } = running(["proxy"]);
    first.provider.report(ref, { initContainerStatuses, containerStatuses: [{ ...main, state: { terminated: { exitCode } } }] });
    await first.settle();
    expect(first.pod("job")?.status?.phase).toBe("Running");
    first.provider.held.delete(ref.uid);

    await using second = await restarted(first);
    await second.settle(60_000);

    const { status } = second.pod("job") ?? {};
    expect([status?.phase, status?.reason]).toEqual([phase, undefined]);
    expect(second.callsOf("createPod job")).toBe(0);
  });

  test("deletes at the provider what was deleted meanwhile", async () => {
    const first = await new NodeRig().start();
    await first.createPod("web");
    await first[Symbol.asyncDispose]();
    await first.deletePod("web", 30);
    await using second = await restarted(first);

    expect(second.provider.held.size).toBe(0);
    expect(second.pod("web")).toBeUndefined();
  });

  test("counts the pods that run before it lets another in", async () => {
    const node = { capacity: { cpu: "10", memory: "10Gi", pods: "2" } };
    const first = await new NodeRig({ node }).start();
    await first.createPod("a");
    await first.createPod("b");
    await using second = await restarted(first, { node });
    await second.createPod("c");
    expect(second.pod("c")?.status).toMatchObject({ phase: "Failed", reason: "OutOfpods" });

    await second.deletePod("a", 0);
    await second.createPod("d");

    expect(second.pod("d")?.status?.phase).toBe("Running");
  });

  test("gives the place of a pod that has ended to another", async () => {
    const node = { capacity: { cpu: "10", memory: "10Gi", pods: "1" } };
    const first = await new NodeRig({ node }).start();
    const ref = await first.createPod("a", { restartPolicy: "Never" });
    first.provider.report(ref, ended(running(["main"])));
    await first.settle();
    await first.createPod("b");
    expect(first.pod("b")?.status?.phase).toBe("Running");
    await using second = await restarted(first, { node });

    expect(second.pod("b")?.status?.phase).toBe("Running");
    expect(second.callsOf("createPod a")).toBe(0);
  });

  test.each([
    ["", undefined],
    [" and has been deleted since", 30],
  ] as const)("calls a pod Failed that was ended at its deadline%s, however its containers ended", async (_since, graceSeconds) => {
    const first = await new NodeRig().start();
    first.provider.reports = false;
    const ref = await first.createPod("web", (pod) => {
      pod.metadata = { ...pod.metadata, finalizers: ["example.com/held"] };
      pod.spec = { containers: [], ...pod.spec, restartPolicy: "Never", activeDeadlineSeconds: 60 };
    });
    first.provider.report(ref, running(["main"]));
    await first.settle(65_000);
    expect(first.callsOf("deletePod web 30")).toBe(1);
    if (graceSeconds !== undefined) await first.deletePod("web", graceSeconds);
    await first[Symbol.asyncDispose]();
    expect(first.pod("web")?.status?.phase).toBe("Running");
    first.provider.report(ref, ended(running(["main"])));
    await using second = await restarted(first);

    expect(second.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
  });
});

describe("what an earlier refusal leaves", () => {
  test.each([new UnsupportedError("not this"), new InvalidInputError("not so"), new QuotaExceededError("no more")])(
    "is nothing at the back end: the next try is made without asking there: %s",
    async (error) => {
      await using rig = await new NodeRig().start();
      failOnce(rig, "createPod", error);
      await rig.createPod("web");
      await rig.editPod("web", label("1"));
      await rig.settle(10_000);

      expect(rig.pod("web")?.status?.phase).toBe("Running");
      expect(rig.callsOf("getPod web")).toBe(0);
    },
  );

  test("is unknown where the outcome was unclear: the back end is asked before it is tried again", async () => {
    await using rig = await new NodeRig().start();
    failOnce(rig, "createPod", new UnavailableError("the connection broke"));
    await rig.createPod("web");
    await rig.settle(10_000);

    expect(rig.provider.calls.slice(1)).toEqual(["createPod web", "getPod web", "createPod web"]);
  });
});

describe("an answer that there is no such pod", () => {
  /** A node whose provider is asked for a pod; the answer comes when it is let. */
  async function asked(rig: NodeRig): Promise<{ readonly ref: PodRef; readonly answer: () => void }> {
    const once: Pod["spec"] = { nodeName: "node-1", containers: [{ name: "main", image: "busybox" }], restartPolicy: "Never" };
    const ref = await rig.createPod("web", (pod) => void (pod.spec = once));
    const gate = Promise.withResolvers<void>();
    rig.provider.script("getPod", async () => {
      await gate.promise;
      throw new NotFoundError("not on this replica");
    });
    return { ref, answer: () => gate.resolve() };
  }

  test("is no news where the provider has reported the pod since it was asked", async () => {
    await using rig = await new NodeRig({ pods: { pollIntervalMs: 5_000 } }).start();
    const { ref, answer } = await asked(rig);
    const held = rig.provider.held.get(ref.uid);
    rig.provider.lose(ref, { silently: true });
    await rig.settle(6_000);
    if (held) rig.provider.held.set(ref.uid, held);
    await rig.settle(1_000);
    rig.provider.report(ref, running(["main"]));
    answer();
    await rig.settle(60_000);

    expect([rig.callsOf("getPod web"), rig.callsOf("createPod web")]).toEqual([1, 1]);
    expect(rig.pod("web")?.status?.phase).toBe("Running");
  });

  test("does not end a deletion where the provider has reported the pod since it was asked", async () => {
    await using rig = await new NodeRig().start();
    const { ref, answer } = await asked(rig);
    failOnce(rig, "deletePod", new NotFoundError("not on this replica"));
    rig.provider.reports = false;
    await rig.deletePod("web", 30);
    await rig.settle(1_000);
    rig.provider.report(ref, running(["main"]));
    answer();
    await rig.settle(1_000);

    expect(rig.pod("web")?.status?.phase).toBe("Running");
    expect(rig.provider.calls.filter((call) => call.startsWith("deletePod"))).toEqual(["deletePod web 30", "deletePod web 29"]);
  });
});

test("no more pods are asked about at once than the node has workers, though a list puts all in doubt", async () => {
  await using rig = await new NodeRig({ provider: { notifyPods: undefined }, pods: { pollIntervalMs: 5_000, workers: 2 } }).start();
  const names = ["a", "b", "c", "d", "e"];
  for (const name of names) await rig.createPod(name);
  await rig.settle(6_000);
  const held = [...rig.provider.held];
  let [now, most] = [0, 0];
  rig.provider.script("getPod", async () => {
    most = Math.max(most, ++now);
    await rig.clock.sleep(100);
    now--;
  });
  rig.provider.held.clear();
  await rig.settle(6_000);
  for (const [uid, pod] of held) rig.provider.held.set(uid, pod);
  for (let turn = 0; turn < 10; turn++) await rig.settle(100);

  expect([most, now]).toEqual([2, 0]);
  expect(names.map((name) => rig.callsOf(`getPod ${name}`))).toEqual([1, 1, 1, 1, 1]);
});

describe("a question that the provider does not answer", () => {
  const heedful = (_ref: PodRef | undefined, signal: AbortSignal): Promise<void> =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const deaf = (): Promise<void> => new Promise(() => {});
  const polled = { provider: { notifyPods: undefined }, pods: { pollIntervalMs: 5_000 } };

  test.each([
    ["at once", heedful, ["deletePod web 30"]],
    ["five seconds later where it ignores its signal", deaf, ["deletePod web 25"]],
  ])("does not keep a pod from its deletion, which is begun %s", async (_when, script, deletions) => {
    await using rig = await new NodeRig(polled).start();
    const ref = await rig.createPod("web");
    await rig.settle(6_000);
    rig.provider.script("getPod", script);
    rig.provider.lose(ref);
    await rig.settle(6_000);
    expect(rig.callsOf("getPod web")).toBe(1);
    await rig.deletePod("web", 30);
    await rig.settle(10_000);

    expect(rig.provider.calls.filter((call) => call.startsWith("deletePod")).slice(0, 1)).toEqual(deletions);
  });

  test("does not keep a pod from ending when a user removes it by force while it ends", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web");
    rig.provider.reports = false;
    await rig.deletePod("web", 30);
    rig.provider.script("getPod", heedful);
    await rig.settle(33_000);
    expect(rig.callsOf("getPod web")).toBe(1);
    await rig.deletePod("web", 0);
    await rig.settle(1_000);

    expect(rig.provider.calls.filter((call) => call.startsWith("deletePod"))).toEqual(["deletePod web 30", "deletePod web 0"]);
  });
});

test("a call may take five minutes, and five seconds more to end, before the pod shows that it does not", async () => {
  await using rig = await new NodeRig().start();
  rig.provider.script("createPod", () => new Promise(() => {}));
  await rig.createPod("web");
  await rig.settle(304_999);
  expect(rig.waitingReason("web")).toBe("ContainerCreating");
  await rig.settle(1);

  expect(rig.waitingReason("web")).toBe("ProviderTimeout");
});

test("a pod without any status yet is started", async () => {
  await using rig = await new NodeRig().start();
  await rig.createPod("web", (pod) => void delete pod.status);

  expect(rig.pod("web")?.status?.phase).toBe("Running");
});

describe("a pod's object at the API server", () => {
  const removals = (rig: NodeRig): number =>
    rig.client.callsOf("delete", "pods").filter(({ body }) => JSON.stringify(body).includes("preconditions")).length;

  test("stays while the provider has not accepted the deletion, also where all of the pod has ended", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web", { restartPolicy: "Never" });
    const gate = Promise.withResolvers<void>();
    rig.provider.script("deletePod", () => gate.promise);
    // Deleted before its status is written: the API server itself removes a pod whose status says that it has ended.
    rig.provider.report(ref, ended(running(["main"])));
    await rig.deletePod("web", 30);
    await rig.settle(5_000);
    expect([rig.pod("web") === undefined, removals(rig)]).toEqual([false, 0]);
    gate.resolve();
    await rig.settle();

    expect(rig.pod("web")).toBeUndefined();
  });

  test("does not show an end while the provider has not accepted the deletion and a container is between two runs", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web");
    rig.provider.report(ref, { ...ended(running(["main"])), phase: "Running" });
    await rig.settle();
    const gate = Promise.withResolvers<void>();
    rig.provider.script("deletePod", () => gate.promise);
    await rig.deletePod("web", 30);
    await rig.settle(5_000);
    expect(rig.pod("web")?.status?.phase).toBe("Running");
    gate.resolve();
    await rig.settle();

    expect(rig.pod("web")).toBeUndefined();
  });

  test("is ended when its time was up during an update", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web", { activeDeadlineSeconds: 60 });
    await rig.settle(58_000);
    rig.provider.script("updatePod", () => rig.clock.sleep(5_000));
    await rig.editPod("web", label("new"));
    await rig.settle(15_000);

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
  });

  const hangs = (_ref: PodRef | undefined, signal: AbortSignal): Promise<void> =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

  test("is ended when its time is up, though its creation hangs", async () => {
    await using rig = await new NodeRig().start();
    rig.provider.script("createPod", hangs);
    await rig.createPod("web", { activeDeadlineSeconds: 60 });
    await rig.settle(58_000);
    expect(rig.pod("web")?.status?.phase).toBe("Pending");
    await rig.settle(2_000);

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
    expect(rig.callsOf("createPod web")).toBe(1);
  });

  test("keeps the grace of a deletion under way when its time is up", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web", { activeDeadlineSeconds: 60 });
    rig.provider.script("deletePod", hangs);
    await rig.settle(50_000);
    await rig.deletePod("web", 30);
    await rig.settle(20_000);

    expect(rig.provider.calls.filter((call) => call.startsWith("deletePod"))).toEqual(["deletePod web 30"]);
  });

  test("has failed for its deadline in one write, where that passed during the grace of a deletion", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web", (pod) => {
      pod.metadata = { ...pod.metadata, finalizers: ["example.com/held"] };
      pod.spec = { containers: [], ...pod.spec, activeDeadlineSeconds: 60 };
    });
    rig.provider.reports = false;
    await rig.settle(50_000);
    await rig.deletePod("web", 30);
    await rig.settle(20_000);
    const patches = patchesOf(rig);
    rig.provider.lose(ref);
    await rig.settle(60_000);

    const [main] = rig.pod("web")?.status?.containerStatuses ?? [];
    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
    expect(main?.state?.terminated).toMatchObject({ exitCode: 137, reason: "DeadlineExceeded" });
    expect(patchesOf(rig)).toBe(patches + 1);
  });

  test("has succeeded where its time is up only after its end, which the API server could not take before", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("job", (pod) => {
      pod.spec = { containers: [], ...pod.spec, restartPolicy: "Never", activeDeadlineSeconds: 60 };
    });
    const outage = rig.client.intercept(({ resource }) => (resource === "pods" ? away() : undefined));
    rig.provider.report(ref, ended(running(["main"])));
    await rig.settle(90_000);
    outage[Symbol.dispose]();
    await rig.settle(400_000);

    expect(rig.pod("job")?.status?.phase).toBe("Succeeded");
    expect(rig.eventsOn("job").filter((event) => event.includes("DeadlineExceeded"))).toEqual([]);
  });

  test("does not show that its time is up while a container is between two runs and the provider has not ended it", async () => {
    await using rig = await new NodeRig().start();
    const ref = await rig.createPod("web", { activeDeadlineSeconds: 60 });
    rig.provider.report(ref, { ...ended(running(["main"])), phase: "Running" });
    const gate = Promise.withResolvers<void>();
    rig.provider.script("deletePod", () => gate.promise);
    await rig.settle(65_000);
    expect(rig.pod("web")?.status?.phase).toBe("Running");
    gate.resolve();
    await rig.settle(5_000);

    expect(rig.pod("web")?.status).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
  });

  test("is removed although that fails at first", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web");
    let failures = 2;
    using _away = rig.client.intercept(({ verb, resource, body }) => {
      if (verb === "delete" && resource === "pods" && JSON.stringify(body).includes("preconditions") && failures-- > 0) away();
    });
    await rig.deletePod("web", 30);
    await rig.settle(10_000);

    expect([rig.pod("web"), removals(rig)]).toEqual([undefined, 3]);
  });

  test("that waits for finalizers alone is removed once, also after a restart", async () => {
    const first = await new NodeRig().start();
    await first.createPod("web", (pod) => void (pod.metadata = { ...pod.metadata, finalizers: ["example.com/hold"] }));
    await first.deletePod("web", 30);
    await first.settle(60_000);
    expect([first.pod("web")?.status?.phase, removals(first)]).toEqual(["Succeeded", 1]);
    await first[Symbol.asyncDispose]();
    await using second = await new NodeRig({ after: first }).start();
    await second.settle(60_000);

    expect(removals(second)).toBe(1);
    await second.editPod("web", (pod) => void (pod.metadata = { ...pod.metadata, finalizers: [] }));
  });

  test("that a user removes by force is deleted at the provider without a word or a warning", async () => {
    await using rig = await new NodeRig().start();
    await rig.createPod("web");
    await rig.deletePod("web", 0);
    await rig.settle(60_000);

    expect(rig.provider.calls.filter((call) => call.startsWith("deletePod"))).toEqual(["deletePod web 0"]);
    expect(rig.eventsOn("web").filter((event) => event.includes("Delete"))).toEqual([]);
    expect(rig.warnings).toEqual([]);
    expect(rig.node.health).toMatchObject({ knownPods: 0, pendingPods: 0 });
  });
});

test("a restarted node does not claim a newer spec before the provider has taken it", async () => {
  const first = await new NodeRig().start();
  await first.createPod("web", (pod) => void (pod.metadata = { ...pod.metadata, generation: 1 }));
  await first[Symbol.asyncDispose]();
  await first.editPod("web", (pod) => {
    pod.metadata = { ...pod.metadata, generation: 2 };
    pod.spec = { ...pod.spec, containers: [{ name: "main", image: "busybox:2" }] };
  });
  first.provider.script("updatePod", away);
  await using second = await new NodeRig({ after: first }).start();
  expect([second.callsOf("updatePod web") > 0, second.pod("web")?.status?.observedGeneration]).toEqual([true, 1]);

  second.provider.unscript("updatePod");
  await second.settle(400_000);

  expect(second.pod("web")?.status?.observedGeneration).toBe(2);
});

test("a pod that is told to end once more, since it outlived its grace, is told to have been deleted once, when it has ended", async () => {
  await using rig = await new NodeRig().start();
  const ref = await rig.createPod("web");
  rig.provider.reports = false;
  await rig.deletePod("web", 30);
  await rig.settle(60_500);
  const told = (): number => rig.eventsOn("web").filter((event) => event.includes("ProviderDeleteSuccess")).length;
  expect(told()).toBe(0);
  rig.provider.lose(ref);
  await rig.settle();

  expect(told()).toBe(1);
});

test("a second deletion with less grace breaks the first one off, and its failure is not told", async () => {
  await using rig = await new NodeRig().start();
  await rig.createPod("web");
  rig.provider.script("deletePod", (_ref, signal) => {
    rig.provider.unscript("deletePod");
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("it broke"))));
  });
  await rig.deletePod("web", 300);
  await rig.deletePod("web", 5);
  await rig.settle(1_000);

  expect(rig.provider.calls.filter((call) => call.startsWith("deletePod"))).toEqual(["deletePod web 300", "deletePod web 5"]);
  expect(rig.pod("web")).toBeUndefined();
  expect(rig.eventsOn("web").filter((event) => event.includes("ProviderDeleteFailed"))).toEqual([]);
});

describe("a pod of a DaemonSet", () => {
  const ownedBy =
    (...owners: { kind: string; controller?: boolean }[]) =>
    (pod: Pod) =>
      void (pod.metadata = {
        ...pod.metadata,
        ownerReferences: owners.map(({ kind, controller }, index) => ({
          apiVersion: "apps/v1",
          kind,
          name: kind,
          uid: String(index),
          ...(controller && { controller }),
        })),
      });

  test("is one by its controller, among whatever other owners", async () => {
    await using rig = await new NodeRig({ pods: { daemonSets: "reject" } }).start();
    await rig.createPod("agent", ownedBy({ kind: "Other" }, { kind: "DaemonSet", controller: true }));
    await rig.createPod("replica", ownedBy({ kind: "ReplicaSet", controller: true }));
    await rig.createPod("helped", ownedBy({ kind: "DaemonSet" }));

    expect(rig.pod("agent")?.status).toMatchObject({
      phase: "Failed",
      reason: "DaemonSetRejected",
      message: "Pod was rejected: node node-1 runs no pods of DaemonSets",
    });
    expect([rig.pod("replica")?.status?.phase, rig.pod("helped")?.status?.phase]).toEqual(["Running", "Running"]);
  });
});

test("a pod that is ending goes on saying which generation it ran, whatever its deletion made of that", async () => {
  await using rig = await new NodeRig().start();
  const ref = await rig.createPod("web", (pod) => void (pod.metadata = { ...pod.metadata, generation: 1 }));
  rig.provider.reports = false;
  await rig.deletePod("web", 30);
  await rig.editPod("web", (pod) => void (pod.metadata = { ...pod.metadata, generation: 2 }));
  rig.provider.report(ref, running(["main"], "10.0.0.9"));
  await rig.settle();

  expect(rig.pod("web")?.status).toMatchObject({ podIP: "10.0.0.9", observedGeneration: 1 });
});
