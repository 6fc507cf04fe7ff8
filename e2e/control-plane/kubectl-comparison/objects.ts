/** Containers with most of what `kubectl describe` prints. */
const fullContainer = {
  name: "main",
  image: "registry.example.com/main:1",
  command: ["run"],
  args: ["--verbose", "a b"],
  ports: [
    { name: "http", containerPort: 8080 },
    { containerPort: 53, protocol: "UDP" },
  ],
  env: [
    { name: "PLAIN", value: "1" },
    { name: "FROM_MAP", valueFrom: { configMapKeyRef: { name: "settings", key: "a" } } },
    { name: "FROM_SECRET", valueFrom: { secretKeyRef: { name: "keys", key: "a", optional: true } } },
    { name: "NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
    { name: "LIMIT", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
  ],
  envFrom: [{ prefix: "P_", configMapRef: { name: "settings" } }],
  resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "1", memory: "128Mi" } },
  livenessProbe: { httpGet: { path: "/live", port: "http" }, initialDelaySeconds: 5 },
  readinessProbe: { exec: { command: ["ready"] }, periodSeconds: 3 },
  startupProbe: { tcpSocket: { port: 8080 } },
  volumeMounts: [
    { name: "data", mountPath: "/data" },
    { name: "settings", mountPath: "/settings", readOnly: true, subPath: "a" },
  ],
};

const container = { name: "main", image: "registry.example.com/main:1" };

/** No scheduler has this name, so that nobody binds the pods. */
const schedulerName = "nobody";

const podSpec = { schedulerName, containers: [container] };

const template = (app: string): object => ({ metadata: { labels: { app } }, spec: podSpec });
const selector = (app: string): object => ({ matchLabels: { app } });

/** A Deployment without replicas; the first applied, so that later steps can change it. */
export function deployment(name: string, image: string, spec: object = {}): object {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, labels: { app: name } },
    spec: {
      replicas: 0,
      selector: selector(name),
      template: { metadata: { labels: { app: name } }, spec: { ...podSpec, containers: [{ name: "main", image }] } },
      ...spec,
    },
  };
}

export function configMap(name: string, data: Readonly<Record<string, string>>): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
}

export function pod(name: string, spec: object = {}, labels: object = { app: name }): object {
  return { apiVersion: "v1", kind: "Pod", metadata: { name, labels }, spec: { ...podSpec, ...spec } };
}

/** An object of every other kind that `kubectl describe` has words for. Names of objects without a namespace contain `{ns}`. */
export const objectsOfAllKinds: readonly object[] = [
  configMap("settings", { a: "one\ntwo\n" }),
  { apiVersion: "v1", kind: "Secret", metadata: { name: "keys" }, type: "Opaque", data: { a: "b25l" } },
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot" }, imagePullSecrets: [{ name: "keys" }] },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "full", labels: { app: "full", tier: "front" }, annotations: { note: "a note", long: "x".repeat(150) } },
    spec: {
      schedulerName,
      priority: 0,
      nodeSelector: { disk: "ssd" },
      tolerations: [{ key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 }],
      containers: [fullContainer],
      initContainers: [
        { ...container, name: "first" },
        { ...container, name: "sidecar", restartPolicy: "Always" },
      ],
      volumes: [
        { name: "data", emptyDir: { sizeLimit: "1Gi" } },
        { name: "settings", configMap: { name: "settings", items: [{ key: "a", path: "a" }] } },
        { name: "claim", persistentVolumeClaim: { claimName: "data" } },
        { name: "host", hostPath: { path: "/host", type: "Directory" } },
      ],
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway", labelSelector: selector("full") },
      ],
      readinessGates: [{ conditionType: "example.com/gate" }],
    },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "front" },
    spec: {
      selector: { app: "full" },
      ports: [
        { name: "http", port: 80, targetPort: "http" },
        { name: "dns", port: 53, protocol: "UDP" },
      ],
    },
  },
  { apiVersion: "v1", kind: "Service", metadata: { name: "outside" }, spec: { type: "ExternalName", externalName: "example.com" } },
  { apiVersion: "v1", kind: "Service", metadata: { name: "headless" }, spec: { clusterIP: "None", selector: { app: "none" } } },
  {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "{ns}", labels: { run: "{ns}" } },
    spec: {
      capacity: { storage: "5Gi" },
      accessModes: ["ReadWriteMany"],
      storageClassName: "other-{ns}",
      persistentVolumeReclaimPolicy: "Retain",
      hostPath: { path: "/volume" },
    },
  },
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "{ns}", labels: { run: "{ns}" } },
    provisioner: "example.com/none",
    parameters: { type: "fast" },
    volumeBindingMode: "WaitForFirstConsumer",
    allowVolumeExpansion: true,
  },
  {
    apiVersion: "v1",
    kind: "LimitRange",
    metadata: { name: "sizes" },
    spec: { limits: [{ type: "PersistentVolumeClaim", max: { storage: "10Gi" }, min: { storage: "1Mi" } }] },
  },
  deployment("web", "registry.example.com/web:1", { revisionHistoryLimit: 5, minReadySeconds: 2 }),
  {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name: "set" },
    spec: { replicas: 1, selector: selector("set"), template: template("set") },
  },
  {
    apiVersion: "v1",
    kind: "ReplicationController",
    metadata: { name: "old" },
    spec: { replicas: 0, selector: { app: "old" }, template: template("old") },
  },
  {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "agent" },
    // Nodes of other runs have no such label.
    spec: {
      selector: selector("agent"),
      template: { metadata: { labels: { app: "agent" } }, spec: { ...podSpec, nodeSelector: { run: "nosuch" } } },
    },
  },
  {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "db" },
    spec: {
      serviceName: "headless",
      replicas: 1,
      selector: selector("db"),
      template: template("db"),
      volumeClaimTemplates: [
        {
          metadata: { name: "disk" },
          spec: { accessModes: ["ReadWriteOnce"], storageClassName: "{ns}", resources: { requests: { storage: "1Gi" } } },
        },
      ],
    },
  },
  {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "work" },
    spec: { suspend: true, completions: 3, parallelism: 2, template: { spec: { ...podSpec, restartPolicy: "Never" } } },
  },
  {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "nightly" },
    spec: { schedule: "0 3 1 1 *", suspend: true, jobTemplate: { spec: { template: { spec: { ...podSpec, restartPolicy: "Never" } } } } },
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "entry", annotations: { note: "a" } },
    spec: {
      ingressClassName: "{ns}",
      tls: [{ hosts: ["example.com"], secretName: "keys" }],
      rules: [
        {
          host: "example.com",
          http: { paths: [{ path: "/a", pathType: "Prefix", backend: { service: { name: "front", port: { name: "http" } } } }] },
        },
      ],
      defaultBackend: { service: { name: "nosuch", port: { number: 80 } } },
    },
  },
  { apiVersion: "networking.k8s.io/v1", kind: "IngressClass", metadata: { name: "{ns}" }, spec: { controller: "example.com/c" } },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "isolate" },
    spec: {
      podSelector: selector("full"),
      policyTypes: ["Ingress", "Egress"],
      ingress: [
        { from: [{ podSelector: selector("web") }, { ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } }], ports: [{ port: 80 }] },
      ],
      egress: [],
    },
  },
  {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: "keep" },
    spec: { minAvailable: 1, selector: selector("full") },
  },
  {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "web" },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      minReplicas: 2,
      maxReplicas: 5,
      metrics: [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } } }],
      behavior: { scaleDown: { stabilizationWindowSeconds: 30 } },
    },
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name: "reader" },
    rules: [{ apiGroups: ["", "apps"], resources: ["pods", "deployments"], verbs: ["get", "list"] }],
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "reader" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
    subjects: [
      { kind: "ServiceAccount", name: "robot", namespace: "{ns}" },
      { apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "readers" },
    ],
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "{ns}" },
    rules: [
      { nonResourceURLs: ["/metrics"], verbs: ["get"] },
      { apiGroups: [""], resources: ["pods"], resourceNames: ["a"], verbs: ["*"] },
    ],
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "{ns}" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "{ns}" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "dana" }],
  },
  { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: "{ns}" }, value: 10, description: "a class" },
  { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", metadata: { name: "{ns}" }, handler: "runc" },
  {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "held" },
    spec: { holderIdentity: "me", leaseDurationSeconds: 15 },
  },
  {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { name: "manual" },
    subsets: [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ name: "http", port: 80 }] }],
  },
  {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "manual-slice" },
    addressType: "IPv4",
    endpoints: [{ addresses: ["192.0.2.1"], conditions: { ready: true } }],
    ports: [{ name: "http", port: 80 }],
  },
  { apiVersion: "compare.example.com/v1", kind: "Widget", metadata: { name: "first" }, spec: { color: "red", size: 3 } },
];

