import type { Container, Pod } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import type { Capabilities } from "../provider/capabilities.ts";
import { listFields, unsupportedFields } from "./unsupported-fields.ts";

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
    ["spec.securityContext.runAsUser", "securityContext", withSpec({ securityContext: { runAsUser: 1 } })],
    ["spec.containers[0].securityContext.runAsNonRoot", "securityContext", withContainer({ securityContext: { runAsNonRoot: true } })],
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

test('what is not supported is said in words that follow "does not support"', () => {
  const pod: Pod = {
    spec: {
      restartPolicy: "OnFailure",
      hostNetwork: false,
      hostPID: true,
      hostIPC: true,
      shareProcessNamespace: true,
      securityContext: { runAsUser: 1 },
      os: { name: "windows" },
      initContainers: [{ name: "i" }, { name: "s", restartPolicy: "Always" }],
      ephemeralContainers: [{ name: "e" }],
      containers: [
        {
          name: "a",
          env: [{ name: "A" }],
          envFrom: [{}, { configMapRef: { name: "c" } }],
          startupProbe: { exec: {} },
          readinessProbe: { exec: {} },
          lifecycle: { postStart: { exec: {} } },
          ports: [{ containerPort: 1, hostPort: 1 }],
          securityContext: { privileged: true, runAsUser: 1 },
          resources: {
            limits: { "amd.com/gpu": "1", cpu: "1" },
            requests: { "amd.com/gpu": "1", "nvidia.com/mig-1g.5gb": "1", gpu: "1", "example.com/gputil": "1" },
          },
        },
        { name: "b" },
      ],
      volumes: [{ name: "v", nfs: { server: "s", path: "/" }, emptyDir: null } as never],
    },
  };

  expect(listFields(unsupportedFields(pod, { operatingSystems: [] })).split("; ")).toEqual([
    "spec.initContainers[0]: init containers",
    "spec.initContainers[1].restartPolicy: sidecar containers",
    "spec.containers[1]: more than one container in a pod",
    "spec.ephemeralContainers[0]: ephemeral containers",
    "spec.containers[0].env: environment variables",
    "spec.containers[0].envFrom: environment variables",
    "spec.containers[0].startupProbe: probes",
    "spec.containers[0].readinessProbe: probes",
    "spec.containers[0].lifecycle: lifecycle hooks",
    "spec.containers[0].ports[0].hostPort: host ports",
    "spec.containers[0].securityContext.privileged: privileged containers",
    "spec.containers[0].securityContext.runAsUser: security contexts",
    "spec.containers[0].resources.limits['amd.com/gpu']: GPUs",
    "spec.containers[0].resources.limits['nvidia.com/mig-1g.5gb']: GPUs",
    "spec.containers[0].resources.limits['gpu']: GPUs",
    "spec.containers[0].resources.limits['example.com/gputil']: GPUs",
    "spec.restartPolicy: restart policy OnFailure",
    "spec.hostPID: shared namespaces",
    "spec.hostIPC: shared namespaces",
    "spec.shareProcessNamespace: shared namespaces",
    "spec.securityContext.runAsUser: security contexts",
    "spec.os.name: operating system windows",
    "spec.volumes[0].nfs: volumes of type nfs",
  ]);
});

test("a pod always starts again unless it says otherwise", () => {
  expect(unsupportedFields({ spec: { containers: [] } }, {})).toEqual([
    { fieldPath: "spec.restartPolicy", message: "restart policy Always" },
  ]);
  expect(unsupportedFields({}, { restarts: true })).toEqual([]);
});

test("init and ephemeral containers are looked into where they are supported, and not where they are not", () => {
  const env = [{ name: "A" }];
  const pod = withSpec({
    initContainers: [
      { name: "i", env },
      { name: "s", env, restartPolicy: "Always" },
    ],
    ephemeralContainers: [{ name: "e", env }],
  });

  expect(paths(pod, { initContainers: true, sidecarContainers: true, ephemeralContainers: true })).toEqual([
    "spec.initContainers[0].env",
    "spec.initContainers[1].env",
    "spec.ephemeralContainers[0].env",
  ]);
  expect(paths(pod, { initContainers: true })).toEqual([
    "spec.initContainers[1].restartPolicy",
    "spec.ephemeralContainers[0]",
    "spec.initContainers[0].env",
  ]);
  expect(paths(pod, { sidecarContainers: true })).toEqual([
    "spec.initContainers[0]",
    "spec.ephemeralContainers[0]",
    "spec.initContainers[1].env",
  ]);
});

test("each field of a security context is named, because one may be ignored without the others", () => {
  const security = { privileged: true, runAsUser: 0, readOnlyRootFilesystem: true };

  expect(paths(withContainer({ securityContext: security }), { restarts: true, privileged: true })).toEqual([
    "spec.containers[0].securityContext.runAsUser",
    "spec.containers[0].securityContext.readOnlyRootFilesystem",
  ]);
});

test("an empty field asks for nothing", () => {
  const empty = {
    env: [],
    envFrom: [],
    livenessProbe: {},
    lifecycle: { preStop: null },
    securityContext: { privileged: false },
    ports: [{ containerPort: 1 }],
  };

  expect(paths(withContainer(empty as never), {})).toEqual([]);
  expect(paths(withSpec({ hostNetwork: false, hostPID: false, ephemeralContainers: [], initContainers: [], volumes: [] }), {})).toEqual([]);
});

test("an operating system is refused only where others are listed", () => {
  expect(paths(withSpec({ os: { name: "windows" } }), {})).toEqual([]);
  expect(paths(withSpec({}), { operatingSystems: ["linux"] })).toEqual([]);
  expect(paths(withSpec({ os: { name: "linux" } }), { operatingSystems: ["windows", "linux"] })).toEqual([]);
});

test("each source of a volume is named, and the token's volume where tokens are required", () => {
  const token = { name: "kube-api-access-x7b2k", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } };
  const pod = withSpec({ volumes: [{ name: "v", secret: {}, nfs: { server: "s", path: "/" } }, token] });

  expect(paths(pod, { volumes: ["secret"] })).toEqual(["spec.volumes[0].nfs"]);
  expect(unsupportedFields(pod, { volumes: ["secret", "nfs"] }, { requireToken: true })).toEqual([
    { fieldPath: "spec.volumes[1].projected", message: "volumes of type projected" },
  ]);
});

test("a source of a volume that is undefined or null is none", () => {
  const volumes = [{ name: "v", secret: {}, configMap: undefined, ...JSON.parse('{"nfs":null}') }];

  expect(paths(withSpec({ volumes }), { volumes: ["secret"] })).toEqual([]);
});
