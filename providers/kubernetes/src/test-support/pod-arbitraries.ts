import type { Container, PodSpec } from "@virtual-kubelet/core";
import type { Pod } from "@virtual-kubelet/kube-client";
import fc from "fast-check";

type Volume = NonNullable<PodSpec["volumes"]>[number];
type EnvVar = NonNullable<Container["env"]>[number];
type Selector = NonNullable<NonNullable<PodSpec["topologySpreadConstraints"]>[number]["labelSelector"]>;

/** A value, or none. */
function maybe<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.option(arbitrary, { nil: undefined });
}

function someOf<T>(...values: readonly T[]): fc.Arbitrary<T[]> {
  return fc.subarray([...values]);
}

const labels: fc.Arbitrary<Record<string, string>> = fc.dictionary(
  fc.constantFrom("app", "tier", "app.kubernetes.io/name", "pod-template-hash", "topology.kubernetes.io/zone", "virtual-kubelet.io/node"),
  fc.constantFrom("", "web", "5d4f"),
);

const annotations: fc.Arbitrary<Record<string, string>> = fc.dictionary(
  fc.constantFrom("team", "example.com/price", "k8s.v1.cni.cncf.io/networks", "virtual-kubelet.io/pod", "kubernetes.io/config.seen"),
  fc.constantFrom("", "$(NAME) $$", "ü\n"),
);

const env: fc.Arbitrary<EnvVar[]> = someOf<EnvVar>(
  { name: "PLAIN", value: "a $(NAME)" },
  { name: "NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
  { name: "PRICE", valueFrom: { fieldRef: { fieldPath: "metadata.annotations['example.com/price']" } } },
  { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
  { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
  { name: "CPU", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
  { name: "COLOUR", valueFrom: { configMapKeyRef: { name: "web", key: "colour", optional: true } } },
  { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "database", key: "password" } } },
);

const volumes: fc.Arbitrary<Volume[]> = someOf<Volume>(
  { name: "empty", emptyDir: { medium: "Memory", sizeLimit: "16Mi" } },
  { name: "conf", configMap: { name: "web", items: [{ key: "nginx.conf", path: "a/nginx.conf", mode: 0o400 }] } },
  { name: "certificates", secret: { secretName: "tls", defaultMode: 0o440, optional: true } },
  {
    name: "info",
    downwardAPI: {
      items: [
        { path: "labels", fieldRef: { fieldPath: "metadata.labels" } },
        { path: "cpu", resourceFieldRef: { containerName: "main", resource: "limits.cpu" } },
      ],
    },
  },
  {
    name: "all",
    projected: {
      sources: [
        { serviceAccountToken: { audience: "vault", path: "token", expirationSeconds: 600 } },
        { configMap: { name: "kube-root-ca.crt" } },
        { secret: { name: "tls", items: [{ key: "tls.crt", path: "tls/crt" }] } },
        { downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" }, mode: 0o400 }] } },
        { clusterTrustBundle: { name: "example.com:a", path: "ca.pem", optional: true } },
      ],
    },
  },
  { name: "data", persistentVolumeClaim: { claimName: "data", readOnly: true } },
  { name: "image", image: { reference: "registry.example.com/weights:2" } },
  { name: "driver", csi: { driver: "csi.example.com", nodePublishSecretRef: { name: "csi" } } },
  { name: "nfs", nfs: { server: "nfs.example.com", path: "/" } },
  { name: "host", hostPath: { path: "/var/log" } },
);

const selector: fc.Arbitrary<Selector> = fc.constantFrom<Selector>(
  {},
  { matchLabels: { app: "web" } },
  {
    matchExpressions: [
      { key: "tier", operator: "In", values: ["front", "back"] },
      { key: "app", operator: "Exists" },
    ],
  },
);

const term: fc.Arbitrary<object> = fc.record(
  {
    topologyKey: fc.constantFrom("kubernetes.io/hostname", "topology.kubernetes.io/zone"),
    labelSelector: selector,
    namespaces: someOf("shop", "bank"),
    namespaceSelector: fc.constantFrom<Selector>(
      {},
      { matchLabels: { "kubernetes.io/metadata.name": "bank" } },
      { matchLabels: { team: "a" } },
    ),
    matchLabelKeys: fc.constant(["pod-template-hash"]),
  },
  { requiredKeys: ["topologyKey", "labelSelector"] },
);

const podAffinity: fc.Arbitrary<object> = fc.record(
  {
    requiredDuringSchedulingIgnoredDuringExecution: fc.array(term, { minLength: 1, maxLength: 2 }),
    preferredDuringSchedulingIgnoredDuringExecution: fc.tuple(
      fc.record({ weight: fc.integer({ min: 1, max: 100 }), podAffinityTerm: term }),
    ),
  },
  { requiredKeys: [] },
);

const affinity: fc.Arbitrary<object> = fc.record(
  {
    nodeAffinity: fc.constant({
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["virtual"] }] }],
      },
    }),
    podAffinity,
    podAntiAffinity: podAffinity,
  },
  { requiredKeys: [] },
);

