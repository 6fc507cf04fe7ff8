import { ForbiddenError, isConflict, isDeadlineExceeded, isForbidden, isQuotaExceeded, isUnsupported } from "@virtual-kubelet/errdefs";
import { waitingReasonOf } from "@virtual-kubelet/core";
import { resources, type Pod, type TransportRequest } from "@virtual-kubelet/kube-client";
import { ScriptedTransport } from "@virtual-kubelet/kube-client/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { podSecretName } from "../identity/names.ts";
import { startCarryRig, type CarrierOfNode, type CarryRig } from "../test-support/carry-rig.ts";
import { homePod } from "../test-support/translation.ts";

const { signal } = new AbortController();
const minuteMs = 60_000;
const base64 = (text: string): string => Buffer.from(text).toString("base64");
let rig: CarryRig;

beforeEach(async () => {
  rig = await startCarryRig();
});
afterEach(() => rig[Symbol.asyncDispose]());

/** A pod that uses the config map `settings` and the secret `db`. */
function appPod(name = "web"): Pod {
  const pod = homePod(
    {
      containers: [
        { name: "main", image: "nginx:1", env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } }] },
      ],
      volumes: [{ name: "settings", configMap: { name: "settings" } }],
      imagePullSecrets: [{ name: "registry" }],
    },
    { name, uid: `uid-of-${name}` },
  );
  rig.home.addPod(pod);
  return pod;
}

/** A pod whose volume has its name as a file. */
function labeledPod(name = "web"): Pod {
  const volume = { name: "about", downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } };
  const pod = homePod({ volumes: [volume] }, { name, uid: `uid-of-${name}` });
  rig.home.addPod(pod);
  return pod;
}

