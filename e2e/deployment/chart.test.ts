import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { readmeConfig } from "../clouds/support/readme-pod.ts";
import { Program } from "../support/program.ts";
import { chart, Helm, type AnyObject } from "./support/helm.ts";

let helm: Helm;
let directory = "";

beforeAll(async () => {
  helm = await Helm.open();
  directory = await mkdtemp(join(tmpdir(), "vk-chart-"));
});
afterAll(async () => {
  await helm[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
});

const mock = { name: "vk-1", provider: "mock" };

/** What the program prints for a configuration. */
async function printed(config: object, ...words: readonly string[]): Promise<AnyObject[]> {
  await writeFile(
    join(directory, "vk.json"),
    JSON.stringify({ apiVersion: "virtual-kubelet.io/v1alpha1", kind: "VirtualKubelet", ...config }),
  );
  await using program = new Program(["manifests", ...words, "-o", "json", "--config", "vk.json"], {
    cwd: directory,
    env: { KUBELET_PORT: "" },
  });
  expect(await program.exit, program.stderr).toBe(0);
  return (JSON.parse(program.stdout) as { items: AnyObject[] }).items;
}

interface Binding {
  readonly roleRef: { readonly kind: string; readonly name: string };
}

/** What the bindings of some objects grant, where: the rules of each role, or its name if it is the cluster's own. Sorted. */
function rightsOf(objects: readonly AnyObject[]): string[] {
  return objects
    .flatMap((binding) => {
      if (binding.kind !== "RoleBinding" && binding.kind !== "ClusterRoleBinding") return [];
      const { roleRef } = binding as AnyObject & Binding;
      const namespace = binding.metadata?.namespace;
      const role = objects.find(
        ({ kind, metadata }) => kind === roleRef.kind && metadata?.name === roleRef.name && metadata.namespace === namespace,
      );
      const where = namespace ?? "everywhere";
      if (role === undefined) return [`${where}: ${roleRef.kind} ${roleRef.name}`];
      return (role["rules"] as object[]).map((rule) => `${where}: ${JSON.stringify(Object.entries(rule).toSorted())}`);
    })
    .toSorted();
}

test("Helm finds no fault in the chart", async () => {
  expect(await helm.run("lint", "--strict", chart)).toMatchObject({ code: 0, stdout: expect.stringContaining("0 chart(s) failed") });
});

test.for(["aci", "fargate"])("the values in the README of the provider %s configure a node of it", async (provider) => {
  const objects = await helm.objects(readmeConfig(provider, "image"));
  const { data } = objects.find(({ kind }) => kind === "ConfigMap") as unknown as { readonly data: Readonly<Record<string, string>> };
  const account = objects.find(({ kind }) => kind === "ServiceAccount");

  expect(parse(data["config.yaml"] ?? "")).toMatchObject({ nodes: [{ provider, providerConfig: { region: expect.any(String) } }] });
  expect(Object.keys(account?.metadata?.annotations ?? {})).toHaveLength(1);
});

test.each<[string, object, (readonly string[])?]>([
  ["one node", { nodes: [mock] }],
  [
    "a node that is drained at the end, and one that is deleted",
    {
      nodes: [
        { ...mock, onShutdown: "drain" },
        { ...mock, name: "vk-2", onShutdown: "delete" },
      ],
    },
  ],
  ["a cluster with an id", { nodes: [mock], cluster: { id: "east" } }],
  ["no kubelet API", { nodes: [{ ...mock, kubeletPort: 0 }] }],
  [
    "one of two nodes with a kubelet API",
    {
      nodes: [
        { ...mock, kubeletPort: 0 },
        { ...mock, name: "vk-2" },
      ],
    },
  ],
  [
    "a kubelet API that asks nothing",
    {
      nodes: [mock],
      kubelet: { authenticationTokenWebhook: false, authorizationMode: "AlwaysAllow", serverTLSBootstrap: false, clientCAFile: "/ca" },
    },
  ],
  ["a certificate of its own", { nodes: [mock], kubelet: { tlsCertFile: "/c", tlsPrivateKeyFile: "/k" } }],
  ["two namespaces", { nodes: [{ ...mock, onShutdown: "drain" }] }, ["team-a", "team-b"]],
  ["the namespace default among others", { nodes: [mock] }, ["default", "team-a"]],
])("the chart grants what the program says that it needs: %s", async (_name, config, namespaces) => {
  const words = ["rbac", "--run-as=service-account", ...(namespaces === undefined ? [] : [`--namespaces=${namespaces.join()}`])];

  const rights = rightsOf(await helm.objects({ config, rbac: { namespaces } }));

  expect(rights).toEqual(rightsOf(await printed(config, ...words)));
  expect(rights.length).toBeGreaterThan(5);
});

test("the chart grants a provisioner's rights when told to", async () => {
  const config = { nodes: [{ ...mock, provider: "docker", providerConfig: { localPath: {} } }] };

  const rights = rightsOf(await helm.objects({ config, rbac: { provisionsVolumes: true } }));

  expect(rights).toEqual(rightsOf(await printed(config, "rbac", "--run-as=service-account")));
  expect(rights.join()).toContain("storageclasses");
});

test("the chart and the program's own manifests run the same pods", async () => {
  const config = { nodes: [mock, { ...mock, name: "vk-2", kubeletPort: 10_260 }] };
  const podSpec = (objects: readonly AnyObject[]): unknown => {
    const { spec } = objects.find(({ kind }) => kind === "Deployment") as AnyObject & { spec: { template: { spec: object } } };
    const text = JSON.stringify(spec.template.spec)
      .replaceAll(/vk-virtual-kubelet|virtual-kubelet-vk-1/g, "NAME")
      .replaceAll('"vk"', '"NAME"');
    return JSON.parse(text) as unknown;
  };

  const ofChart = await helm.objects({ config, replicas: 2, image: { repository: "r/vk", tag: "1" } });
  const ofProgram = await printed(config, "deployment", "--image=r/vk:1", "--replicas=2");

  expect(podSpec(ofProgram)).toEqual(podSpec(ofChart));
});

test("the configuration is the given one, beside what the chart sets", async () => {
  const objects = await helm.objects({ healthPort: 9_000, config: { log: { level: "debug" }, nodes: [mock] } });
  const { data } = objects.find(({ kind }) => kind === "ConfigMap") as AnyObject & { data: Record<string, string> };
  await writeFile(join(directory, "of-chart.yaml"), data["config.yaml"] ?? "");

  await using program = new Program(["config", "print", "-o", "json", "--config", "of-chart.yaml"], { cwd: directory });

  expect(await program.exit, program.stderr).toBe(0);
  expect(JSON.parse(program.stdout)).toMatchObject({
    config: { log: { level: "debug" }, health: { address: ":9000" }, instance: { standby: true }, nodes: [{ name: "vk-1" }] },
  });
});

test("names that YAML takes for other values stay names, and no key occurs twice", async () => {
  const values = await helm.values({
    fullnameOverride: "1e3",
    nameOverride: "yes",
    replicas: 2,
    providerSecret: "0123",
    priorityClassName: "null",
    rbac: { namespaces: ["on", "123"] },
    networkPolicy: { create: true },
    serviceMonitor: { create: true, namespace: "off" },
    podLabels: { "app.kubernetes.io/name": "mine" },
    podAnnotations: { "checksum/config": "mine" },
    livenessProbe: { httpGet: { scheme: "HTTP" } },
  });

  const { code, stdout, stderr } = await helm.run("template", "true", chart, "--namespace", "12", ...values);

  expect(code, stderr).toBe(0);
  // Helm and kubectl read YAML 1.1, where yes and on are booleans.
  const documents = parseAllDocuments(stdout, { version: "1.1", uniqueKeys: true });
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  const objects = documents.map((document) => document.toJS() as AnyObject | null).filter((object) => object !== null);
  const wrong: string[] = [];
  const check = (value: unknown, path: string): void => {
    if (typeof value === "object" && value !== null) return Object.entries(value).forEach(([key, each]) => check(each, `${path}.${key}`));
    if (typeof value !== "string" && /name|namespace|labels|annotations|matchLabels/i.test(path)) wrong.push(`${path}: ${String(value)}`);
  };
  for (const object of objects) {
    const { spec, ...others } = object as AnyObject & { spec?: { template?: { metadata?: object }; selector?: object } };
    check({ ...others, template: spec?.template?.metadata, selector: spec?.selector }, object.kind ?? "");
  }
  expect(wrong).toEqual([]);
  const { spec } = objects.find(({ kind }) => kind === "Deployment") as AnyObject & { spec: { template: { spec: object } } };
  expect(spec.template.spec).toMatchObject({
    serviceAccountName: "1e3",
    priorityClassName: "null",
    volumes: [{ projected: { sources: [{ configMap: { name: "1e3" } }, { secret: { name: "0123" } }] } }, {}],
    containers: [{ livenessProbe: { httpGet: { path: "/livez", port: "health", scheme: "HTTP" } } }],
  });
});

test("a value that is null is the same as none", async () => {
  const none = await helm.objects({ affinity: {}, podLabels: {}, podAnnotations: {} });

  expect(await helm.objects({ affinity: null, podLabels: null, podAnnotations: null })).toEqual(none);
});

test("what is off by default is there when it is asked for", async () => {
  const kinds = async (values: object): Promise<string[]> =>
    [...new Set((await helm.objects(values)).map(({ kind }) => kind ?? ""))].toSorted();
  const always = ["ClusterRole", "ClusterRoleBinding", "ConfigMap", "Deployment", "Role", "RoleBinding", "ServiceAccount"];

  expect(await kinds({})).toEqual(always);
  expect(await kinds({ replicas: 2, networkPolicy: { create: true }, serviceMonitor: { create: true } })).toEqual(
    [...always, "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceMonitor"].toSorted(),
  );
  expect(await kinds({ serviceAccount: { create: false, name: "mine" }, rbac: { create: false } })).toEqual(["ConfigMap", "Deployment"]);
});

test("secrets, sockets and tolerations get to the pod", async () => {
  const objects = await helm.objects({
    providerSecret: "nomad",
    env: [{ name: "NOMAD_TOKEN", valueFrom: { secretKeyRef: { name: "nomad", key: "token" } } }],
    envFrom: [{ secretRef: { name: "more" } }],
    volumes: [{ name: "docker", hostPath: { path: "/run/docker.sock", type: "Socket" } }],
    volumeMounts: [{ name: "docker", mountPath: "/run/docker.sock" }],
    podSecurityContext: { supplementalGroups: [999] },
    tolerations: [{ key: "a", operator: "Exists" }],
    hostNetwork: true,
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }],
  });

  const { spec } = objects.find(({ kind }) => kind === "Deployment") as AnyObject & {
    spec: { template: { spec: object }; strategy: object };
  };
  expect(spec.template.spec).toMatchObject({
    hostNetwork: true,
    securityContext: { runAsNonRoot: true, supplementalGroups: [999] },
    tolerations: [{ key: "a", operator: "Exists" }],
    topologySpreadConstraints: [{ topologyKey: "zone", labelSelector: { matchLabels: { "app.kubernetes.io/instance": "vk" } } }],
    containers: [
      {
        env: [{ name: "VKUBELET_IDENTITY" }, { name: "POD_IP" }, { name: "NOMAD_TOKEN" }],
        envFrom: [{ secretRef: { name: "more" } }],
        volumeMounts: [{ name: "config" }, { name: "state" }, { name: "docker" }],
      },
    ],
    volumes: [
      { projected: { sources: [{ configMap: { name: "vk-virtual-kubelet" } }, { secret: { name: "nomad" } }] } },
      { emptyDir: {} },
      { hostPath: { type: "Socket" } },
    ],
  });
  expect(spec.strategy).toMatchObject({ rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } });
});

