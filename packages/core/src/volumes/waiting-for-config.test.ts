import { isInvalidInput, isNotFound } from "@virtual-kubelet/errdefs";
import { resources, type PodSpec } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import type { Capabilities } from "../provider/capabilities.ts";
import { NodeRig, type NodeRigOptions } from "../test-support/node-rig.ts";

const { signal } = new AbortController();
const volume: Partial<PodSpec> = { volumes: [{ name: "v", secret: { secretName: "keys" } }] };
const env: Partial<PodSpec> = {
  containers: [{ name: "main", env: [{ name: "KEY", valueFrom: { secretKeyRef: { name: "keys", key: "key" } } }] }],
};
const token: Partial<PodSpec> = {
  volumes: [{ name: "kube-api-access-x7b2k", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }],
  containers: [{ name: "main", volumeMounts: [{ name: "kube-api-access-x7b2k", mountPath: "/var/run/secrets" }] }],
};

const capabilities: Capabilities = { env: true, restarts: true, volumes: ["secret", "configMap", "projected", "downwardAPI"] };

/** A provider that reads all objects that its pods refer to. */
async function startRig(options?: NodeRigOptions): Promise<NodeRig> {
  const rig = new NodeRig({ capabilities, ...options });
  rig.provider.onCreate = async (pod, resolved, until) => {
    await resolved.environment("main", until);
    for (const { name } of pod.spec?.volumes ?? []) await resolved.volume(name, until);
  };
  return rig.start();
}

describe("a pod whose secret is missing", () => {
  test("waits for its volume as with a kubelet, told by an event, and starts when the secret comes", async () => {
    await using rig = await startRig();
    await rig.createPod("web", volume);
    await rig.settle(2_000);

    expect(rig.containerState("web")).toBe("ContainerCreating");
    expect(rig.pod("web")?.status).toMatchObject({ phase: "Pending" });
    expect(rig.pod("web")?.status?.message).toBeUndefined();
    expect(rig.eventsOn("web")).toEqual(['Warning FailedMount: MountVolume.SetUp failed for volume "v" : secret "keys" not found']);

    rig.putSecret("keys", "1");
    await rig.settle();
    await rig.settle();

    expect(rig.containerState("web")).toBe("running");
  });

  test("waits for its environment with a kubelet's reason, and starts when the secret comes", async () => {
    await using rig = await startRig();
    await rig.createPod("web", env);
    await rig.settle(2_000);
    expect(rig.containerState("web")).toBe('CreateContainerConfigError secret "keys" not found');

    rig.putSecret("keys", "1");
    await rig.settle();
    await rig.settle();

    expect(rig.containerState("web")).toBe("running");
  });

  test("is not tried again before a minute where nothing changes", async () => {
    await using rig = await startRig();
    await rig.createPod("web", volume);
    await rig.settle(59_000);
    expect(rig.provider.given).toHaveLength(1);

    await rig.settle(2_000);

    expect(rig.provider.given).toHaveLength(2);
  });

  test("is not started by the secret of another pod", async () => {
    await using rig = await startRig();
    await rig.createPod("web", volume);
    await rig.settle(2_000);

    rig.putSecret("other", "1");
    await rig.settle();

    expect(rig.provider.given).toHaveLength(1);
  });

  test("that comes while it is being created is started at once", async () => {
    await using rig = await startRig();
    const { onCreate } = rig.provider;
    rig.provider.onCreate = async (pod, resolved, until) => {
      try {
        await onCreate(pod, resolved, until);
      } finally {
        await rig.clock.sleep(5_000, until);
      }
    };
    await rig.createPod("web", volume);
    await rig.settle(1_000);
    rig.putSecret("keys", "1");

    await rig.settle(4_000);
    await rig.settle(5_000);

    expect(rig.containerState("web")).toBe("running");
  });

  test("and that is given one in an update, is updated when it comes", async () => {
    await using rig = await startRig();
    const updated: string[] = [];
    rig.provider.onUpdate = async (_pod, resolved, until) => {
      const [variable] = await resolved.environment("debug", until);
      updated.push(variable?.value ?? "");
    };
    await rig.createPod("web");
    await rig.editPod("web", (pod) => {
      if (pod.spec) pod.spec.ephemeralContainers = [{ name: "debug", env: env.containers?.[0]?.env }];
    });
    await rig.settle(1_000);
    expect(updated).toEqual([]);

    rig.putSecret("keys", "value");
    await rig.settle();

    expect(updated).toEqual(["value"]);
  });
});

