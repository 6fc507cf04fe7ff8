import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import type { Api } from "./support/api.ts";
import { podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";
import { recorded } from "./support/recording.ts";
import { refusal } from "./support/refusals.ts";

const container = (resources: object = {}, name: string = "c"): object => ({ name, image: "a", resources });
const pod = (name: string, resources: object = {}, spec: object = {}): object =>
  podNamed(name, { containers: [container(resources)], ...spec });
const claim = (name: string, storage: string, spec: object = {}): object => ({
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], storageClassName: "", resources: { requests: { storage } }, ...spec },
});
const quota = (name: string, spec: object): object => ({ metadata: { name }, spec });

/**
 * Waits until the admission of the real server has the last quota with its usage in its cache. @param excess - exceeds that quota
 */
async function isEnforced(api: Api, path: string, name: string, excess: object): Promise<void> {
  await eventually(async () => expect((await api.post(`${path}?dryRun=All`, excess)).body.message).toContain(`exceeded quota: ${name},`), {
    timeoutMs: 60_000,
  });
}

/** Creates a quota and waits until its usage is known. */
async function createQuota(api: Api, core: string, name: string, spec: { readonly hard: object }): Promise<void> {
  await eventually(
    async () => {
      await api.create(`${core}/resourcequotas`, quota(name, spec));
      const used = await eventually(
        async () => {
          const seen = await usedOf(api, core, name);
          expect(Object.keys(seen)).toHaveLength(Object.keys(spec.hard).length);
          return seen;
        },
        { timeoutMs: 60_000 },
      );
      // The real controller counts what it has in its cache, which may not have the namespace's own config map, and not again for minutes.
      if ("configmaps" in used && used.configmaps !== "1") await api.delete(`${core}/resourcequotas/${name}`);
      expect({ configmaps: "1", ...used }).toMatchObject({ configmaps: "1" });
    },
    { timeoutMs: 90_000 },
  );
}

async function usedOf(api: Api, core: string, name: string): Promise<object> {
  return ((await api.get(`${core}/resourcequotas/${name}`)).body as { status: { used?: object } }).status.used ?? {};
}

async function expectUsed(api: Api, core: string, name: string, used: object): Promise<void> {
  await eventually(async () => expect(await usedOf(api, core, name)).toEqual(used), { timeoutMs: 60_000 });
}

/**
 * Waits until the real quota controller has the stored usage in its cache: it does not write a usage that equals the one in there. It has that
 * when it has answered a later change of the quota, which limits secrets from then on.
 */
async function usageIsCached(api: Api, core: string, name: string): Promise<void> {
  const path = `${core}/resourcequotas/${name}`;
  await api.patch("merge", path, { spec: { hard: { secrets: "9" } } });
  await eventually(async () => expect((await api.get(path)).body.status.hard).toMatchObject({ secrets: "9" }), { timeoutMs: 60_000 });
}

test("a limit range sets requests and limits that a pod lacks, and notes it", async ({ api, core }) => {
  await api.create(`${core}/limitranges`, {
    metadata: { name: "l" },
    spec: { limits: [{ type: "Container", default: { cpu: "500m", memory: "256Mi" }, defaultRequest: { cpu: "100m" } }] },
  });
  const answer = await api.create(
    `${core}/pods`,
    podNamed("a", { containers: [container(), container({ limits: { cpu: "1" } }, "d")], initContainers: [container({}, "i")] }),
  );
  const { metadata, spec } = answer as {
    metadata: { annotations: object };
    spec: Record<string, { name: string; resources: object }[]>;
  };
  const resources = [...(spec["initContainers"] ?? []), ...(spec["containers"] ?? [])].map((one) => ({ [one.name]: one.resources }));
  expect(recorded({ annotations: metadata.annotations, resources })).toMatchSnapshot();
});

