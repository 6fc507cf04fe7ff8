import type { Pod, ResolvedPod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { provider } from "./provider.ts";

const files = { files: [{ path: "colour", mode: 0o644, content: Buffer.from("blue") }] };

function resolverOf({ spec }: Pod): ResolvedPod {
  const find = (name: string): NonNullable<Pod["spec"]>["containers"][number] | undefined =>
    [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].find((container) => container.name === name);
  return {
    environment: async (name) => (find(name)?.env ?? []).map(({ name: key, value = "" }) => ({ name: key, value })),
    commandLine: async (name) => ({ command: find(name)?.command ?? [], args: find(name)?.args ?? [] }),
    volume: async () => files,
    async *watchVolume() {
      yield files;
    },
    configMap: async () => ({}),
    secret: async () => ({}),
    serviceVariables: async () => [],
  };
}

async function plan(spec: NonNullable<Pod["spec"]>, config: object = {}, annotations: Record<string, string> = {}): Promise<unknown> {
  const pod: Pod = {
    metadata: {
      namespace: "shop",
      name: "web",
      uid: "0a1b2c3d-0000-4000-8000-000000000000",
      creationTimestamp: "2026-11-21T10:00:00Z",
      annotations,
    },
    spec,
  };
  const parsed = provider.configSchema.safeParse(config);
  if (!parsed.success) throw new Error("config");
  const context = { nodeName: "zun-1", clusterId: "c1", clusterDomain: "cluster.local", config: parsed.data };
  return provider.plan?.(pod, resolverOf(pod), context, new AbortController().signal);
}

test("a pod of one container is one request, with all that Zun can keep", async () => {
  const requests = await plan(
    {
      restartPolicy: "OnFailure",
      containers: [
        {
          name: "main",
          image: "nginx:1.29",
          command: ["nginx"],
          args: ["-g", "daemon off;"],
          env: [
            { name: "A", value: "1" },
            { name: "A", value: "2" },
          ],
          workingDir: "/srv",
          resources: { requests: { cpu: "2", memory: "1Gi" }, limits: { cpu: "20m", memory: "100M" } },
          imagePullPolicy: "Always",
          volumeMounts: [
            { name: "settings", mountPath: "/etc/app" },
            { name: "settings", mountPath: "/etc/colour", subPath: "colour" },
            { name: "disk", mountPath: "/data" },
            { name: "claim", mountPath: "/new" },
            { name: "scratch", mountPath: "/scratch" },
            { name: "kube-api-access-abcde", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" },
          ],
        },
      ],
      volumes: [
        { name: "settings", configMap: { name: "settings" } },
        { name: "disk", cinder: { volumeID: "5a1f8a3e-0000-4000-8000-000000000000" } },
        { name: "claim", ephemeral: { volumeClaimTemplate: { spec: { resources: { requests: { storage: "1500Mi" } } } } } },
        { name: "scratch", emptyDir: {} },
        { name: "kube-api-access-abcde", projected: { sources: [] } },
      ],
    },
    { networks: ["pods"], securityGroups: ["web"], availabilityZone: "nova" },
    { "zun.virtual-kubelet.io/fixed-ip": "10.0.0.9" },
  );

  expect(requests).toEqual([
    expect.objectContaining({
      method: "POST",
      path: "/v1/containers/?run=true",
      body: {
        name: "shop-web-0a1b2c3d",
        image: "nginx:1.29",
        entrypoint: ["nginx"],
        command: ["-g", "daemon off;"],
        environment: { A: "2" },
        workdir: "/srv",
        cpu: 0.1,
        memory: 96,
        labels: {
          PodName: "web",
          Namespace: "shop",
          UID: "0a1b2c3d-0000-4000-8000-000000000000",
          NodeName: "zun-1",
          ClusterName: "c1",
          CreationTimestamp: "2026-11-21T10:00:00Z",
          "virtual-kubelet.io/managed-by": "virtual-kubelet-provider-zun",
          "virtual-kubelet.io/version": "1",
          "virtual-kubelet.io/containers": "main",
          "virtual-kubelet.io/restart-policy": "OnFailure",
        },
        restart_policy: { Name: "on-failure" },
        interactive: false,
        tty: false,
        hostname: "web",
        mounts: [
          { type: "bind", source: "Ymx1ZQ==", destination: "/etc/app/colour" },
          { type: "bind", source: "Ymx1ZQ==", destination: "/etc/colour" },
          { type: "volume", source: "5a1f8a3e-0000-4000-8000-000000000000", destination: "/data" },
          { type: "volume", size: "2", destination: "/new" },
          { type: "bind", source: "", destination: "/scratch/.keep" },
        ],
        nets: [{ network: "pods", "v4-fixed-ip": "10.0.0.9" }],
        security_groups: ["web"],
        availability_zone: "nova",
      },
    }),
  ]);
});

test("a pod on subnets has ports made first, which are in the security groups in its place", async () => {
  const requests = await plan(
    { containers: [{ name: "main", image: "nginx" }] },
    { subnets: ["blue"], securityGroups: ["web"], assignFloatingIp: true },
  );

  expect(requests).toMatchObject([
    { method: "POST", path: "/v2.0/ports" },
    { path: "/v1/containers/?run=true", body: { nets: [{ port: "{port on subnet blue}" }] } },
    { method: "POST", path: "/v2.0/floatingips" },
  ]);
  expect((requests as { body?: object }[])[1]?.body).not.toHaveProperty("security_groups");
});

test("a pod of several containers is a capsule's template, its volumes named as Zun takes them", async () => {
  const requests = await plan(
    {
      restartPolicy: "Always",
      initContainers: [{ name: "setup", image: "busybox", args: ["true"] }],
      containers: [
        { name: "a", image: "nginx", resources: { limits: { memory: "64Mi" } }, volumeMounts: [{ name: "d", mountPath: "/data" }] },
        { name: "b", image: "busybox", command: ["sleep"], args: ["inf"], tty: true },
      ],
      volumes: [
        { name: "d", cinder: { volumeID: "5a1f8a3e-0000-4000-8000-000000000000" } },
        { name: "unused", emptyDir: {} },
      ],
    },
    { securityGroups: ["web"] },
  );

  expect(requests).toMatchObject([
    {
      path: "/v1/capsules/",
      body: {
        template: {
          kind: "capsule",
          metadata: {
            name: "shop-web-0a1b2c3d",
            labels: {
              "virtual-kubelet.io/containers": "a,b",
              "virtual-kubelet.io/init-containers": "setup",
              "virtual-kubelet.io/security-groups": "web",
            },
          },
          spec: {
            restartPolicy: "Always",
            containers: [
              { image: "nginx", resources: { requests: { memory: 64 } }, volumeMounts: [{ name: "v-d", mountPath: "/data" }] },
              { image: "busybox", command: ["sleep"], args: ["inf"], tty: true },
            ],
            initContainers: [{ image: "busybox", args: ["true"] }],
            volumes: [{ name: "v-d", cinder: { volumeID: "5a1f8a3e-0000-4000-8000-000000000000" } }],
          },
        },
      },
    },
  ]);
});

test.for<[string, NonNullable<Pod["spec"]>["volumes"], string]>([
  ["a secret", [{ name: "v", secret: { secretName: "s" } }], "spec.volumes[0]"],
  ["an emptyDir", [{ name: "v", emptyDir: {} }], "spec.volumes[0]"],
  ["a flexVolume of another driver", [{ name: "v", flexVolume: { driver: "acme/disk" } }], "spec.volumes[0].flexVolume"],
])("a capsule with %s is refused by its field", async ([, volumes, fieldPath]) => {
  const volumeMounts = [{ name: "v", mountPath: "/v" }];
  const containers = [
    { name: "a", image: "i", volumeMounts },
    { name: "b", image: "i" },
  ];
  await expect(plan({ containers, ...(volumes && { volumes }) })).rejects.toMatchObject({ code: "VK_UNSUPPORTED", fieldPath });
});

test("a sub-path of a Cinder volume is refused by its field", async () => {
  const containers = [{ name: "a", image: "i", volumeMounts: [{ name: "v", mountPath: "/v", subPath: "x" }] }];
  const volumes = [{ name: "v", cinder: { volumeID: "5a1f8a3e-0000-4000-8000-000000000000" } }];
  await expect(plan({ containers, volumes })).rejects.toMatchObject({ fieldPath: "spec.containers[0].volumeMounts[0].subPath" });
});
