import {
  ForbiddenError,
  isForbidden,
  isInvalidInput,
  isNotFound,
  isUnavailable,
  isUnsupported,
  NotFoundError,
  UnavailableError,
} from "@virtual-kubelet/errdefs";
import type { Container, Pod, Service } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import type { ResolvedPod } from "../provider/resolved-pod.ts";
import { isPodNotFound } from "../provider-calls/not-found.ts";
import { waitingReasonOf } from "./config-error.ts";
import { createPodResolver } from "./pod-resolver.ts";

const { signal } = new AbortController();
const base64 = (text: string): string => Buffer.from(text).toString("base64");

const noVolumes: Pick<ResolvedPod, "volume" | "watchVolume"> = { volume: async () => ({ files: [] }), async *watchVolume() {} };

/** A cluster of config maps, secrets and services that counts what is read of it and collects events. */
class FakeCluster {
  configMaps: Record<string, Record<string, string>> = {};
  secrets: Record<string, Record<string, string>> = {};
  services: Service[] = [];
  hostIPs: string[] = ["192.0.2.1"];
  failure: Error | undefined;
  readonly reads: string[] = [];
  readonly events: string[] = [];

  resolve(container: Partial<Container>, spec: Partial<NonNullable<Pod["spec"]>> = {}): ResolvedPod {
    const pod: Pod = {
      metadata: { name: "web", namespace: "shop", uid: "uid-1" },
      spec: { containers: [{ name: "app", ...container }], ...spec },
    };
    return this.resolver(pod);
  }

  readonly resolver = createPodResolver({
    getConfigMap: async (namespace, name) => ({ data: this.#read(this.configMaps, "configmap", namespace, name) }),
    getSecret: async (namespace, name) => {
      const data = this.#read(this.secrets, "secret", namespace, name);
      return { data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, base64(value)])) };
    },
    listServices: async (namespace) => {
      this.reads.push(`services ${namespace}`);
      return this.services.filter((service) => service.metadata?.namespace === namespace);
    },
    node: () => ({ status: { allocatable: { cpu: "4" } } }),
    hostIPs: () => this.hostIPs,
    volumesOf: () => noVolumes,
    recorder: { event: (regarding, type, reason, message) => void this.events.push(`${regarding.uid} ${type} ${reason}: ${message}`) },
  });

  #read(objects: Record<string, Record<string, string>>, kind: string, namespace: string, name: string): Record<string, string> {
    this.reads.push(`${kind} ${namespace}/${name}`);
    if (this.failure) throw this.failure;
    const data = objects[name];
    if (!data) throw new NotFoundError(`${kind} ${name}`);
    return data;
  }
}

async function lines(resolved: ResolvedPod): Promise<string[]> {
  return (await resolved.environment("app", signal)).map(({ name, value }) => `${name}=${value}`);
}