function putAll(): void {
  rig.home.put("ConfigMap", "settings", { data: { "a.conf": "1" }, binaryData: { logo: "AAEC" } });
  rig.home.put("Secret", "db", { type: "Opaque", data: { password: base64("correct horse") } });
  rig.home.put("Secret", "registry", { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": base64("{}") } });
}

/** A far pod that uses copies of what there is at home. */
async function running(node: CarrierOfNode, pod = appPod()): Promise<Pod> {
  await node.provide(pod);
  const far = await node.createFar(pod);
  await rig.pass(1_000);
  return far;
}

describe("before a pod is created, what it refers to is copied", () => {
  test("with all values, the secrets' types, and tags of the node", async () => {
    await using node = rig.open();
    putAll();

    await node.provide(appPod());

    expect(await rig.copy("ConfigMap", "settings")).toMatchObject({
      metadata: {
        labels: { "virtual-kubelet.io/cluster": "home", "virtual-kubelet.io/node": "virtual" },
        annotations: { "virtual-kubelet.io/copy-of": "shop/settings" },
        ownerReferences: [{ kind: "ConfigMap", controller: true }],
      },
      data: { "a.conf": "1" },
      binaryData: { logo: "AAEC" },
    });
    expect(await rig.copy("Secret", "db")).toMatchObject({ type: "Opaque", data: { password: base64("correct horse") } });
    expect(await rig.copy("Secret", "registry")).toMatchObject({ type: "kubernetes.io/dockerconfigjson" });
  });

  test("once for all pods, and without a request when nothing changed", async () => {
    await using node = rig.open();
    putAll();
    await Promise.all(["a", "b", "c"].map((name) => node.provide(appPod(name))));
    const writes = rig.requests.filter((request) => !request.startsWith("GET"));
    rig.requests.length = 0;

    await node.provide(appPod("d"));

    expect(writes.filter((request) => request.endsWith("/secrets"))).toHaveLength(2);
    expect(writes.filter((request) => request.endsWith("/configmaps"))).toHaveLength(2);
    expect(rig.requests).toEqual([]);
  });

  test("except what is missing at home: the far pod waits for it, and gets it when it appears", async () => {
    await using node = rig.open();
    await node.provide(appPod());
    expect(await rig.copy("Secret", "db")).toBeUndefined();

    putAll();
    await rig.pass(1_000);

    expect(await rig.copy("Secret", "db")).toMatchObject({ data: { password: base64("correct horse") } });
  });

  test("without the far cluster's help: what is immutable at home can be changed in the copy", async () => {
    await using node = rig.open();
    putAll();
    rig.home.put("ConfigMap", "settings", { immutable: true, data: { "a.conf": "1" } });
    await running(node);

    rig.home.put("ConfigMap", "settings", { immutable: true, data: { "b.conf": "2" } }, "another-uid");
    await rig.pass(1_000);

    expect(await rig.copy("ConfigMap", "settings")).toMatchObject({ data: { "b.conf": "2" } });
    expect(await rig.copy("ConfigMap", "settings")).not.toHaveProperty("immutable");
  });

  test("but never the token of a service account, and the pod is told the field", async () => {
    await using node = rig.open();
    putAll();
    rig.home.put("Secret", "db", { type: "kubernetes.io/service-account-token", data: { token: base64("secret-token") } });

    const refusal = node.provide(appPod());

    await expect(refusal).rejects.toSatisfy(isUnsupported);
    await expect(refusal).rejects.toThrow("spec.containers[0].env[0].valueFrom.secretKeyRef");
    expect(await rig.copy("Secret", "db")).toBeUndefined();
  });

  test("in its own far namespace, if there are several", async () => {
    await using node = rig.open({ config: { namespaces: { mode: "prefix", prefix: "home-", create: true } } });
    putAll();

    await node.provide(appPod());

    const { items } = await rig.client.list(resources.secrets, { namespace: "home-shop" }, { signal });
    expect(items.map(({ metadata }) => metadata?.annotations?.["virtual-kubelet.io/copy-of"]).sort()).toEqual(["shop/db", "shop/registry"]);
  });
});

describe("a pod waits as CreateContainerConfigError", () => {
  const expectWaiting = async (node: CarrierOfNode, isExpected: (error: unknown) => boolean, message: string): Promise<void> => {
    const error = await node.provide(appPod()).catch((thrown: unknown) => thrown);
    expect(error).toSatisfy(isExpected);
    expect(String(error)).toContain(message);
    expect(waitingReasonOf(error)).toBe("CreateContainerConfigError");
  };

  test("while an object of somebody else has the copy's name, which is left alone", async () => {
    await using node = rig.open();
    putAll();
    await node.provide(appPod());
    const name = (await rig.copy("Secret", "db"))?.metadata?.name ?? "";
    await rig.client.delete(resources.secrets, { namespace: "far", name }, {}, { signal });
    await rig.client.create(resources.secrets, { metadata: { namespace: "far", name }, data: { mine: "eA==" } }, { signal });
    await rig.pass(1_000);

    await expectWaiting(node, isConflict, "an object of that name exists");

    expect(await rig.copy("Secret", "db")).toMatchObject({ data: { mine: "eA==" } });
  });

  test("while the far cluster's quota is used up", async () => {
    await using node = rig.open();
    putAll();
    using _quota = rig.server.faults.inject(
      { verb: "create", resource: "secrets" },
      { kind: "status", status: 403, message: 'secrets "db" is forbidden: exceeded quota: few, requested: count/secrets=1' },
    );

    await expectWaiting(node, isQuotaExceeded, "exceeded quota: few");
  });

  test("while the rights in the far cluster do not suffice", async () => {
    await using node = rig.open();
    putAll();
    using _denied = rig.server.faults.inject({ verb: "create", resource: "secrets" }, { kind: "status", status: 403 });

    await expectWaiting(node, isForbidden, "secret shop/db cannot be copied to far/");
  });

  test("and an answer that quotes the secret is not passed on", async () => {
    await using node = rig.open();
    putAll();
    const message = `webhook denied: {"password":"${base64("correct horse")}","text":"correct horse"}`;
    using _webhook = rig.server.faults.inject({ verb: "create", resource: "secrets" }, { kind: "status", status: 403, message });

    const error: unknown = await node.provide(appPod()).catch((thrown: unknown) => thrown);

    expect(String(error)).toContain("webhook denied");
    expect(JSON.stringify([String(error), node.logs, node.events])).not.toMatch(/correct horse|Y29ycmVjdCBob3JzZQ/);
  });

  test.for([
    ["cut", "token=dG9wLXNlY3JldC1vbm", /dG9wLXNlY3JldC1vbm/],
    ["a single line", "invalid line: c2Vjb25kTGluZU9mS2V5", /c2Vjb25kTGluZU9mS2V5/],
    ["as Go does", String.raw`{"password":"a\u0026b\u003cc\u003e"}`, /u003c/],
  ] as const)("and an answer that quotes the secret %s is not passed on", async ([, quotation, leaked]) => {
    await using node = rig.open();
    putAll();
    const data = {
      token: base64("top-secret-one-that-is-long"),
      key: base64("begin\nc2Vjb25kTGluZU9mS2V5\nend\n"),
      password: base64("a&b<c>"),
    };
    rig.home.put("Secret", "db", { data });
    using _webhook = rig.server.faults.inject(
      { verb: "create", resource: "secrets" },
      { kind: "status", status: 403, message: `webhook denied: ${quotation}` },
    );

    const error: unknown = await node.provide(appPod()).catch((thrown: unknown) => thrown);

    expect(String(error)).toContain("webhook denied");
    expect(JSON.stringify([String(error), node.logs, node.events])).not.toMatch(leaked);
  });

  test("and a home object that may not be read has core's own error", async () => {
    await using node = rig.open();
    rig.home.failure = new ForbiddenError("secrets is forbidden");

    await expect(node.provide(appPod())).rejects.toThrow("secrets is forbidden");
  });
});

describe("while far pods use it, a copy", () => {
  test("follows its home object", async () => {
    await using node = rig.open();
    putAll();
    await running(node);

    rig.home.put("Secret", "db", { data: { user: base64("app") } });
    await rig.pass(1_000);

    expect((await rig.copy("Secret", "db"))?.data).toEqual({ user: base64("app") });
  });

  test("of an object that changes a hundred times a second is written once a second, and then has the last values", async () => {
    await using node = rig.open();
    putAll();
    await running(node);
    rig.requests.length = 0;

    for (let change = 1; change <= 500; change++) {
      rig.home.put("ConfigMap", "settings", { data: { "a.conf": `change ${change}` } });
      await rig.pass(10);
    }
    await rig.pass(1_000);

    const writes = rig.requests.filter((request) => request.startsWith("PATCH"));
    expect(writes.length).toBeGreaterThanOrEqual(4);
    expect(writes.length).toBeLessThanOrEqual(7);
    expect(await rig.copy("ConfigMap", "settings")).toMatchObject({ data: { "a.conf": "change 500" } });
  });

  test("goes with its home object, and comes back with it", async () => {
    await using node = rig.open();
    putAll();
    await running(node);

    rig.home.remove("Secret", "db");
    await rig.pass(1_000);
    const gone = await rig.copy("Secret", "db");
    rig.home.put("Secret", "db", { type: "kubernetes.io/basic-auth", data: { password: base64("new") } }, "another-uid");
    await rig.pass(1_000);

    expect(gone).toBeUndefined();
    expect(await rig.copy("Secret", "db")).toMatchObject({ type: "kubernetes.io/basic-auth", data: { password: base64("new") } });
  });

  test("gets another type, although a secret's type cannot be changed", async () => {
    await using node = rig.open();
    putAll();
    await running(node);

    rig.home.put("Secret", "db", { type: "example.com/other", data: {} }, "another-uid");
    await rig.pass(1_000);

    expect(await rig.copy("Secret", "db")).toMatchObject({ type: "example.com/other" });
    expect(node.events).toEqual([]);
  });

  test.each([
    ["changes it", { data: { password: null, evil: "eA==" } }],
    ["makes it immutable", { immutable: true, data: { password: "eA==" } }],
  ])("is restored when somebody %s in the far cluster", async (_, body) => {
    await using node = rig.open();
    putAll();
    await running(node);
    const name = (await rig.copy("Secret", "db"))?.metadata?.name ?? "";

    await rig.client.patch(resources.secrets, { namespace: "far", name }, { type: "merge", body }, { signal });
    await rig.pass(1_000);

    expect((await rig.copy("Secret", "db"))?.data).toEqual({ password: base64("correct horse") });
    expect(node.events).toEqual([]);
  });

  test("is restored when somebody deletes it in the far cluster", async () => {
    await using node = rig.open();
    putAll();
    await running(node);
    const name = (await rig.copy("ConfigMap", "settings"))?.metadata?.name ?? "";

    await rig.client.delete(resources.configMaps, { namespace: "far", name }, {}, { signal });
    await rig.pass(1_000);

    expect(await rig.copy("ConfigMap", "settings")).toMatchObject({ data: { "a.conf": "1" } });
  });

  test("is restored less and less often when something changes it all the time", async () => {
    await using node = rig.open();
    putAll();
    await running(node);
    const name = (await rig.copy("Secret", "db"))?.metadata?.name ?? "";
    rig.requests.length = 0;

    for (let second = 0; second < 600; second++) {
      const body = { data: { evil: base64(String(second)) } };
      await rig.client.patch(resources.secrets, { namespace: "far", name }, { type: "merge", body }, { signal });
      await rig.pass(1_000);
    }

    const patches = rig.requests.filter((request) => request.startsWith("PATCH"));
    expect(patches.length).toBeGreaterThan(3);
    expect(patches.length).toBeLessThan(30);
  });

  test("is kept up to date after failures, and one event tells a pod about them", async () => {
    await using node = rig.open();
    putAll();
    await running(node);
    {
      using _down = rig.server.faults.inject({ verb: "patch", resource: "secrets" }, { kind: "status", status: 503 });
      rig.home.put("Secret", "db", { data: { password: base64("second") } });
      await rig.pass(minuteMs);
      expect(node.events).toMatchObject([{ ref: { name: "web" }, event: { type: "Warning", reason: "FarCopyFailed" } }]);
    }
    await rig.pass(2 * minuteMs);

    expect((await rig.copy("Secret", "db"))?.data).toEqual({ password: base64("second") });
  });

  test("is written once more after an unclear outcome", async () => {
    await using node = rig.open();
    putAll();
    await running(node);
    using _lost = rig.server.faults.inject({ verb: "patch", resource: "secrets", times: 1 }, { kind: "reset", forward: true });

    rig.home.put("Secret", "db", { data: { password: base64("second") } });
    await rig.pass(5_000);
    rig.home.put("Secret", "db", { data: { password: base64("third") } });
    await rig.pass(5_000);

    expect((await rig.copy("Secret", "db"))?.data).toEqual({ password: base64("third") });
  });
});

describe("a far cluster that cannot be trusted", () => {
  test("does not keep pods waiting for a write that hangs", async () => {
    await using node = rig.open();
    putAll();
    {
      using _hang = rig.server.faults.inject({ verb: "create", resource: "secrets" }, { kind: "drop" });
      const waiting = node.provide(appPod()).catch((error: unknown) => error);
      await rig.pass(minuteMs);
      expect(await waiting).toSatisfy(isDeadlineExceeded);
    }

    await node.provide(appPod());

    expect(await rig.copy("Secret", "db")).toBeDefined();
  });

  test("says why its copies cannot be listed, and no pod is created without knowing them", async () => {
    using _denied = rig.server.faults.inject(
      { verb: ["list", "watch"], resource: "secrets" },
      { kind: "status", status: 403, message: "secrets is forbidden: far-user cannot list" },
    );
    await using node = rig.open();
    putAll();

    const waiting = node.provide(appPod()).catch((error: unknown) => error);
    await rig.pass(minuteMs);

    expect(String(await waiting)).toContain("cannot be listed");
    expect(String(await waiting)).toContain("far-user cannot list");
  });

  test("loses no copy when a proxy answers that there are no pods", async () => {
    const noPods = { apiVersion: "v1", kind: "PodList", metadata: { resourceVersion: "1" }, items: [] };
    let isLying = false;
    const isPodList = ({ method, path }: TransportRequest): boolean =>
      method === "GET" && path.includes("/pods?") && !path.includes("watch=");
    await using lying = await startCarryRig((transport) => ({
      async request(request) {
        if (!isLying || !isPodList(request)) return transport.request(request);
        return new ScriptedTransport(() => ({ body: noPods })).request(request);
      },
      [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
    }));
    const pods = ["left", "kept"].map((name) =>
      homePod({ volumes: [{ name: "of", configMap: { name: `of-${name}` } }] }, { name, uid: name }),
    );
    {
      await using before = lying.open();
      for (const pod of pods) {
        lying.home.addPod(pod);
        lying.home.put("ConfigMap", `of-${pod.metadata?.name}`, { data: { a: "1" } });
        await before.provide(pod);
      }
      for (const pod of pods.slice(1)) await before.createFar(pod);
      for (const pod of pods) lying.home.removePod(pod);
    }
    await using node = lying.open();
    isLying = true;
    await lying.pass(10 * minuteMs);
    const during = await lying.copy("ConfigMap", "of-left");
    isLying = false;
    await lying.pass(2 * minuteMs);

    expect(during).toBeDefined();
    expect(node.logs.join()).toContain("lists no pods in namespace far, but its watch shows 1");
    expect(await lying.copy("ConfigMap", "of-left")).toBeUndefined();
    expect(await lying.copy("ConfigMap", "of-kept")).toBeDefined();
  });
});

describe("a copy that no far pod uses", () => {
  test("is kept for five minutes, and then removed", async () => {
    await using node = rig.open();
    putAll();
    const pod = appPod();
    const { metadata } = await running(node, pod);
    rig.home.removePod(pod);
    await rig.client.delete(resources.pods, { namespace: "far", name: metadata?.name ?? "" }, { gracePeriodSeconds: 0 }, { signal });

    await rig.pass(4 * minuteMs);
    expect(await rig.copy("Secret", "db")).toBeDefined();
    await rig.pass(2 * minuteMs);

    expect(await rig.copy("Secret", "db")).toBeUndefined();
    expect(await rig.copy("ConfigMap", "settings")).toBeUndefined();
  });

  test("stays if another pod takes it over in that time", async () => {
    await using node = rig.open();
    putAll();
    const pod = appPod();
    const { metadata } = await running(node, pod);
    rig.home.removePod(pod);
    await rig.client.delete(resources.pods, { namespace: "far", name: metadata?.name ?? "" }, { gracePeriodSeconds: 0 }, { signal });
    await rig.pass(4 * minuteMs);

    await running(node, appPod("next"));
    await rig.pass(10 * minuteMs);

    expect(await rig.copy("Secret", "db")).toBeDefined();
  });

  test("is removed also if the pod never got as far as the far cluster", async () => {
    await using node = rig.open();
    putAll();
    const pod = appPod();
    await node.provide(pod);
    rig.home.removePod(pod);

    await rig.pass(8 * minuteMs);

    expect(await rig.copy("Secret", "db")).toBeUndefined();
  });

  test("stays while the far cluster does not say which pods there are", async () => {
    await using node = rig.open();
    putAll();
    const pod = appPod();
    await node.provide(pod);
    rig.home.removePod(pod);
    using _cut = rig.server.faults.disrupt({ resource: "pods" }, { kind: "cut", cutOff: "reset" });
    using _away = rig.server.faults.inject({ verb: ["list", "watch"], resource: "pods" }, { kind: "status", status: 403 });

    await rig.pass(30 * minuteMs);

    expect(await rig.copy("Secret", "db")).toBeDefined();
  });
});

test("a far pod that uses no object costs no look at its home pod", async () => {
  await using node = rig.open();
  const plain = homePod();
  rig.home.addPod(plain);
  const looked: string[] = [];
  const { findPod } = rig.home;
  rig.home.findPod = (ref) => {
    looked.push(ref.name);
    return findPod.call(rig.home, ref);
  };

  await node.createFar(plain);
  await node.createFar(appPod("app"));
  await rig.pass(1_000);

  expect(new Set(looked)).toEqual(new Set(["app"]));
});

describe("after a restart of the program", () => {
  test("copies that are up to date are recognized without a request", async () => {
    putAll();
    {
      await using before = rig.open();
      await running(before);
    }
    rig.requests.length = 0;
    await using node = rig.open();
    await rig.pass(1_000);

    await node.provide(appPod("second"));

    expect(rig.requests).toEqual([]);
  });

  test("copies follow their home objects again, also if a change was missed", async () => {
    putAll();
    {
      await using before = rig.open();
      await running(before);
    }
    rig.home.put("Secret", "db", { data: { password: base64("missed") } });
    await using _node = rig.open();
    await rig.pass(1_000);
    const first = (await rig.copy("Secret", "db"))?.data;
    rig.home.put("Secret", "db", { data: { password: base64("next") } });
    await rig.pass(1_000);

    expect(first).toEqual({ password: base64("missed") });
    expect((await rig.copy("Secret", "db"))?.data).toEqual({ password: base64("next") });
  });

  test.each([0, 1])("copies follow their home objects also when one of several pods has ended (%i)", async (first) => {
    putAll();
    const pods = [appPod("a"), appPod("b")];
    {
      await using before = rig.open();
      for (const pod of pods) await running(before, pod);
    }
    rig.home.restart();
    await using _node = rig.open();
    await rig.pass(1_000);

    for (const pod of pods.slice(first, first + 1)) rig.home.removePod(pod);
    rig.home.put("Secret", "db", { data: { password: base64("next") } });
    await rig.pass(1_000);

    expect((await rig.copy("Secret", "db"))?.data).toEqual({ password: base64("next") });
  });

  test("what only a debug container refers to that is not in the far pod stays at home", async () => {
    const config = { carry: { secrets: ["db", "registry"] } };
    putAll();
    rig.home.put("Secret", "keys", { type: "Opaque", data: { key: base64("secret") } });
    const pod = appPod();
    {
      await using before = rig.open({ config });
      await running(before, pod);
    }
    const debug = { name: "debug", image: "busybox", envFrom: [{ secretRef: { name: "keys" } }] };
    rig.home.addPod({ ...pod, spec: { containers: [], ...pod.spec, ephemeralContainers: [debug] } });

    await using _node = rig.open({ config });
    await rig.pass(5 * minuteMs);

    expect(await rig.copy("Secret", "db")).toBeDefined();
    expect(await rig.copy("Secret", "keys")).toBeUndefined();
  });

  test("what somebody changed in between is found within minutes", async () => {
    putAll();
    {
      await using before = rig.open();
      await running(before);
    }
    const name = (await rig.copy("Secret", "db"))?.metadata?.name ?? "";
    await rig.client.patch(resources.secrets, { namespace: "far", name }, { type: "merge", body: { data: { evil: "eA==" } } }, { signal });
    await using _node = rig.open();

    await rig.pass(5 * minuteMs);

    expect((await rig.copy("Secret", "db"))?.data).toEqual({ password: base64("correct horse") });
  });

  test("copies of far pods are kept while the home cluster's pods are unknown", async () => {
    putAll();
    const pod = appPod();
    {
      await using before = rig.open();
      await running(before, pod);
    }
    rig.home.removePod(pod);
    await using _node = rig.open();

    await rig.pass(60 * minuteMs);
    expect(await rig.copy("Secret", "db")).toBeDefined();

    rig.home.addPod(pod);
    rig.home.put("Secret", "db", { data: { password: base64("next") } });
    await rig.pass(minuteMs);
    expect((await rig.copy("Secret", "db"))?.data).toEqual({ password: base64("next") });
  });

  test("copies and secrets of pods that no far pod uses are removed after five minutes, and nothing else", async () => {
    putAll();
    const [pod, other] = [appPod(), labeledPod("other")];
    rig.home.setFiles("about", { name: "other" });
    {
      await using before = rig.open();
      await before.provide(pod);
      await before.provide(other);
    }
    rig.home.removePod(pod);
    rig.home.removePod(other);
    await using anotherNode = rig.open({ nodeName: "another" });
    await anotherNode.provide(appPod());
    await rig.client.create(resources.configMaps, { metadata: { namespace: "far", name: "foreign" } }, { signal });
    await using _node = rig.open();

    await rig.pass(4 * minuteMs);
    expect(await rig.copy("Secret", "db")).toBeDefined();
    await rig.pass(4 * minuteMs);

    const { items } = await rig.client.list(resources.secrets, { namespace: "far" }, { signal });
    expect(items.map(({ metadata }) => metadata?.labels?.["virtual-kubelet.io/node"])).toEqual(["another", "another"]);
    expect(await rig.find("ConfigMap", "foreign")).toBeDefined();
  });
});

describe("the files that only one pod has", () => {
  const owner = { clusterId: "home" };
  const secretOf = (name: string): Promise<unknown> =>
    rig.find("Secret", podSecretName(owner, { namespace: "shop", name, uid: `uid-of-${name}` }));

  test("are keys of its own secret, which follows them and goes with the far pod", async () => {
    await using node = rig.open();
    rig.home.setFiles("about", { name: "web" });
    const pod = labeledPod();
    const far = await running(node, pod);
    const before = await secretOf("web");
    rig.home.setFiles("about", { name: "renewed" });
    await rig.pass(1_000);
    const after = await secretOf("web");
    rig.home.removePod(pod);
    await rig.client.delete(resources.pods, { namespace: "far", name: far.metadata?.name ?? "" }, { gracePeriodSeconds: 0 }, { signal });
    await rig.pass(1_000);

    const key = far.spec?.volumes?.[0]?.secret?.items?.[0]?.key ?? "";
    expect(before).toMatchObject({ data: { [key]: base64("web") }, metadata: { labels: { "virtual-kubelet.io/pod-uid": "uid-of-web" } } });
    expect(after).toMatchObject({ data: { [key]: base64("renewed") } });
    expect(await secretOf("web")).toBeUndefined();
  });

  test("follow again after a restart of the program", async () => {
    rig.home.setFiles("about", { name: "web" });
    const pod = labeledPod();
    {
      await using before = rig.open();
      await running(before, pod);
    }
    await using _node = rig.open();
    await rig.pass(1_000);

    rig.home.setFiles("about", { name: "renewed" });
    await rig.pass(1_000);

    expect(JSON.stringify(await secretOf("web"))).toContain(base64("renewed"));
  });

  test("leave no trace in annotations, logs and events", async () => {
    await using node = rig.open();
    rig.home.setFiles("about", { name: "a-secret-token" });
    await running(node, labeledPod());

    expect(JSON.stringify([node.logs, node.events])).not.toContain("a-secret-token");
    expect(JSON.stringify(((await secretOf("web")) as Pod).metadata)).not.toContain("copy-version");
  });
});
