import { TerminalError, UnavailableError, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { ConfigMap, Pod, Secret } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { planPod, type PlanPodOptions } from "./plan-pod.ts";
import type { ProviderDefinition } from "../provider/provider-definition.ts";

const { signal } = new AbortController();
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Plans one request: the first container's environment, and the files of all volumes. */
const provider: ProviderDefinition = {
  name: "paper",
  capabilities: { env: true, restarts: true, volumes: ["secret", "configMap", "projected"] },
  configSchema: { safeParse: (data) => ({ success: true, data }) },
  create: () => {
    throw new Error("a plan makes no provider");
  },
  async plan({ metadata, spec }, resolved, { nodeName, clusterId, config }, planSignal) {
    const files = await Promise.all((spec?.volumes ?? []).map(({ name }) => resolved.volume(name, planSignal)));
    const body = {
      pod: metadata?.name,
      tags: [clusterId, nodeName],
      config,
      env: await resolved.environment("main", planSignal),
      files: files.flatMap((volume) => volume.files.map(({ path, content }) => `${path}=${Buffer.from(content).toString()}`)),
    };
    return [{ purpose: "create the pod", method: "POST", path: "/pods", body }];
  },
};

function podWith(spec: Partial<NonNullable<Pod["spec"]>>, container: object = {}): Pod {
  return { metadata: { name: "web", namespace: "shop", uid: "u-1" }, spec: { containers: [{ name: "main", ...container }], ...spec } };
}

function plan(pod: Pod, options: Partial<PlanPodOptions> = {}): ReturnType<typeof planPod> {
  return planPod(
    { pod, provider, providerConfig: {}, nodeName: "n1", clusterId: "c1", clusterDomain: "cluster.local", ...options },
    signal,
  );
}

/** What {@link provider} put into its request. */
async function bodyOf(pod: Pod, options: Partial<PlanPodOptions> = {}): Promise<Record<string, unknown>> {
  const { requests, refused } = await plan(pod, options);
  expect(refused).toEqual([]);
  return requests[0]?.body as Record<string, unknown>;
}

const secret: Secret = { metadata: { name: "db" }, data: { password: base64("hunter2"), user: base64("admin") } };
const configMap: ConfigMap = { metadata: { name: "app" }, data: { colour: "blue" } };
const env = [
  { name: "PLAIN", value: "x" },
  { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } },
  { name: "COLOUR", valueFrom: { configMapKeyRef: { name: "app", key: "colour" } } },
  { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
  { name: "HOST", valueFrom: { fieldRef: { fieldPath: "status.hostIP" } } },
];

test("the provider plans with what it would create with", async () => {
  expect(await bodyOf(podWith({}), { providerConfig: { region: "x" } })).toMatchObject({
    pod: "web",
    tags: ["c1", "n1"],
    config: { region: "x" },
  });
});

test("no value of a secret is in a plan, not even of one that is known; config maps that are known are as they are", async () => {
  const volumes = [{ name: "files", secret: { secretName: "db" } }];
  const body = await bodyOf(podWith({ volumes }, { env }), { objects: { secrets: [secret], configMaps: [configMap] } });

  expect(body["env"]).toEqual([
    { name: "PLAIN", value: "x" },
    { name: "PASSWORD", value: "[secret shop/db: password]" },
    { name: "COLOUR", value: "blue" },
    { name: "IP", value: "0.0.0.0" },
    { name: "HOST", value: "0.0.0.0" },
  ]);
  expect(body["files"]).toEqual(["password=[secret shop/db: password]", "user=[secret shop/db: user]"]);
  expect(JSON.stringify(body)).not.toContain("hunter2");
});

test("of what is not known the keys that the pod names are taken, and a note says what cannot be shown", async () => {
  const pod = podWith(
    {
      volumes: [
        { name: "all", configMap: { name: "site" } },
        {
          name: "token",
          projected: { sources: [{ serviceAccountToken: { path: "token" } }, { configMap: { name: "kube-root-ca.crt" } }] },
        },
      ],
    },
    { env, envFrom: [{ secretRef: { name: "db" } }] },
  );
  const { requests, notes } = await plan(pod);

  expect(requests[0]?.body).toMatchObject({
    env: expect.arrayContaining([
      { name: "password", value: "[secret shop/db: password]" },
      { name: "COLOUR", value: "[config map shop/app: colour]" },
    ]),
    files: ["token=[service account token]"],
  });
  expect(notes).toEqual([
    "the keys of secret shop/db are not known here; those that the pod does not name are left out",
    "the keys of config map shop/site are not known here; those that the pod does not name are left out",
    "the variables of the cluster's services (KUBERNETES_SERVICE_HOST and the like) are left out",
    "0.0.0.0 stands for the addresses of pod and node",
  ]);
});

test("a plan has the objects that a back end would mount by itself, pull secrets as well, without values of secrets", async () => {
  const mounting: ProviderDefinition = {
    ...provider,
    plan: async (_pod, resolved, _context, planSignal) => {
      const body = [
        await resolved.secret("db", planSignal),
        await resolved.secret("registry", planSignal),
        await resolved.configMap("app", planSignal),
        await resolved.serviceVariables(planSignal),
      ];
      return [{ purpose: "copy", method: "POST", path: "/", body }];
    },
  };
  const pod = podWith({ imagePullSecrets: [{ name: "registry" }, { name: "db" }] }, { env });
  const { requests } = await plan(pod, {
    provider: mounting,
    objects: { secrets: [{ ...secret, type: "Opaque" }], configMaps: [configMap] },
  });

  expect(requests[0]?.body).toEqual([
    {
      metadata: { namespace: "shop", name: "db" },
      type: "Opaque",
      data: { password: base64("[secret shop/db: password]"), user: base64("[secret shop/db: user]") },
    },
    {
      metadata: { namespace: "shop", name: "registry" },
      type: "kubernetes.io/dockerconfigjson",
      data: { ".dockerconfigjson": base64("[secret shop/registry: .dockerconfigjson]") },
    },
    configMap,
    [],
  ]);
});

test("every field that the capabilities do not have is named, and nothing is planned", async () => {
  const refused = await plan(podWith({ hostNetwork: true }, { livenessProbe: { exec: { command: ["true"] } } }));

  expect(refused).toEqual({
    refused: [
      { fieldPath: "spec.containers[0].livenessProbe", message: "provider paper does not support probes" },
      { fieldPath: "spec.hostNetwork", message: "provider paper does not support the host's network" },
    ],
    requests: [],
    notes: [],
  });
});

test.each([
  [new UnsupportedError("port 70000 is none", { fieldPath: "spec.containers[0].ports[0]" }), "spec.containers[0].ports[0]"],
  [new TerminalError("it will never run"), undefined],
])("what the provider refuses is a refusal: %s", async (error, fieldPath) => {
  const planned = await plan(podWith({}), { provider: { ...provider, plan: () => Promise.reject(error) } });

  expect(planned).toEqual({
    refused: [{ message: error.message, ...(fieldPath !== undefined && { fieldPath }) }],
    requests: [],
    notes: [],
  });
});

test("a key that a known secret does not have is a refusal, in the kubelet's words", async () => {
  const pod = podWith({}, { env: [{ name: "A", valueFrom: { secretKeyRef: { name: "db", key: "nothing" } } }] });

  expect((await plan(pod, { objects: { secrets: [secret] } })).refused).toEqual([
    { message: "couldn't find key nothing in Secret shop/db" },
  ]);
});

test("a fault is no refusal, and a provider without plans says so", async () => {
  const away = { ...provider, plan: () => Promise.reject(new UnavailableError("it needs an answer")) };
  const { plan: _, ...silent } = provider;

  await expect(plan(podWith({}), { provider: away })).rejects.toThrow("it needs an answer");
  await expect(plan(podWith({}), { provider: silent })).rejects.toThrow("it cannot show its requests");
});

test("a configuration that the schema does not take is an error that names each field", async () => {
  const issues = [
    { path: ["servers", 0], message: "expected a name" },
    { path: ["region"], message: "expected a text" },
  ];
  const strict = { ...provider, configSchema: { safeParse: () => ({ success: false as const, error: { issues } }) } };

  await expect(plan(podWith({}), { provider: strict })).rejects.toThrow(
    "plan a pod with provider paper: its configuration: servers.0: expected a name; region: expected a text",
  );
});

test("an abort ends the plan with its reason, whatever the provider throws", async () => {
  const stop = new AbortController();
  const refusing: ProviderDefinition = {
    ...provider,
    plan: () => {
      stop.abort(new Error("stop"));
      return Promise.reject(new TerminalError("it will never run"));
    },
  };
  const options = { pod: podWith({}), providerConfig: {}, nodeName: "n1", clusterId: "c1", clusterDomain: "cluster.local" };

  await expect(planPod({ ...options, provider: refusing }, stop.signal)).rejects.toThrow("stop");
});

test("what needs a token is refused where tokens are required, and planned where they are not", async () => {
  const volumes = [{ name: "kube-api-access-abcde", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }];
  const bare: ProviderDefinition = { ...provider, capabilities: { restarts: true } };

  expect((await plan(podWith({ volumes }), { provider: bare, requireToken: true })).refused).toMatchObject([
    { fieldPath: "spec.volumes[0].projected" },
  ]);
  expect((await plan(podWith({ volumes }), { provider: bare })).refused).toEqual([]);
});

test("fields that are to be ignored are left out of the plan, which says so; others are refused as ever", async () => {
  const container = { livenessProbe: { exec: { command: ["true"] } }, readinessProbe: { exec: { command: ["true"] } } };
  const both = ["spec.containers[*].livenessProbe", "spec.containers[*].readinessProbe"];

  expect(await plan(podWith({}, container), { ignore: both })).toMatchObject({
    refused: [],
    requests: [{ purpose: "create the pod" }],
    notes: expect.arrayContaining([
      "spec.containers[0].livenessProbe is left out: provider paper does not support it",
      "spec.containers[0].readinessProbe is left out: provider paper does not support it",
    ]),
  });
  expect((await plan(podWith({}, container), { ignore: both.slice(1) })).refused).toMatchObject([
    { fieldPath: "spec.containers[0].livenessProbe" },
  ]);
});

test("objects that are not given are taken for unknown", async () => {
  const pod = podWith({}, { env: [env[1], env[2]] });

  expect(await bodyOf(pod, { objects: { secrets: [secret] } })).toMatchObject({
    env: [
      { name: "PASSWORD", value: "[secret shop/db: password]" },
      { name: "COLOUR", value: "[config map shop/app: colour]" },
    ],
  });
  expect(await bodyOf(pod, { objects: { configMaps: [configMap] } })).toMatchObject({ env: [{}, { name: "COLOUR", value: "blue" }] });
});