async function failure(resolved: ResolvedPod): Promise<unknown> {
  return resolved.environment("app", signal).then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe("the environment of a container", () => {
  test("takes every source a kubelet knows", async () => {
    const cluster = new FakeCluster();
    cluster.configMaps = { settings: { colour: "blue" } };
    cluster.secrets = { keys: { token: "gehéim" } };
    const env = [
      { name: "LITERAL", value: "a" },
      { name: "EMPTY" },
      { name: "NOTHING", valueFrom: {} },
      { name: "FROM_MAP", valueFrom: { configMapKeyRef: { name: "settings", key: "colour" } } },
      { name: "FROM_SECRET", valueFrom: { secretKeyRef: { name: "keys", key: "token" } } },
      { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "CPUS", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
    ];

    expect(await lines(cluster.resolve({ env }))).toEqual([
      "LITERAL=a",
      "EMPTY=",
      "NOTHING=",
      "FROM_MAP=blue",
      "FROM_SECRET=gehéim",
      "POD=web",
      "CPUS=4",
    ]);
  });

  test("lets env go over envFrom, later sources over earlier, and both over services", async () => {
    const cluster = new FakeCluster();
    cluster.configMaps = { first: { A: "1", B: "1" }, second: { B: "2", C: "2" } };
    cluster.services = [{ metadata: { name: "db", namespace: "shop" }, spec: { clusterIP: "10.96.0.9" } }];
    const envFrom = [{ configMapRef: { name: "first" } }, { configMapRef: { name: "second" } }];
    const env = [
      { name: "C", value: "3" },
      { name: "DB_SERVICE_HOST", value: "mine" },
    ];

    expect(await lines(cluster.resolve({ envFrom, env }))).toEqual(["A=1", "B=2", "C=3", "DB_SERVICE_HOST=mine"]);
  });

  test("expands references to what came before and to services, and leaves the others", async () => {
    const cluster = new FakeCluster();
    cluster.services = [{ metadata: { name: "db", namespace: "shop" }, spec: { clusterIP: "10.96.0.9" } }];
    cluster.configMaps = { settings: { REF: "$(A)" } };
    const env = [
      { name: "A", value: "1" },
      { name: "B", value: "$(A)-$(LATER)-$$(A)-$(DB_SERVICE_HOST)" },
      { name: "C", valueFrom: { configMapKeyRef: { name: "settings", key: "REF" } } },
      { name: "LATER", value: "2" },
    ];

    expect(await lines(cluster.resolve({ env }))).toEqual([
      "A=1",
      "B=1-$(LATER)-$(A)-10.96.0.9",
      "C=$(A)",
      "LATER=2",
      "DB_SERVICE_HOST=10.96.0.9",
    ]);
  });

  test("puts the prefix before every key, takes relaxed names, and reports the rest sorted", async () => {
    const cluster = new FakeCluster();
    cluster.configMaps = { settings: { "z=z": "1", "a.b-c": "2", "1st": "3", ä: "4" } };

    expect(await lines(cluster.resolve({ envFrom: [{ prefix: "P_", configMapRef: { name: "settings" } }] }))).toEqual([
      "P_1st=3",
      "P_a.b-c=2",
    ]);
    expect(cluster.events).toEqual([
      "uid-1 Warning InvalidEnvironmentVariableNames: keys [P_z=z, P_ä] from configmap shop/settings were skipped since they are invalid as environment variable names",
    ]);
  });

  test("has the API server's service always, those of its namespace unless it wants none", async () => {
    const cluster = new FakeCluster();
    cluster.services = [
      { metadata: { name: "kubernetes", namespace: "default" }, spec: { clusterIP: "10.96.0.1" } },
      { metadata: { name: "db", namespace: "shop" }, spec: { clusterIP: "10.96.0.9" } },
      { metadata: { name: "far", namespace: "elsewhere" }, spec: { clusterIP: "10.96.0.8" } },
    ];

    expect(await lines(cluster.resolve({}))).toEqual(["DB_SERVICE_HOST=10.96.0.9", "KUBERNETES_SERVICE_HOST=10.96.0.1"]);
    expect(await lines(cluster.resolve({}, { enableServiceLinks: false }))).toEqual(["KUBERNETES_SERVICE_HOST=10.96.0.1"]);
  });

  test("takes the address of a pod from who knows it first", async () => {
    const cluster = new FakeCluster();
    const resolved = cluster.resolve({ env: [{ name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }] });

    const error = await failure(resolved);
    expect(isUnavailable(error)).toBe(true);
    expect(waitingReasonOf(error)).toBe("CreateContainerConfigError");
    expect(await resolved.environment("app", signal, { podIPs: ["10.0.0.7"] })).toEqual([{ name: "IP", value: "10.0.0.7" }]);
  });

  test("serves init and ephemeral containers, too, and names the containers there are", async () => {
    const cluster = new FakeCluster();
    const resolved = cluster.resolve(
      {},
      {
        initContainers: [{ name: "setup", env: [{ name: "A", value: "1" }] }],
        ephemeralContainers: [{ name: "debug", env: [{ name: "B", value: "2" }] }],
      },
    );

    expect(await resolved.environment("setup", signal)).toEqual([{ name: "A", value: "1" }]);
    expect(await resolved.environment("debug", signal)).toEqual([{ name: "B", value: "2" }]);
    await expect(resolved.environment("nope", signal)).rejects.toThrow(
      'resolve container "nope" of pod web: there is none, expected one of setup, app, debug',
    );
  });
});

describe("what is missing", () => {
  const keyOf = (kind: "configMapKeyRef" | "secretKeyRef", optional?: boolean): Partial<Container> => ({
    env: [{ name: "A", valueFrom: { [kind]: { name: "x", key: "k", optional } } }],
  });
  const allOf = (kind: "configMapRef" | "secretRef", optional?: boolean): Partial<Container> => ({
    envFrom: [{ [kind]: { name: "x", optional } }],
  });

  test.each([
    ["a config map", keyOf("configMapKeyRef"), 'configmap "x" not found', "MandatoryConfigMapNotFound"],
    ["a secret", keyOf("secretKeyRef"), 'secret "x" not found', "MandatorySecretNotFound"],
    ["all of a config map", allOf("configMapRef"), 'configmap "x" not found', "MandatoryConfigMapNotFound"],
    ["all of a secret", allOf("secretRef"), 'secret "x" not found', "MandatorySecretNotFound"],
  ])("%s makes the pod wait in a kubelet's words, with virtual-kubelet's event", async (_, container, message, reason) => {
    const cluster = new FakeCluster();

    const error = await failure(cluster.resolve(container));

    expect(error).toMatchObject({ message });
    expect(isInvalidInput(error)).toBe(true);
    expect(waitingReasonOf(error)).toBe("CreateContainerConfigError");
    expect(cluster.events).toEqual([`uid-1 Warning ${reason}: ${message}`]);
  });

  test("a key makes the pod wait, too", async () => {
    const cluster = new FakeCluster();
    cluster.configMaps = { x: {} };
    cluster.secrets = { x: { other: "1" } };

    expect(await failure(cluster.resolve(keyOf("configMapKeyRef")))).toMatchObject({ message: "couldn't find key k in ConfigMap shop/x" });
    expect(await failure(cluster.resolve(keyOf("secretKeyRef")))).toMatchObject({ message: "couldn't find key k in Secret shop/x" });
    expect(cluster.events).toEqual([
      'uid-1 Warning MandatoryConfigMapKeyNotFound: key "k" does not exist in configmap "x"',
      'uid-1 Warning MandatorySecretKeyNotFound: key "k" does not exist in secret "x"',
    ]);
  });

  test("an optional source is left out, with an event", async () => {
    const cluster = new FakeCluster();
    cluster.configMaps = { x: {} };

    expect(await lines(cluster.resolve(keyOf("secretKeyRef", true)))).toEqual([]);
    expect(await lines(cluster.resolve(keyOf("configMapKeyRef", true)))).toEqual([]);
    expect(await lines(cluster.resolve(allOf("secretRef", true)))).toEqual([]);
    expect(cluster.events).toEqual([
      'uid-1 Warning OptionalSecretNotFound: skipping optional envvar "A": secret "x" not found',
      'uid-1 Warning OptionalConfigMapKeyNotFound: skipping optional envvar "A": key "k" does not exist in configmap "x"',
      'uid-1 Warning OptionalSecretNotFound: secret "x" not found',
    ]);
  });

  test("what cannot be read is no less wanted for being optional, and keeps its code", async () => {
    const cluster = new FakeCluster();
    cluster.failure = new ForbiddenError("get secrets shop/x: no");
    const forbidden = await failure(cluster.resolve(keyOf("secretKeyRef", true)));
    cluster.failure = new UnavailableError("connection refused");
    const unavailable = await failure(cluster.resolve(keyOf("secretKeyRef")));

    expect([isForbidden(forbidden), isUnavailable(unavailable)]).toEqual([true, true]);
    expect([waitingReasonOf(forbidden), waitingReasonOf(unavailable)]).toEqual([
      "CreateContainerConfigError",
      "CreateContainerConfigError",
    ]);
    expect(forbidden).toMatchObject({ message: 'failed to read secret "x": get secrets shop/x: no' });
    expect(cluster.events).toEqual([
      'uid-1 Warning FailedToReadOptionalSecret: skipping optional envvar "A": failed to read secret "x"',
      'uid-1 Warning FailedToReadMandatorySecret: failed to read secret "x"',
    ]);
  });

  test("a file in a volume is not supported, and the field is named", async () => {
    const error = await failure(
      new FakeCluster().resolve({ env: [{ name: "A", valueFrom: { fileKeyRef: { volumeName: "v", path: "p", key: "k" } } }] }),
    );

    expect(isUnsupported(error)).toBe(true);
    expect(waitingReasonOf(error)).toBeUndefined();
  });

  test("the reason is found through a provider's own error", () => {
    expect(
      waitingReasonOf(
        new Error("create container", { cause: Object.assign(new Error("x"), { waitingReason: "CreateContainerConfigError" }) }),
      ),
    ).toBe("CreateContainerConfigError");
    expect(waitingReasonOf(new Error("other"))).toBeUndefined();
    expect(waitingReasonOf(undefined)).toBeUndefined();
  });
});

describe("reading", () => {
  const env = [{ name: "A", valueFrom: { secretKeyRef: { name: "keys", key: "token" } } }];

  test("is lazy, and done once for all that ask", async () => {
    const cluster = new FakeCluster();
    cluster.secrets = { keys: { token: "t" } };
    const resolved = cluster.resolve(
      { env, command: ["run", "$(A)"], args: ["$(B)", "$$(A)"] },
      { initContainers: [{ name: "setup", env }], enableServiceLinks: false },
    );
    expect(cluster.reads).toEqual([]);

    const [, , commandLine] = await Promise.all([
      resolved.environment("app", signal),
      resolved.environment("setup", signal),
      resolved.commandLine("app", signal),
    ]);

    expect(commandLine).toEqual({ command: ["run", "t"], args: ["$(B)", "$(A)"] });
    expect(cluster.reads).toEqual(["services default", "secret shop/keys"]);
  });

  test("ends with the signal's reason when aborted", async () => {
    const cluster = new FakeCluster();
    const resolver = createPodResolver({ ...fakeOptions(), getSecret: () => new Promise(() => {}) });
    const abort = new AbortController();
    const waiting = resolver({ metadata: { namespace: "shop" }, spec: { containers: [{ name: "app", env }] } }).environment(
      "app",
      abort.signal,
    );

    abort.abort(new Error("stop"));

    await expect(waiting).rejects.toThrow("stop");
    await expect(cluster.resolve({ env }).environment("app", abort.signal)).rejects.toThrow("stop");
  });

  function fakeOptions(): Parameters<typeof createPodResolver>[0] {
    return {
      getSecret: async () => ({}),
      getConfigMap: async () => ({}),
      listServices: async () => [],
      node: () => undefined,
      hostIPs: () => [],
      volumesOf: () => noVolumes,
      recorder: { event() {} },
    };
  }
});

describe("services", () => {
  test("that cannot be listed make the pod wait with a kubelet's reason", async () => {
    const resolve = createPodResolver({
      getConfigMap: () => Promise.reject(new Error("not asked")),
      getSecret: () => Promise.reject(new Error("not asked")),
      listServices: () => Promise.reject(new UnavailableError("connection refused")),
      node: () => undefined,
      hostIPs: () => [],
      volumesOf: () => noVolumes,
      recorder: { event: () => {} },
    });
    const error: unknown = await resolve({ metadata: { name: "web" }, spec: { containers: [{ name: "app" }] } })
      .environment("app", signal)
      .catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ message: "failed to list services when setting up env vars: connection refused" });
    expect(waitingReasonOf(error)).toBe("CreateContainerConfigError");
    expect(isUnavailable(error)).toBe(true);
  });

  test("of the namespace default are not listed where pods reach the API server in another way", async () => {
    const asked: string[] = [];
    const resolve = createPodResolver({
      getConfigMap: () => Promise.reject(new Error("not asked")),
      getSecret: () => Promise.reject(new Error("not asked")),
      listServices: async (namespace) => (asked.push(namespace), []),
      node: () => undefined,
      hostIPs: () => [],
      volumesOf: () => noVolumes,
      recorder: { event: () => {} },
      apiServerForPods: { host: "api.example.com" },
    });
    const resolved = resolve({ metadata: { name: "web", namespace: "shop" }, spec: { containers: [{ name: "app" }] } });

    expect(await lines(resolved)).toContain("KUBERNETES_SERVICE_HOST=api.example.com");
    expect(asked).toEqual(["shop"]);
  });
});