describe("the token that every pod gets", () => {
  test("is bound to the pod, and requested when it is asked for", async () => {
    await using rig = await startRig();
    rig.provider.onCreate = () => {};
    const ref = await rig.createPod("web", token);
    expect(rig.client.callsOf("create", "serviceaccounts", "token")).toEqual([]);

    const { host } = rig;
    const issued = await host?.getServiceAccountToken(ref, { audience: "vault" }, signal);

    expect(issued).toEqual({ token: expect.stringMatching(/^token-/), expirationTimestamp: expect.any(String) });
    expect(rig.client.callsOf("create", "serviceaccounts", "token")[0]?.body).toMatchObject({
      spec: { audiences: ["vault"], expirationSeconds: 3600, boundObjectRef: { kind: "Pod", name: "web", uid: ref.uid } },
    });
    expect(await host?.getServiceAccountToken(ref, { audience: "vault" }, signal)).toEqual(issued);
  });

  test("is had for pods of this node only, and for no less than ten minutes", async () => {
    await using rig = await startRig();
    const ref = await rig.createPod("web", token);

    await expect(rig.host?.getServiceAccountToken({ ...ref, uid: "other" }, {}, signal)).rejects.toSatisfy(isNotFound);
    await expect(rig.host?.getServiceAccountToken(ref, { expirationSeconds: 599 }, signal)).rejects.toSatisfy(isInvalidInput);
    expect(() => rig.host?.resolvePod({ ...ref, uid: "other" })).toThrow(expect.toSatisfy(isNotFound));
  });

  test("is left out for a provider that knows no projected volumes", async () => {
    await using rig = await startRig({ capabilities: { restarts: true } });
    await rig.createPod("web", token);

    expect(rig.containerState("web")).toBe("running");
    expect(rig.provider.given[0]?.spec).toMatchObject({ volumes: [], containers: [{ volumeMounts: [] }] });
  });

  test("makes a pod unsupported there if it is required", async () => {
    await using rig = await startRig({ capabilities: { restarts: true }, pods: { automountToken: "require" } });
    await rig.createPod("web", token);
    await rig.settle(2_000);

    expect(rig.containerState("web")).toBe(
      "ProviderUnsupported provider scripted does not support spec.volumes[0].projected: volumes of type projected",
    );
    expect(rig.provider.given).toEqual([]);
  });
});

test("after a restart of a container a provider resolves the pod anew", async () => {
  await using rig = await startRig();
  rig.putSecret("keys", "one");
  const ref = await rig.createPod("web", { ...env, enableServiceLinks: false });
  rig.putSecret("keys", "two");
  await rig.settle();

  const resolved = rig.host?.resolvePod(ref);

  expect(await resolved?.environment("main", signal)).toEqual([{ name: "KEY", value: "two" }]);
});

test("an object that a provider mounts by itself is followed while the pod lives, and told when it changes", async () => {
  await using rig = await startRig();
  const told: string[] = [];
  rig.provider.onCreate = async (_pod, resolved, until) => {
    await resolved.configMap("settings", until).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  };
  rig.host?.onConfigChanged?.(({ name }) => void told.push(name));
  await rig.createPod("web");
  await rig.settle(3_600_000);

  rig.client.put(resources.configMaps, { metadata: { namespace: "default", name: "settings" }, data: { a: "1" } });
  await rig.settle();

  expect(told).toEqual(["web"]);
});

test("pods outside the cluster's network are told where they reach the API server", async () => {
  await using rig = await startRig({ apiServerForPods: { host: "api.example.com", port: 6443 } });
  const kubernetes = { clusterIP: "10.96.0.1", ports: [{ name: "https", port: 443 }] };
  rig.client.put(resources.services, { metadata: { namespace: "default", name: "kubernetes" }, spec: kubernetes });
  let seen: string[] = [];
  rig.provider.onCreate = async (_pod, resolved, until) => {
    seen = (await resolved.environment("main", until)).map(({ name, value }) => `${name}=${value}`);
  };

  await rig.createPod("web");

  expect(seen).toEqual([
    "KUBERNETES_SERVICE_HOST=api.example.com",
    "KUBERNETES_SERVICE_PORT=6443",
    "KUBERNETES_SERVICE_PORT_HTTPS=6443",
    "KUBERNETES_PORT=tcp://api.example.com:6443",
    "KUBERNETES_PORT_6443_TCP=tcp://api.example.com:6443",
    "KUBERNETES_PORT_6443_TCP_PROTO=tcp",
    "KUBERNETES_PORT_6443_TCP_PORT=6443",
    "KUBERNETES_PORT_6443_TCP_ADDR=api.example.com",
  ]);
});