test("pods and claims that break a limit range are refused", async ({ api, core }) => {
  await api.create(`${core}/limitranges`, {
    metadata: { name: "containers" },
    spec: {
      limits: [
        { type: "Container", min: { cpu: "100m" }, max: { cpu: "1" }, maxLimitRequestRatio: { cpu: "4" }, default: { cpu: "200m" } },
      ],
    },
  });
  // The real server's admission reads the limit ranges once by itself, as long as its cache has none; then the second comes from its cache.
  await api.post(`${core}/pods?dryRun=All`, pod("a"));
  await api.create(`${core}/limitranges`, {
    metadata: { name: "pods" },
    spec: {
      limits: [
        { type: "Pod", max: { memory: "1Gi" } },
        { type: "PersistentVolumeClaim", min: { storage: "1Gi" }, max: { storage: "2Gi" } },
      ],
    },
  });
  const memory = { memory: "100Mi" };
  const answers: Record<string, unknown> = {};
  const cases: Record<string, object> = {
    "too little": pod("a", { requests: { cpu: "50m", ...memory }, limits: { cpu: "60m", ...memory } }),
    "too much": pod("a", { requests: { cpu: "1", ...memory }, limits: { cpu: "2", ...memory } }),
    "too wide": pod("a", { requests: { cpu: "100m", ...memory }, limits: { cpu: "900m", ...memory } }),
    "no memory": pod("a"),
    "much memory": pod("a", { limits: { memory: "2Gi" } }),
    valid: pod("a", { limits: memory }),
  };
  // The real server's admission may see the first limit range before the second one.
  await eventually(async () => expect((await api.post(`${core}/pods?dryRun=All`, cases["much memory"])).status).toBe(403));
  for (const [name, object] of Object.entries(cases)) answers[name] = refusal(await api.post(`${core}/pods?dryRun=All`, object));
  for (const [name, storage] of [
    ["small claim", "100Mi"],
    ["large claim", "3Gi"],
    ["claim", "1Gi"],
  ] as const)
    answers[name] = refusal(await api.post(`${core}/persistentvolumeclaims?dryRun=All`, claim("a", storage)));
  expect(answers).toMatchSnapshot();
});

test("pods that exceed a quota are refused, and usage follows creation and deletion", async ({ api, core }) => {
  await createQuota(api, core, "q", { hard: { pods: "2", "requests.cpu": "1", "limits.memory": "1Gi", "count/pods": "5" } });
  const resources = { requests: { cpu: "400m" }, limits: { memory: "300Mi" } };
  await isEnforced(api, `${core}/pods`, "q", pod("a", { requests: { cpu: "1100m" }, limits: { memory: "2Gi" } }));
  expect({
    "nothing requested": refusal(await api.post(`${core}/pods`, pod("a"))),
    "no limit": refusal(await api.post(`${core}/pods`, pod("a", { requests: { cpu: "1m" } }))),
    "too much": refusal(await api.post(`${core}/pods`, pod("a", { requests: { cpu: "1100m" }, limits: { memory: "2Gi" } }))),
    "dry run": refusal(await api.post(`${core}/pods?dryRun=All`, pod("a", resources))),
    first: refusal(await api.post(`${core}/pods`, pod("a", resources))),
    second: refusal(await api.post(`${core}/pods`, pod("b", resources))),
    third: refusal(await api.post(`${core}/pods`, pod("c", resources))),
  }).toMatchSnapshot();
  await expectUsed(api, core, "q", { pods: "2", "requests.cpu": "800m", "limits.memory": "600Mi", "count/pods": "2" });
  await usageIsCached(api, core, "q");
  await api.delete(`${core}/pods/a?gracePeriodSeconds=0`);
  await expectUsed(api, core, "q", { pods: "1", "requests.cpu": "400m", "limits.memory": "300Mi", "count/pods": "1", secrets: "0" });
  await api.patch("merge", `${core}/pods/b/status`, { status: { phase: "Succeeded" } });
  await expectUsed(api, core, "q", { pods: "0", "requests.cpu": "0", "limits.memory": "0", "count/pods": "1", secrets: "0" });
});