describe("for a back end that mounts by itself", () => {
  test("config maps and secrets are those of the pod's namespace, and are kept for the pod", async () => {
    const asked: unknown[] = [];
    const resolved = createPodResolver({
      getConfigMap: async (namespace, name, _signal, uid, keep) => (asked.push([namespace, name, uid, keep]), { data: { a: "1" } }),
      getSecret: async (namespace, name, _signal, uid, keep) => (asked.push([namespace, name, uid, keep]), { type: "Opaque" }),
      listServices: async () => [],
      node: () => undefined,
      hostIPs: () => [],
      volumesOf: () => noVolumes,
      recorder: { event: () => {} },
    })({ metadata: { name: "web", namespace: "shop", uid: "uid-1" }, spec: { containers: [] } });

    expect(await resolved.configMap("settings", signal)).toEqual({ data: { a: "1" } });
    expect(await resolved.secret("keys", signal)).toEqual({ type: "Opaque" });
    expect(asked).toEqual([
      ["shop", "settings", "uid-1", true],
      ["shop", "keys", "uid-1", true],
    ]);
  });

  test("a missing object is an error about that object, which is no message that the pod is gone", async () => {
    const resolved = new FakeCluster().resolve({});
    for (const reading of [resolved.configMap("settings", signal), resolved.secret("keys", signal)]) {
      const error: unknown = await reading.catch((thrown: unknown) => thrown);
      expect([isNotFound(error), isPodNotFound(error)]).toEqual([true, false]);
    }
  });

  test("service variables are those that the environment has", async () => {
    const cluster = new FakeCluster();
    cluster.services = [
      { metadata: { name: "kubernetes", namespace: "default" }, spec: { clusterIP: "10.96.0.1" } },
      { metadata: { name: "db", namespace: "shop" }, spec: { clusterIP: "10.96.0.9" } },
    ];
    const hosts = async (resolved: ResolvedPod): Promise<string[]> =>
      (await resolved.serviceVariables(signal)).map(({ name, value }) => `${name}=${value}`);

    expect(await hosts(cluster.resolve({}))).toEqual(["DB_SERVICE_HOST=10.96.0.9", "KUBERNETES_SERVICE_HOST=10.96.0.1"]);
    expect(await hosts(cluster.resolve({}, { enableServiceLinks: false }))).toEqual(["KUBERNETES_SERVICE_HOST=10.96.0.1"]);
  });
});

