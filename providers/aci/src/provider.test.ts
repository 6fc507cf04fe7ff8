import type { ResolvedPod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { podOf, resolverOf, testUid, configOf, mainWith } from "./test-support/pods.ts";
import { provider } from "./provider.ts";

const live = new AbortController().signal;
const context = { nodeName: "aci-1", clusterId: "c-1", clusterDomain: "cluster.local" };

test("a plan is the exact PUT, with placeholders for secrets of the configuration", async () => {
  const config = configOf({
    subnetId: "/subscriptions/s/resourceGroups/n/providers/Microsoft.Network/virtualNetworks/v/subnets/p",
    logAnalytics: { workspaceId: "w", workspaceKey: "hunter22" },
    kubeProxy: { enabled: true, kubeconfigFile: "/does/not/exist" },
  });
  const pod = podOf(mainWith({ env: [{ name: "A", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] }));
  const resolved = resolverOf(pod, { values: { "s/k": "[secret shop/s: k]" } });
  const requests = await provider.plan?.(pod, resolved, { ...context, config }, live);

  expect(requests).toEqual([
    {
      purpose: "create the container group",
      method: "PUT",
      path: expect.stringMatching(
        /^\/subscriptions\/sub-1\/resourceGroups\/pods\/providers\/Microsoft\.ContainerInstance\/containerGroups\/vk-shop-web-[a-z2-7]{26}\?api-version=2025-09-01$/,
      ),
      headers: { "if-none-match": "*" },
      body: expect.objectContaining({
        location: "westeurope",
        tags: expect.objectContaining({ "vk.uid": testUid, "vk.created-at": "2026-11-21T10:00:00Z" }),
        properties: expect.objectContaining({
          diagnostics: { logAnalytics: { workspaceId: "w", workspaceKey: "[workspace key]" } },
          extensions: [expect.objectContaining({ name: "kube-proxy" })],
          containers: [
            {
              name: "main",
              properties: expect.objectContaining({ environmentVariables: [{ name: "A", secureValue: "[secret shop/s: k]" }] }),
            },
          ],
        }),
      }),
    },
  ]);
  expect(JSON.stringify(requests)).not.toContain("hunter22");
});

test("names of groups tell pods apart whose names, joined, are the same", async () => {
  const path = async (namespace: string, name: string): Promise<string | undefined> => {
    const pod = { ...podOf(), metadata: { namespace, name, uid: testUid } };
    return (await provider.plan?.(pod, resolverOf(pod), { ...context, config: configOf() }, live))?.[0]?.path;
  };

  expect(await path("a-b", "c")).not.toBe(await path("a", "b-c"));
});

test("pull secrets become credentials of the images' registries", async () => {
  const auths = { "registry.example.com": { username: "u", password: "p" }, "https://index.docker.io/v1/": { auth: "dTpw" } };
  const pod = podOf({
    imagePullSecrets: [{ name: "pull" }],
    containers: [
      { name: "a", image: "registry.example.com/app" },
      { name: "b", image: "nginx" },
      { name: "c", image: "other.example.com/app" },
    ],
  });
  const resolved = {
    ...resolverOf(pod),
    secret: async () => ({
      type: "kubernetes.io/dockerconfigjson",
      data: { ".dockerconfigjson": Buffer.from(JSON.stringify({ auths })).toString("base64") },
    }),
  };
  const requests = await provider.plan?.(pod, resolved, { ...context, config: configOf() }, live);

  expect(requests?.[0]?.body).toMatchObject({
    properties: {
      imageRegistryCredentials: [
        { server: "registry.example.com", username: "u", password: "p" },
        { server: "index.docker.io", username: "u", password: "p" },
      ],
    },
  });
});

test("every annotation that gives a pod something is judged by the policy", () => {
  expect(provider.policyAnnotations?.map(({ name }) => name)).toEqual([
    "aci.virtual-kubelet.io/resource-group",
    "aci.virtual-kubelet.io/subnet-id",
    "aci.virtual-kubelet.io/identities",
    "aci.virtual-kubelet.io/registry-identities",
    "aci.virtual-kubelet.io/sku",
    "virtual-kubelet.io/container-sku",
    "virtual-kubelet.io/confidential-compute-cce-policy",
    "aci.virtual-kubelet.io/standby-pool",
    "aci.virtual-kubelet.io/container-group-profile",
    "virtualkubelet.io/dnsnamelabel",
  ]);
  expect(provider.policy?.(configOf({ policy: { annotations: { "aci.virtual-kubelet.io/sku": ["*"] } } }))).toEqual({
    annotations: { "aci.virtual-kubelet.io/sku": ["*"] },
  });
});

test("a plan shows placeholders for a share's secret, and says that pull secrets are added", async () => {
  const pod = podOf({
    imagePullSecrets: [{ name: "pull" }],
    volumes: [{ name: "share", azureFile: { shareName: "data", secretName: "storage" } }],
    ...mainWith({ volumeMounts: [{ name: "share", mountPath: "/data" }] }),
  });
  const requests = await provider.plan?.(pod, resolverOf(pod), { ...context, config: configOf() }, live);

  expect(requests?.[0]?.body).toMatchObject({
    properties: {
      volumes: [
        {
          azureFile: {
            storageAccountName: "[secret shop/storage: azurestorageaccountname]",
            storageAccountKey: "[secret shop/storage: azurestorageaccountkey]",
          },
        },
      ],
    },
  });
  expect(requests?.[0]?.note).toMatch(/pull secrets/);
});

test("a plan takes a resolver whose methods are its class's", async () => {
  const plain = resolverOf(podOf());
  const resolved = Object.create(plain) as ResolvedPod;
  const requests = await provider.plan?.(podOf(), resolved, { ...context, config: configOf() }, live);

  expect(Object.keys(resolved)).toEqual([]);
  expect(requests).toHaveLength(1);
});
