import { planPod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { nomadNamespaceOf } from "./config.ts";
import { provider } from "./provider.ts";
import { containerWith, podWith } from "./test-support/pods.ts";

const { signal } = new AbortController();

const pod = podWith({
  containers: [
    containerWith({
      env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } }],
      volumeMounts: [{ name: "settings", mountPath: "/s" }],
    }),
  ],
  volumes: [{ name: "settings", configMap: { name: "app" } }],
});

function plan(config: object, objects?: object): ReturnType<typeof planPod> {
  return planPod(
    { pod, provider, providerConfig: config, nodeName: "n1", clusterId: "c1", clusterDomain: "cluster.local", ...objects },
    signal,
  );
}

test("a plan writes the variables, then registers the job that must not exist, and shows no secret", async () => {
  const objects = {
    secrets: [{ metadata: { name: "db" }, data: { password: Buffer.from("hunter2").toString("base64") } }],
    configMaps: [{ metadata: { name: "app" }, data: { colour: "blue" } }],
  };
  const { requests, refused } = await plan({ mhzPerCore: 2000 }, { objects });

  expect(refused).toEqual([]);
  expect(requests.map(({ method, path }) => `${method} ${path.replaceAll(/vk-[a-z2-7]{26}/g, "JOB")}`)).toEqual([
    "PUT /v1/var/nomad/jobs/JOB?namespace=default",
    "PUT /v1/var/nomad/jobs/JOB/pod?namespace=default",
    "PUT /v1/jobs?namespace=default",
  ]);
  expect(requests.at(-1)?.body).toMatchObject({ EnforceIndex: true, JobModifyIndex: 0 });
  expect(JSON.stringify(requests)).not.toContain("hunter2");
  expect(JSON.stringify(requests)).toContain("[secret shop/db: password]");
});

test("a plan writes into the namespace of Nomad that the configuration names for the pod's, whatever the pod says", async () => {
  const own = { ...pod, metadata: { ...pod.metadata, annotations: { "nomad.hashicorp.com/namespace": "other" } } };
  const { requests } = await plan({ mhzPerCore: 2000, namespaces: { shop: "tenant-a" } }, { pod: own });

  expect(requests.map(({ path }) => path.replace(/^.*\?/, ""))).toEqual(["namespace=tenant-a", "namespace=tenant-a"]);
  expect(requests.at(-1)?.body).toMatchObject({ Job: { Namespace: "tenant-a" } });
  expect(JSON.stringify(requests)).not.toContain("other");
});

test.each([
  ["team-a", "a"],
  ["team-b", "rest"],
  ["constructor", "rest"],
])("pods of %s run in Nomad's namespace %s", (namespace, expected) => {
  expect(nomadNamespaceOf({ namespace: "rest", namespaces: { "team-a": "a" } }, { namespace })).toBe(expected);
});

test("a plan names what it refuses", async () => {
  const { refused } = await plan({ driver: "raw_exec" });

  expect(refused).toEqual([expect.objectContaining({ fieldPath: "spec.containers[0].command" })]);
});

test.each([
  [{ restart: { attempts: 100, delay: "10s" } }, ["restart", "delay"]],
  [{ restart: { interval: "1s", delay: "0" } }, ["restart", "interval"]],
  [{ network: "overlay" }, ["network"]],
  [{ purgeAfter: "soon" }, ["purgeAfter"]],
  [{ capacity: { fraction: 2 } }, ["capacity", "fraction"]],
  [{ adress: "x" }, []],
  [{ namespace: "*" }, ["namespace"]],
  [{ namespaces: { "team-a": "a b" } }, ["namespaces", "team-a"]],
  [{ namespaces: { "team-a": "*" } }, ["namespaces", "team-a"]],
  [{ namespaces: { Team: "a" } }, ["namespaces", "Team"]],
  [{ maxConnections: 41, maxSockets: 32, namespaces: { a: "a", b: "b", c: "b" } }, ["maxSockets"]],
] as const)("a configuration with %j is refused by its place", (input, path) => {
  const parsed = provider.configSchema.safeParse(input);

  expect(parsed.success ? undefined : parsed.error.issues[0]?.path).toEqual(path);
});

test("the usual variables of Nomad's own tools fill the configuration in", () => {
  const schema = provider.configSchema.toJSONSchema?.({ io: "input" }) as {
    readonly properties: Record<string, { env?: string; properties?: object }>;
  };
  const names = (properties: object): string[] =>
    Object.values(properties).flatMap((node: { env?: string; properties?: object }) => [
      ...(node.env === undefined ? [] : [node.env]),
      ...names(node.properties ?? {}),
    ]);

  expect(names(schema.properties).toSorted()).toEqual([
    "NOMAD_ADDR",
    "NOMAD_CACERT",
    "NOMAD_CLIENT_CERT",
    "NOMAD_CLIENT_KEY",
    "NOMAD_HTTP_AUTH",
    "NOMAD_NAMESPACE",
    "NOMAD_REGION",
    "NOMAD_SKIP_VERIFY",
    "NOMAD_TLS_SERVER_NAME",
    "NOMAD_TOKEN",
  ]);
});