test("services, claims and other objects are counted", async ({ api, core, apps }) => {
  await createQuota(api, core, "q", {
    hard: {
      services: "2",
      "services.nodeports": "1",
      "services.loadbalancers": "0",
      persistentvolumeclaims: "2",
      "requests.storage": "3Gi",
      "gold.storageclass.storage.k8s.io/requests.storage": "1Gi",
      configmaps: "2",
      secrets: "1",
      "count/deployments.apps": "0",
      replicationcontrollers: "0",
    },
  });
  const service = (name: string, spec: object): object => ({ metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } });
  await isEnforced(api, `${core}/services`, "q", service("a", { type: "LoadBalancer" }));
  const template = { metadata: { labels: { a: "b" } }, spec: { containers: [container()] } };
  expect({
    service: refusal(await api.post(`${core}/services`, service("a", { type: "NodePort" }))),
    "node port": refusal(await api.post(`${core}/services`, service("b", { type: "NodePort" }))),
    "load balancer": refusal(await api.post(`${core}/services`, service("b", { type: "LoadBalancer" }))),
    "second service": refusal(await api.post(`${core}/services`, service("b", {}))),
    "node port later": refusal(await api.patch("merge", `${core}/services/b`, { spec: { type: "NodePort" } })),
    "third service": refusal(await api.post(`${core}/services`, service("c", {}))),
    claim: refusal(await api.post(`${core}/persistentvolumeclaims`, claim("a", "2Gi"))),
    "large claim": refusal(await api.post(`${core}/persistentvolumeclaims`, claim("b", "2Gi"))),
    "golden claim": refusal(await api.post(`${core}/persistentvolumeclaims`, claim("b", "1.1Gi", { storageClassName: "gold" }))),
    "config map": refusal(await api.post(`${core}/configmaps`, { metadata: { name: "a" } })),
    "third config map": refusal(await api.post(`${core}/configmaps`, { metadata: { name: "b" } })),
    secret: refusal(await api.post(`${core}/secrets`, { metadata: { name: "a" } })),
    "second secret": refusal(await api.post(`${core}/secrets`, { metadata: { name: "b" } })),
    deployment: refusal(
      await api.post(`${apps}/deployments`, { metadata: { name: "a" }, spec: { selector: { matchLabels: { a: "b" } }, template } }),
    ),
    controller: refusal(await api.post(`${core}/replicationcontrollers`, { metadata: { name: "a" }, spec: { template } })),
  }).toMatchSnapshot();
});

test("a quota with scopes is about the pods in them only", async ({ api, core }) => {
  const hard = { pods: "0" };
  const selector = (scopeName: string, operator: string, values?: string[]): object => ({
    scopeSelector: { matchExpressions: [{ scopeName, operator, ...(values === undefined ? {} : { values }) }] },
  });
  await createQuota(api, core, "best-effort", { hard, scopes: ["BestEffort"] } as { hard: object });
  await createQuota(api, core, "terminating", { hard, scopes: ["Terminating"] } as { hard: object });
  await createQuota(api, core, "critical", { hard, ...selector("PriorityClass", "In", ["system-node-critical"]) });
  await createQuota(api, core, "far", { hard, ...selector("CrossNamespacePodAffinity", "Exists") });
  const requests = { requests: { cpu: "1m" } };
  const term = { topologyKey: "zone", namespaces: ["other"], labelSelector: {} };
  const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
  await isEnforced(api, `${core}/pods`, "far", pod("a", requests, { affinity }));
  const answers: Record<string, unknown> = {};
  for (const [name, object] of Object.entries({
    "best effort": pod("a"),
    burstable: pod("a", requests),
    terminating: pod("a", requests, { activeDeadlineSeconds: 5 }),
    critical: pod("a", requests, { priorityClassName: "system-node-critical" }),
    "other priority": pod("a", requests, { priorityClassName: "system-cluster-critical" }),
    far: pod("a", requests, { affinity }),
  }))
    answers[name] = refusal(await api.post(`${core}/pods?dryRun=All`, object));
  expect(answers).toMatchSnapshot();
});

test("a controller's pods are refused too, and it says so", async ({ api, core, apps, namespace }) => {
  await createQuota(api, core, "q", { hard: { pods: "1", configmaps: "0" } });
  await isEnforced(api, `${core}/configmaps`, "q", { metadata: { name: "a" } });
  await api.create(`${apps}/replicasets`, {
    metadata: { name: "r" },
    spec: {
      replicas: 2,
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { schedulerName: "nobody", containers: [container()] } },
    },
  });
  await eventually(
    async () => {
      const { items } = (await api.get(`${core}/events`)).body as { items: { reason: string; message: string }[] };
      const refused = items.filter(({ reason }) => reason === "FailedCreate").map(({ message }) => message);
      // The real server's admission may first see the quota without its usage.
      expect(refused.map((message) => message.replace(/"r-[a-z0-9]{5}"/, '"r-SUFFIX"').replace(namespace, "NAMESPACE"))).toContain(
        'Error creating: pods "r-SUFFIX" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1',
      );
    },
    { timeoutMs: 60_000 },
  );
});

test("a changed quota counts again", async ({ api, core }) => {
  await createQuota(api, core, "q", { hard: { configmaps: "10" } });
  await api.patch("merge", `${core}/resourcequotas/q`, { spec: { hard: { secrets: "3" } } });
  await expectUsed(api, core, "q", { configmaps: "1", secrets: "0" });
  const { body } = await api.get(`${core}/resourcequotas/q`);
  expect((body as { status: { hard: object } }).status.hard).toEqual({ configmaps: "10", secrets: "3" });
});
