import { get, patch, post, put, remove, waitGone, type ComparedRequest, type RequestGroup } from "./request.ts";

const pods = "/api/v1/namespaces/{ns}/pods";
const deployments = "/apis/apps/v1/namespaces/{ns}/deployments";
const jobs = "/apis/batch/v1/namespaces/{ns}/jobs";
const container = { name: "main", image: "main:1" };

const pod = (name: string, spec: object = {}, metadata: object = {}): object => ({
  metadata: { name, ...metadata },
  spec: { containers: [container], ...spec },
});

const postPod = (...args: Parameters<typeof pod>): ComparedRequest => post(pods, pod(...args));

const template = { metadata: { labels: { app: "x" } }, spec: { containers: [container] } };
const selector = { matchLabels: { app: "x" } };

/** Pods, their subresources, and the kinds that make pods. */
export const workloadRequests: readonly RequestGroup[] = [
  {
    name: "pods",
    steps: [
      postPod("a"),
      postPod("b", { containers: [] }),
      postPod("b", { containers: [{ name: "main" }] }),
      postPod("b", { containers: [{ ...container, name: "Bad_Name" }] }),
      postPod("b", { containers: [container, container] }),
      postPod("b", { restartPolicy: "Sometimes" }),
      postPod("b", { containers: [{ ...container, resources: { requests: { cpu: "2" }, limits: { cpu: "1" } } }] }),
      postPod("b", { containers: [{ ...container, resources: { requests: { cpu: "x" } } }] }),
      postPod("b", { containers: [{ ...container, ports: [{ containerPort: 70_000, protocol: "ICMP" }] }] }),
      postPod("b", { containers: [{ ...container, env: [{ name: "A=B" }] }] }),
      postPod("b", { containers: [{ ...container, volumeMounts: [{ name: "nosuch", mountPath: "/x" }] }] }),
      postPod("b", { volumes: [{ name: "v", emptyDir: {}, hostPath: { path: "/" } }] }),
      postPod("b", { priorityClassName: "nosuch" }),
      postPod("b", { nodeSelector: { "a b": "c" } }),
      postPod("b", { tolerations: [{ operator: "Sometimes" }] }),
      postPod("b", { terminationGracePeriodSeconds: "x" }),
      postPod("b", { nosuch: 1 }),
      postPod("b", { activeDeadlineSeconds: -1, dnsPolicy: "None", hostNetwork: true }),
      postPod("b", { nodeName: "n1", initContainers: [container] }, { labels: { app: "x" } }),
      postPod("c", { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } } }),
      postPod("d", { schedulingGates: [{ name: "example.com/gate" }], overhead: { cpu: "1" } }),
      get(`${pods}/a`),
      put(`${pods}/a`, pod("a", { containers: [{ ...container, image: "main:2" }] })),
      patch("strategic", `${pods}/a`, { spec: { containers: [{ name: "main", image: "main:3" }] } }),
      patch("strategic", `${pods}/a`, { spec: { containers: [{ name: "other", image: "x" }] } }),
      patch("merge", `${pods}/a`, { spec: { nodeName: "n1" } }),
      patch("merge", `${pods}/a`, { spec: { activeDeadlineSeconds: 5 } }),
      patch("strategic", `${pods}/a/status`, { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } }),
      patch("strategic", `${pods}/a/status`, { status: { phase: "Nonsense" } }),
      post(`${pods}/a/binding`, { target: { name: "" } }),
      post(`${pods}/a/binding`, { target: { kind: "Node", name: "n1" } }),
      post(`${pods}/a/binding`, { target: { kind: "Node", name: "n2" } }),
      post(`${pods}/nosuch/binding`, { target: { kind: "Node", name: "n1" } }),
      post(`${pods}/a/eviction`, { metadata: { name: "other" } }),
      post(`${pods}/a/eviction`, { metadata: { name: "a" }, deleteOptions: { dryRun: ["All"] } }),
      patch("strategic", `${pods}/a/ephemeralcontainers`, { spec: { ephemeralContainers: [{ name: "debug", image: "debug" }] } }),
      patch("strategic", `${pods}/a/ephemeralcontainers`, { spec: { ephemeralContainers: [{ name: "main", image: "debug" }] } }),
      patch("strategic", `${pods}/a/resize`, { spec: { containers: [{ name: "main", resources: { requests: { cpu: "1" } } }] } }),
      get(`${pods}/a/log`),
      get(`${pods}/a/log?container=nosuch`),
      get(`${pods}/d/log`),
      get(`${pods}/nosuch/log`),
      post(`${pods}/d/exec?command=ls`),
      get(`${pods}/a/status`),
      get(`${pods}/a/nosuch`),
      remove(`${pods}/a`),
      remove(`${pods}/a?gracePeriodSeconds=0`),
      get(`${pods}/a`),
      remove(`${pods}/d`),
      remove(pods),
    ],
  },
  {
    name: "workloads",
    steps: [
      post(deployments, { metadata: { name: "a" }, spec: { selector, template } }),
      post(deployments, { metadata: { name: "b" }, spec: { template } }),
      post(deployments, { metadata: { name: "b" }, spec: { selector: { matchLabels: { app: "y" } }, template } }),
      post(deployments, { metadata: { name: "b" }, spec: { selector: {}, template } }),
      post(deployments, { metadata: { name: "b" }, spec: { selector, template, replicas: -1, strategy: { type: "Sideways" } } }),
      post(deployments, {
        metadata: { name: "b" },
        spec: { selector, template, strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: "0%" } } },
      }),
      patch("merge", `${deployments}/a`, { spec: { selector: { matchLabels: { app: "z" } } } }),
      patch("merge", `${deployments}/a`, { spec: { replicas: 3 } }),
      patch("merge", `${deployments}/a/status`, { status: { replicas: 3, readyReplicas: 5 } }),
      get(`${deployments}/a/scale`),
      put(`${deployments}/a/scale`, { metadata: { name: "a" }, spec: { replicas: 2 } }),
      put(`${deployments}/a/scale`, { metadata: { name: "a", resourceVersion: "1" }, spec: { replicas: 2 } }),
      put(`${deployments}/a/scale`, { metadata: { name: "a" }, spec: { replicas: -2 } }),
      patch("merge", `${deployments}/a/scale`, { spec: { replicas: 4 } }),
      get(`${deployments}/nosuch/scale`),
      remove(`${deployments}/a`),
      waitGone(`${deployments}/a`),
      post("/apis/apps/v1/namespaces/{ns}/statefulsets", { metadata: { name: "a" }, spec: { serviceName: "s", selector, template } }),
      post("/apis/apps/v1/namespaces/{ns}/statefulsets", {
        metadata: { name: "b" },
        spec: { selector, template, podManagementPolicy: "X", updateStrategy: { type: "Y" } },
      }),
      post("/apis/apps/v1/namespaces/{ns}/daemonsets", { metadata: { name: "a" }, spec: { selector, template } }),
      post("/apis/apps/v1/namespaces/{ns}/replicasets", { metadata: { name: "a" }, spec: { selector, template } }),
      post("/apis/apps/v1/namespaces/{ns}/controllerrevisions", { metadata: { name: "a" }, revision: 1, data: { big: 1 } }),
      post("/apis/apps/v1/namespaces/{ns}/controllerrevisions", { metadata: { name: "b" }, revision: -1 }),
      post("/api/v1/namespaces/{ns}/replicationcontrollers", { metadata: { name: "a" }, spec: { selector: { app: "x" }, template } }),
      post("/api/v1/namespaces/{ns}/replicationcontrollers", { metadata: { name: "b" }, spec: { selector: { app: "y" }, template } }),
      get("/api/v1/namespaces/{ns}/replicationcontrollers/a/scale"),
      post(jobs, { metadata: { name: "a" }, spec: { template: { spec: { containers: [container], restartPolicy: "Never" } } } }),
      post(jobs, { metadata: { name: "b" }, spec: { template: { spec: { containers: [container] } } } }),
      post(jobs, {
        metadata: { name: "b" },
        spec: { completionMode: "Indexed", parallelism: -1, template: { spec: { containers: [container], restartPolicy: "Never" } } },
      }),
      patch("merge", `${jobs}/a`, { spec: { completions: 5 } }),
      post("/apis/batch/v1/namespaces/{ns}/cronjobs", {
        metadata: { name: "a" },
        spec: {
          schedule: "* * * * *",
          jobTemplate: { spec: { template: { spec: { containers: [container], restartPolicy: "OnFailure" } } } },
        },
      }),
      post("/apis/batch/v1/namespaces/{ns}/cronjobs", {
        metadata: { name: "b" },
        spec: { schedule: "sometimes", timeZone: "Nowhere", jobTemplate: { spec: { template: { spec: {} } } } },
      }),
      post("/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets", { metadata: { name: "a" }, spec: { minAvailable: 1, selector } }),
      post("/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets", {
        metadata: { name: "b" },
        spec: { minAvailable: 1, maxUnavailable: "x%", selector },
      }),
      post("/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers", {
        metadata: { name: "a" },
        spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "a" }, maxReplicas: 3 },
      }),
      post("/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers", {
        metadata: { name: "b" },
        spec: { scaleTargetRef: { kind: "", name: "" }, minReplicas: 5, maxReplicas: 3, metrics: [{ type: "Nosuch" }] },
      }),
      get("/apis/autoscaling/v1/namespaces/{ns}/horizontalpodautoscalers/a"),
      post("/apis/autoscaling/v1/namespaces/{ns}/horizontalpodautoscalers", {
        metadata: { name: "c" },
        spec: { scaleTargetRef: { kind: "Deployment", name: "a" }, maxReplicas: 3, targetCPUUtilizationPercentage: 50 },
      }),
      get("/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers/c"),
    ],
  },
];
