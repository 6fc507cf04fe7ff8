import type { Pod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { file, groupOf, mainWith, podOf } from "../test-support/pods.ts";

type Spec = Partial<NonNullable<Pod["spec"]>>;

test.for<[string, Spec]>([
  ["spec.os.name", { os: { name: "windows" } }],
  ["spec.runtimeClassName", { runtimeClassName: "kata" }],
  ["spec.hostAliases", { hostAliases: [{ ip: "192.0.2.1", hostnames: ["db"] }] }],
  ["spec.setHostnameAsFQDN", { setHostnameAsFQDN: true }],
  ["spec.hostUsers", { hostUsers: false }],
  ["spec.resourceClaims", { resourceClaims: [{ name: "gpu" }] }],
  ["spec.resources", { resources: { limits: { cpu: "1" } } }],
  ["spec.securityContext.fsGroup", { securityContext: { fsGroup: 1 } }],
  ["spec.securityContext.supplementalGroups", { securityContext: { supplementalGroups: [1] } }],
  ["spec.securityContext.sysctls", { securityContext: { sysctls: [{ name: "net.core.somaxconn", value: "1" }] } }],
  ["spec.securityContext.seLinuxOptions", { securityContext: { seLinuxOptions: { level: "s0" } } }],
  ["spec.securityContext.runAsNonRoot", { securityContext: { runAsNonRoot: true } }],
  ["spec.securityContext.seccompProfile.type", { securityContext: { seccompProfile: { type: "Unconfined" } } }],
  ["spec.volumes[0].emptyDir.medium", { volumes: [{ name: "cache", emptyDir: { medium: "Memory" } }] }],
  ["spec.volumes[0].csi.driver", { volumes: [{ name: "disk", csi: { driver: "disk.csi.azure.com" } }] }],
  ["spec.volumes[0].nfs", { volumes: [{ name: "share", nfs: { server: "s", path: "/" } }] }],
  ["spec.dnsConfig", { dnsConfig: { nameservers: ["192.0.2.1"] } }],
  ["spec.containers[0].args", mainWith({ args: ["-v"] })],
  ["spec.containers[0].workingDir", mainWith({ workingDir: "/srv" })],
  ["spec.containers[0].stdin", mainWith({ stdin: true })],
  ["spec.containers[0].tty", mainWith({ tty: true })],
  ["spec.containers[0].imagePullPolicy", mainWith({ imagePullPolicy: "Never" })],
  ["spec.containers[0].startupProbe", mainWith({ startupProbe: { exec: { command: ["true"] } } })],
  ["spec.containers[0].livenessProbe.tcpSocket", mainWith({ livenessProbe: { tcpSocket: { port: 80 } } })],
  ["spec.containers[0].readinessProbe.grpc", mainWith({ readinessProbe: { grpc: { port: 80 } } })],
  ["spec.containers[0].readinessProbe.httpGet.host", mainWith({ readinessProbe: { httpGet: { port: 80, host: "elsewhere" } } })],
  [
    "spec.containers[0].livenessProbe.terminationGracePeriodSeconds",
    mainWith({ livenessProbe: { exec: { command: ["true"] }, terminationGracePeriodSeconds: 1 } }),
  ],
  ["spec.containers[0].securityContext.readOnlyRootFilesystem", mainWith({ securityContext: { readOnlyRootFilesystem: true } })],
  ["spec.containers[0].securityContext.runAsNonRoot", mainWith({ securityContext: { runAsNonRoot: true } })],
  ["spec.containers[0].securityContext.procMount", mainWith({ securityContext: { procMount: "Unmasked" } })],
  ["spec.containers[0].resources.limits['example.com/fpga']", mainWith({ resources: { limits: { "example.com/fpga": "1" } } })],
  ["spec.containers[0].resources.limits['nvidia.com/gpu']", mainWith({ resources: { limits: { "nvidia.com/gpu": "1" } } })],
  ["spec.containers[0].volumeDevices", mainWith({ volumeDevices: [{ name: "v", devicePath: "/dev/x" }] })],
  ["spec.containers[0].volumeMounts[0].subPathExpr", mainWith({ volumeMounts: [{ name: "v", mountPath: "/v", subPathExpr: "$(A)" }] })],
  [
    "spec.containers[0].volumeMounts[0].mountPropagation",
    mainWith({ volumeMounts: [{ name: "v", mountPath: "/v", mountPropagation: "Bidirectional" }] }),
  ],
  ["spec.containers[0].ports[0].protocol", mainWith({ ports: [{ containerPort: 1, protocol: "SCTP" }] })],
  ["spec.containers[0].ports", mainWith({ ports: [1, 2, 3, 4, 5, 6].map((containerPort) => ({ containerPort })) })],
  [
    "spec.containers[0].env[0].valueFrom.fieldRef",
    mainWith({ env: [{ name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }] }),
  ],
  ["spec.initContainers[0].ports", { initContainers: [{ name: "a", image: "i", ports: [{ containerPort: 1 }] }] }],
  ["spec.initContainers[0].livenessProbe", { initContainers: [{ name: "a", image: "i", livenessProbe: { exec: { command: ["true"] } } }] }],
  [
    "spec.initContainers[0].restartPolicy",
    { restartPolicy: "Never", initContainers: [{ name: "a", image: "i", restartPolicy: "Always" }] },
  ],
])("%s is refused by its name", async ([fieldPath, spec]) => {
  await expect(groupOf(podOf(spec))).rejects.toMatchObject({
    code: "VK_UNSUPPORTED",
    fieldPath,
    message: expect.stringContaining(`${fieldPath}: `),
  });
});

test("a message names the other fields, too", async () => {
  await expect(groupOf(podOf({ runtimeClassName: "kata", hostUsers: false }))).rejects.toThrow(/; also spec\.hostUsers$/);
});

test("what the API server writes into every pod is no reason to refuse it", async () => {
  const pod = podOf({
    dnsPolicy: "ClusterFirst",
    enableServiceLinks: true,
    preemptionPolicy: "PreemptLowerPriority",
    priority: 0,
    schedulerName: "default-scheduler",
    securityContext: {},
    serviceAccountName: "default",
    terminationGracePeriodSeconds: 30,
    volumes: [{ name: "kube-api-access-x", projected: { sources: [] } }],
    ...mainWith({
      imagePullPolicy: "Always",
      resources: {},
      terminationMessagePath: "/dev/termination-log",
      terminationMessagePolicy: "File",
      volumeMounts: [{ name: "kube-api-access-x", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true }],
    }),
  });

  const { body, notes } = await groupOf(pod);

  expect(body.properties.volumes).toBeUndefined();
  expect(notes).toEqual([]);
});

test("a GPU is passed on where the configuration names models", async () => {
  const pod = podOf(mainWith({ resources: { limits: { "nvidia.com/gpu": "2" } } }), { "virtual-kubelet.io/gpu-type": "v100" });
  const { body } = await groupOf(pod, { config: { gpuSkus: ["K80", "V100"] } });

  expect(body.properties.containers[0]?.properties.resources).toEqual({
    requests: { cpu: 1, memoryInGB: 1.5, gpu: { count: 2, sku: "V100" } },
    limits: { gpu: { count: 2, sku: "V100" } },
  });
  await expect(groupOf(pod, { config: { gpuSkus: ["K80"] } })).rejects.toThrow(/GPU v100 is not one of the configured gpuSkus: K80/);
  await expect(groupOf(pod)).rejects.toThrow(/14 July 2025/);
});

test("files are refused on Windows", async () => {
  const volumes = [{ name: "settings", secret: { secretName: "s" } }];
  const config = { operatingSystem: "Windows" };
  const files = { settings: [file("a", "b")] };

  await expect(groupOf(podOf({ volumes }), { config, known: { files } })).rejects.toMatchObject({ fieldPath: "spec.volumes[0]" });
});
