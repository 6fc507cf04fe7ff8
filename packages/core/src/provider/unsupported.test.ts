import type { Container, Pod } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import type { Capabilities } from "./capabilities.ts";
import { unsupportedFields } from "./unsupported.ts";

const all: Capabilities = {
  initContainers: true,
  sidecarContainers: true,
  ephemeralContainers: true,
  multipleContainers: true,
  env: true,
  probes: true,
  lifecycleHooks: true,
  restarts: true,
  hostNetwork: true,
  hostPorts: true,
  sharedNamespaces: true,
  securityContext: true,
  privileged: true,
  gpus: true,
  volumes: ["emptyDir", "configMap", "secret", "projected", "hostPath"],
  operatingSystems: ["linux", "windows"],
};

function withSpec(spec: Partial<NonNullable<Pod["spec"]>>): Pod {
  return { spec: { restartPolicy: "Never", containers: [{ name: "app" }], ...spec } };
}

function withContainer(container: Partial<Container>): Pod {
  return withSpec({ containers: [{ name: "app", ...container }] });
}

function paths(pod: Pod, capabilities: Capabilities): string[] {
  return unsupportedFields(pod, capabilities).map(({ fieldPath }) => fieldPath);
}

describe("unsupportedFields", () => {
  test.each<[string, keyof Capabilities, Pod]>([
    ["spec.initContainers[0]", "initContainers", withSpec({ initContainers: [{ name: "setup" }] })],
    [
      "spec.initContainers[0].restartPolicy",
      "sidecarContainers",
      withSpec({ initContainers: [{ name: "side", restartPolicy: "Always" }] }),
    ],
    ["spec.ephemeralContainers[0]", "ephemeralContainers", withSpec({ ephemeralContainers: [{ name: "debug" }] })],
    ["spec.containers[1]", "multipleContainers", withSpec({ containers: [{ name: "a" }, { name: "b" }] })],
    ["spec.containers[0].env", "env", withContainer({ env: [{ name: "A", value: "1" }] })],
    ["spec.containers[0].envFrom", "env", withContainer({ envFrom: [{ secretRef: { name: "s" } }] })],
    ["spec.containers[0].livenessProbe", "probes", withContainer({ livenessProbe: { exec: { command: ["true"] } } })],
    ["spec.containers[0].lifecycle", "lifecycleHooks", withContainer({ lifecycle: { preStop: { sleep: { seconds: 1 } } } })],
    ["spec.restartPolicy", "restarts", withSpec({ restartPolicy: "OnFailure" })],
    ["spec.hostNetwork", "hostNetwork", withSpec({ hostNetwork: true })],
    [
      "spec.containers[0].ports[1].hostPort",
      "hostPorts",
      withContainer({ ports: [{ containerPort: 80 }, { containerPort: 81, hostPort: 81 }] }),
    ],
    ["spec.shareProcessNamespace", "sharedNamespaces", withSpec({ shareProcessNamespace: true })],
    ["spec.securityContext", "securityContext", withSpec({ securityContext: { runAsUser: 1 } })],
    ["spec.containers[0].securityContext", "securityContext", withContainer({ securityContext: { runAsNonRoot: true } })],
    ["spec.containers[0].securityContext.privileged", "privileged", withContainer({ securityContext: { privileged: true } })],
    ["spec.containers[0].resources.limits['nvidia.com/gpu']", "gpus", withContainer({ resources: { limits: { "nvidia.com/gpu": "1" } } })],
    ["spec.volumes[0].emptyDir", "volumes", withSpec({ volumes: [{ name: "v", emptyDir: {} }] })],
  ])("names %s where %s is missing, and nothing where it is there", (fieldPath, capability, pod) => {
    const { [capability]: _, ...others } = all;

    expect(paths(pod, others)).toEqual([fieldPath]);
    expect(paths(pod, all)).toEqual([]);
  });

  test("names operating systems that are not listed", () => {
    expect(unsupportedFields(withSpec({ os: { name: "windows" } }), { ...all, operatingSystems: ["linux"] })).toEqual([
      { fieldPath: "spec.os.name", message: "operating system windows" },
    ]);
  });

  test("lets a plain pod pass that never restarts, on the barest provider", () => {
    const serviceAccount = { name: "kube-api-access-x7b2k", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } };
    const mounts = [{ name: "kube-api-access-x7b2k", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true }];
    const pod = withSpec({
      securityContext: {},
      volumes: [serviceAccount],
      containers: [{ name: "app", image: "app:1", resources: {}, volumeMounts: mounts }],
    });

    expect(paths(pod, {})).toEqual([]);
  });

  test("does not take any projected volume for the service account's", () => {
    expect(paths(withSpec({ volumes: [{ name: "mine", projected: { sources: [] } }] }), {})).toEqual(["spec.volumes[0].projected"]);
  });

  test("does not count ports of pods on the host's network as host ports", () => {
    const pod = withSpec({ hostNetwork: true, containers: [{ name: "app", ports: [{ containerPort: 80, hostPort: 80 }] }] });

    expect(paths(pod, { hostNetwork: true })).toEqual([]);
  });

  test("takes a volume without a source for an emptyDir", () => {
    expect(paths(withSpec({ volumes: [{ name: "v" }] }), {})).toEqual(["spec.volumes[0].emptyDir"]);
  });

  test("names every field, in the order of the spec", () => {
    const pod = withSpec({
      restartPolicy: "Always",
      containers: [{ name: "app", env: [{ name: "A" }], readinessProbe: { httpGet: { port: 80 } } }],
      volumes: [{ name: "v", nfs: { server: "s", path: "/" } }],
    });

    expect(paths(pod, {})).toEqual([
      "spec.containers[0].env",
      "spec.containers[0].readinessProbe",
      "spec.restartPolicy",
      "spec.volumes[0].nfs",
    ]);
  });
});