const tolerations: fc.Arbitrary<NonNullable<PodSpec["tolerations"]>> = someOf(
  { key: "virtual-kubelet.io/provider", operator: "Exists" },
  { key: "spot", operator: "Equal", value: "true", effect: "NoSchedule" },
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 },
  { operator: "Exists" },
);

const resourceAmounts: fc.Arbitrary<NonNullable<Container["resources"]>> = fc.constantFrom<NonNullable<Container["resources"]>>(
  {},
  { requests: { cpu: "1", memory: "64Mi" } },
  { limits: { cpu: "1500m", memory: "0.5Gi", "nvidia.com/gpu": "1" } },
);

function container(name: string): fc.Arbitrary<Container> {
  return fc.record(
    {
      name: fc.constant(name),
      image: fc.constantFrom("nginx:1", "registry.example.com/agent@sha256:" + "0".repeat(64)),
      env,
      envFrom: someOf({ configMapRef: { name: "web" }, prefix: "WEB_" }, { secretRef: { name: "database", optional: true } }),
      resources: resourceAmounts,
      ports: fc.constant([{ containerPort: 80, name: `p-${name}` }]),
      volumeMounts: fc.constant([]),
    },
    { requiredKeys: ["name", "image"] },
  );
}

/** Specs of pods as users write them: what the API server of home accepts. Every volume is there, whether it is mounted or not. */
const spec: fc.Arbitrary<PodSpec> = fc
  .record({
    containers: fc.tuple(container("main"), container("side")),
    initContainers: maybe(fc.tuple(container("init"))),
    volumes,
    imagePullSecrets: maybe(fc.constant([{ name: "registry" }])),
    affinity: maybe(affinity),
    topologySpreadConstraints: maybe(
      fc.tuple(
        fc.record({
          maxSkew: fc.constant(1),
          topologyKey: fc.constant("kubernetes.io/hostname"),
          whenUnsatisfiable: fc.constantFrom("DoNotSchedule", "ScheduleAnyway"),
          labelSelector: selector,
          matchLabelKeys: maybe(fc.constant(["pod-template-hash"])),
        }),
      ),
    ),
    tolerations,
    nodeSelector: maybe(fc.constant({ type: "virtual-kubelet" })),
    priorityClassName: maybe(fc.constantFrom("high", "low")),
    runtimeClassName: maybe(fc.constant("sandbox")),
    serviceAccountName: maybe(fc.constantFrom("default", "robot")),
    schedulerName: maybe(fc.constant("default-scheduler")),
    hostname: maybe(fc.constant("db")),
    subdomain: maybe(fc.constant("dbs")),
    activeDeadlineSeconds: maybe(fc.constant(60)),
    restartPolicy: maybe(fc.constantFrom("Always", "OnFailure", "Never")),
    enableServiceLinks: maybe(fc.boolean()),
    readinessGates: maybe(fc.constant([{ conditionType: "example.com/ready" }])),
    securityContext: maybe(fc.constant({ runAsUser: 1000, fsGroup: 2000 })),
  })
  .map((generated) => JSON.parse(JSON.stringify(generated)) as PodSpec);

/** Pods as users write them, in the namespace `shop`. */
export const userPod: fc.Arbitrary<Pod> = fc.record({
  metadata: fc.record({ name: fc.constantFrom("web", "web.v1", "w".repeat(80)), namespace: fc.constant("shop"), labels, annotations }),
  spec,
});

/** Configurations that change a translation, as users write them. */
export const userConfig: fc.Arbitrary<object> = fc
  .record({
    namespaces: fc.constantFrom({ mode: "one", name: "far" }, { mode: "same" }, { mode: "prefix", prefix: "home-" }),
    carry: fc.record({
      labels: fc.constantFrom({}, { prefix: "home.example.com/" }, { exclude: ["app", "pod-*"] }),
      annotations: fc.constantFrom({}, { exclude: ["*"] }),
      serviceAccountToken: fc.constantFrom("drop", "home", "far"),
      farServiceAccount: maybe(fc.constant("runner")),
    }),
    scheduling: fc.record({
      nodeSelector: fc.constantFrom({}, { pool: "a" }),
      tolerations: fc.constantFrom([], [{ key: "pool", operator: "Exists" }]),
      priorityClasses: fc.constantFrom({}, { high: "low" }),
      runtimeClasses: fc.constantFrom({}, { sandbox: "gvisor" }),
      podAffinity: fc.constantFrom("carry", "drop"),
      topologySpread: fc.constantFrom("carry", "drop"),
      schedulerName: maybe(fc.constant("volcano")),
    }),
    network: fc.record({ serviceVariables: fc.constantFrom("far", "home") }),
  })
  .map((generated) => JSON.parse(JSON.stringify(generated)) as object);