/** A claim, for which the controllers look for its class and the pod that uses it. */
export const claim: object = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], storageClassName: "{ns}", resources: { requests: { storage: "1Gi" } } },
};

/** A quota, whose controller counts the objects that it knows. */
export const quota: object = {
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name: "counts" },
  spec: { hard: { "count/secrets": "20", services: "15" } },
};

/** Kinds of these objects and the objects that are described, as `kubectl describe` takes them. */
export const describedObjects: readonly string[] = [
  "configmap/settings",
  "secret/keys",
  "serviceaccount/robot",
  "pod/full",
  "service/front",
  "service/outside",
  "service/headless",
  "persistentvolumeclaim/data",
  "persistentvolume/{ns}",
  "storageclass/{ns}",
  "resourcequota/counts",
  "limitrange/sizes",
  "deployment/web",
  "replicaset/set",
  "replicationcontroller/old",
  "daemonset/agent",
  "statefulset/db",
  "job/work",
  "cronjob/nightly",
  "ingress/entry",
  "ingressclass/{ns}",
  "networkpolicy/isolate",
  "poddisruptionbudget/keep",
  "horizontalpodautoscaler/web",
  "role/reader",
  "rolebinding/reader",
  "clusterrole/{ns}",
  "clusterrolebinding/{ns}",
  "priorityclass/{ns}",
  "runtimeclass/{ns}",
  "lease/held",
  "endpoints/manual",
  "endpointslice/manual-slice",
  "widget/first",
  "namespace/{ns}",
];

/** Definition of the kind `Widget`, which exists before the first run. */
export const widgetDefinition: object = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.compare.example.com" },
  spec: {
    group: "compare.example.com",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", shortNames: ["wd"], categories: ["all"] },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {}, scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" } },
        additionalPrinterColumns: [
          { name: "Color", type: "string", jsonPath: ".spec.color", description: "Color of the widget" },
          { name: "Size", type: "integer", jsonPath: ".spec.size", priority: 1 },
          { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
        ],
        schema: {
          openAPIV3Schema: {
            type: "object",
            description: "Widget is a thing with a color.",
            properties: {
              spec: {
                type: "object",
                description: "What the widget is.",
                required: ["color"],
                properties: {
                  color: { type: "string", enum: ["red", "green"], description: "Color of the widget." },
                  size: { type: "integer", minimum: 0 },
                  parts: { type: "array", items: { type: "object", properties: { name: { type: "string" } } } },
                },
              },
              status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            },
          },
        },
      },
    ],
  },
};