test.each(["docs/guides/on-my-cluster.md", "deploy/chart/README.md"])("the values that %s shows are accepted", async (page) => {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
  const blocks = [...text.matchAll(/^ *```yaml\n([\s\S]*?)^ *```$/gm)].map(([, block = ""]) => parse(block) as object);
  const shown = blocks.filter((block) => "config" in block);

  const results = await Promise.all(shown.map((values) => helm.render(values)));

  expect(results.map(({ code, stderr }) => [code, stderr])).toEqual(shown.map(() => [0, ""]));
  expect(shown.length).toBeGreaterThan(0);
});

test.each<[string, object, RegExp]>([
  ["a misspelled value", { replica: 2 }, /additional properties 'replica' not allowed/],
  [
    "a misspelled setting of a node",
    { config: { nodes: [{ ...mock, onShutdwn: "drain" }] } },
    /at '\/config\/nodes\/0': additional properties 'onShutdwn' not allowed/,
  ],
  ["a value of the wrong type", { replicas: "two" }, /at '\/replicas': got string, want integer/],
  [
    "an unknown policy",
    { config: { nodes: [{ ...mock, onShutdown: "stop" }] } },
    /at '\/config\/nodes\/0\/onShutdown': value must be one of 'keep', 'cordon', 'drain', 'delete'/,
  ],
  ["a node without a provider", { config: { nodes: [{ name: "a" }] } }, /at '\/config\/nodes\/0': missing property 'provider'/],
  ["no configuration", { config: null }, /config: expected the program's configuration, got null/],
  ["a name that no object can have", { fullnameOverride: "A: b" }, /at '\/fullnameOverride': 'A: b' does not match pattern/],
  ["no node", { config: { nodes: [] } }, /at '\/config\/nodes': minItems: got 0, want 1/],
  [
    "a setting that the chart makes",
    { config: { nodes: [mock], instance: { identity: "a" } } },
    /at '\/config': additional properties 'instance' not allowed/,
  ],
  [
    "metrics of nodes that serve none",
    { serviceMonitor: { create: true }, config: { nodes: [{ ...mock, kubeletPort: 0 }] } },
    /serviceMonitor.create: the metrics are served on a node's kubeletPort/,
  ],
])("%s is refused with its place", async (_name, values, message) => {
  const { code, stderr } = await helm.render(values);

  expect(stderr).toMatch(message);
  expect(code).not.toBe(0);
});