test("one environment is made for each address that a pod is said to have", async () => {
  const cluster = new FakeCluster();
  const resolved = cluster.resolve({ env: [{ name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIPs" } } }] });
  const at = async (...podIPs: string[]): Promise<string | undefined> =>
    (await resolved.environment("app", signal, { podIPs })).find(({ name }) => name === "IP")?.value;

  expect(await at("10.0.0.1")).toBe("10.0.0.1");
  expect(await at("10.0.0.1", "fd00::1")).toBe("10.0.0.1,fd00::1");
  expect(await at("10.0.0.2")).toBe("10.0.0.2");
});

test("a command line is expanded from the environment, and volumes are those of the pod", async () => {
  const cluster = new FakeCluster();
  const resolved = cluster.resolve({ env: [{ name: "A", value: "1" }], command: ["run", "$(A)"], args: ["$(A)-$(B)"] });

  expect(await resolved.commandLine("app", signal)).toEqual({ command: ["run", "1"], args: ["1-$(B)"] });
  expect(await cluster.resolve({}).commandLine("app", signal)).toEqual({ command: [], args: [] });
  expect(await resolved.volume("v", signal)).toEqual({ files: [] });
  const watched: unknown[] = [];
  for await (const payload of resolved.watchVolume("v", signal)) watched.push(payload);
  expect(watched).toEqual([]);
});
