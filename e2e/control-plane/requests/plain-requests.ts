import { accepts, get, patch, post, put, remove, waitFor, type RequestGroup } from "./request.ts";

const services = "/api/v1/namespaces/{ns}/services";
const networking = "/apis/networking.k8s.io/v1/namespaces/{ns}";
const discovery = "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices";
const backend = { service: { name: "web", port: { number: 80 } } };
const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };

const third = { metadata: { name: "third" }, spec: { containers: [{ name: "main", image: "main" }] } };

/** Kinds without a controller of their own here: network, storage, policy, events, leases. */
export const plainRequests: readonly RequestGroup[] = [
  {
    name: "services and network",
    steps: [
      post(services, { metadata: { name: "a" }, spec: { clusterIP: "10.96.9.9", selector: { app: "x" }, ports: [{ port: 80 }] } }),
      post(services, { metadata: { name: "b" }, spec: { clusterIP: "10.96.9.9", ports: [{ port: 80 }] } }),
      post(services, { metadata: { name: "b" }, spec: { clusterIP: "1.2.3.4", ports: [{ port: 80 }] } }),
      post(services, { metadata: { name: "b" }, spec: { clusterIP: "x", ports: [{ port: 0, protocol: "X" }, { port: 0 }] } }),
      post(services, { metadata: { name: "headless" }, spec: { clusterIP: "None", selector: { app: "x" } } }),
      post(services, { metadata: { name: "b" }, spec: {} }),
      post(services, { metadata: { name: "external" }, spec: { type: "ExternalName", externalName: "example.com" } }),
      post(services, { metadata: { name: "b" }, spec: { type: "ExternalName" } }),
      post(services, { metadata: { name: "b" }, spec: { type: "NodePort", ports: [{ port: 80, nodePort: 5 }] } }),
      post(services, {
        metadata: { name: "np" },
        spec: { clusterIP: "10.96.9.10", type: "NodePort", ports: [{ port: 80, nodePort: 31_234 }] },
      }),
      post(services, { metadata: { name: "b" }, spec: { ipFamilies: ["IPv6"], ports: [{ port: 80 }] } }),
      patch("merge", `${services}/a`, { spec: { clusterIP: "10.96.9.11" } }),
      patch("strategic", `${services}/a`, { spec: { ports: [{ port: 81, name: "x" }] } }),
      patch("merge", `${services}/a`, { spec: { type: "ExternalName", externalName: "example.com" } }),
      get(`${services}/a/proxy`),
      remove(`${services}/a`),
      post(`${networking}/ingresses`, { metadata: { name: "a" }, spec: { defaultBackend: backend } }),
      post(`${networking}/ingresses`, { metadata: { name: "b" }, spec: {} }),
      post(`${networking}/ingresses`, {
        metadata: { name: "b" },
        spec: { rules: [{ host: "Bad_Host", http: { paths: [{ path: "x", pathType: "Prefix", backend }] } }] },
      }),
      post(`${networking}/ingresses`, { metadata: { name: "b" }, spec: { rules: [{ http: { paths: [{ path: "/", backend: {} }] } }] } }),
      post(`${networking}/networkpolicies`, { metadata: { name: "a" }, spec: { podSelector: {}, policyTypes: ["Ingress"] } }),
      post(`${networking}/networkpolicies`, {
        metadata: { name: "b" },
        spec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: "x" } }, {}] }], policyTypes: ["Sideways"] },
      }),
      post("/apis/networking.k8s.io/v1/ingressclasses", { metadata: { name: "{ns}" }, spec: { controller: "bad controller" } }),
      post(discovery, { metadata: { name: "a" }, addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"] }], ports: [{ port: 80 }] }),
      post(discovery, { metadata: { name: "b" }, addressType: "IPv5", endpoints: [{ addresses: [] }] }),
      post(discovery, { metadata: { name: "b" }, addressType: "IPv4", endpoints: [{ addresses: ["x"], hostname: "A_B" }] }),
      patch("merge", `${discovery}/a`, { addressType: "IPv6" }),
      post("/api/v1/namespaces/{ns}/endpoints", {
        metadata: { name: "a" },
        subsets: [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 80 }] }],
      }),
      post("/api/v1/namespaces/{ns}/endpoints", {
        metadata: { name: "b" },
        subsets: [{ addresses: [{ ip: "127.0.0.1" }], ports: [{ port: 0 }] }],
      }),
    ],
  },
  {
    name: "quotas, limits, storage",
    steps: [
      post("/api/v1/namespaces/{ns}/limitranges", {
        metadata: { name: "a" },
        spec: { limits: [{ type: "Container", default: { cpu: "1" }, max: { cpu: "500m" } }] },
      }),
      post("/api/v1/namespaces/{ns}/limitranges", {
        metadata: { name: "ok" },
        spec: { limits: [{ type: "Container", default: { cpu: "1" }, max: { cpu: "2" } }] },
      }),
      post("/api/v1/namespaces/{ns}/pods", { metadata: { name: "defaulted" }, spec: { containers: [{ name: "main", image: "main" }] } }),
      post("/api/v1/namespaces/{ns}/pods", {
        metadata: { name: "big" },
        spec: { containers: [{ name: "main", image: "main", resources: { limits: { cpu: "3" } } }] },
      }),
      post("/api/v1/namespaces/{ns}/resourcequotas", { metadata: { name: "a" }, spec: { hard: { pods: "x" } } }),
      post("/api/v1/namespaces/{ns}/resourcequotas", { metadata: { name: "a" }, spec: { hard: { nosuch: "1" }, scopes: ["Sideways"] } }),
      post("/api/v1/namespaces/{ns}/resourcequotas", { metadata: { name: "b" }, spec: { hard: { pods: "2", "limits.cpu": "5" } } }),
      put("/api/v1/namespaces/{ns}/resourcequotas/b/status", {
        metadata: { name: "b" },
        status: { hard: { pods: "2", "limits.cpu": "5" }, used: { pods: "2", "limits.cpu": "2" } },
      }),
      // The real server's admission sees the quota and its usage some moments later.
      waitFor(post("/api/v1/namespaces/{ns}/pods?dryRun=All", third), {
        status: 403,
        when: ({ message }) => String(message).includes("exceeded quota: b,"),
      }),
      post("/api/v1/namespaces/{ns}/pods", third),
      post("/api/v1/namespaces/{ns}/persistentvolumeclaims", { metadata: { name: "a" }, spec: claim }),
      post("/api/v1/namespaces/{ns}/persistentvolumeclaims", { metadata: { name: "b" }, spec: { accessModes: ["Sometimes"] } }),
      patch("merge", "/api/v1/namespaces/{ns}/persistentvolumeclaims/a", { spec: { resources: { requests: { storage: "2Gi" } } } }),
      post("/api/v1/persistentvolumes", {
        metadata: { name: "{ns}" },
        spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/data" } },
      }),
      post("/api/v1/persistentvolumes", { metadata: { name: "{ns}-b" }, spec: { capacity: {}, accessModes: [] } }),
      post("/apis/storage.k8s.io/v1/storageclasses", { metadata: { name: "{ns}" }, provisioner: "example.com/p" }),
      post("/apis/storage.k8s.io/v1/storageclasses", { metadata: { name: "{ns}-b" }, volumeBindingMode: "Sometimes" }),
      post("/apis/storage.k8s.io/v1/csidrivers", { metadata: { name: "{ns}.example.com" }, spec: {} }),
      post("/apis/storage.k8s.io/v1/csinodes", { metadata: { name: "{ns}" }, spec: { drivers: [{ name: "d", nodeID: "" }] } }),
      post("/apis/storage.k8s.io/v1/volumeattachments", {
        metadata: { name: "{ns}" },
        spec: { attacher: "a", nodeName: "n", source: { persistentVolumeName: "pv" } },
      }),
      post("/apis/storage.k8s.io/v1/volumeattributesclasses", { metadata: { name: "{ns}" }, driverName: "d", parameters: { a: "b" } }),
      get("/apis/storage.k8s.io/v1/storageclasses/{ns}", accepts.table),
      remove("/apis/storage.k8s.io/v1/storageclasses/{ns}"),
    ],
  },
  {
    name: "events and leases",
    steps: [
      post("/api/v1/namespaces/{ns}/events", {
        metadata: { name: "a" },
        involvedObject: { kind: "Pod", namespace: "{ns}", name: "p" },
        reason: "Because",
        message: "text",
        type: "Normal",
        source: { component: "test" },
        firstTimestamp: "2024-01-01T00:00:00Z",
        lastTimestamp: "2024-01-01T00:00:00Z",
        count: 1,
      }),
      post("/api/v1/namespaces/{ns}/events", { metadata: { name: "b" }, involvedObject: { namespace: "other" } }),
      get("/apis/events.k8s.io/v1/namespaces/{ns}/events/a"),
      post("/apis/events.k8s.io/v1/namespaces/{ns}/events", {
        metadata: { name: "c" },
        eventTime: "2024-01-01T00:00:00.000000Z",
        reportingController: "example.com/test",
        reportingInstance: "test-1",
        action: "Testing",
        reason: "Because",
        type: "Warning",
        regarding: { kind: "Pod", namespace: "{ns}", name: "p" },
        note: "text",
      }),
      post("/apis/events.k8s.io/v1/namespaces/{ns}/events", { metadata: { name: "d" }, type: "Odd" }),
      get("/api/v1/namespaces/{ns}/events/c"),
      get("/api/v1/namespaces/{ns}/events?fieldSelector=involvedObject.name%3Dp"),
      get("/apis/events.k8s.io/v1/namespaces/{ns}/events?fieldSelector=regarding.name%3Dp"),
      post("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", {
        metadata: { name: "a" },
        spec: { holderIdentity: "me", leaseDurationSeconds: 15, renewTime: "2024-01-01T00:00:00.000000Z" },
      }),
      post("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", { metadata: { name: "b" }, spec: { leaseDurationSeconds: 0 } }),
      post("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", { metadata: { name: "b" }, spec: { renewTime: "yesterday" } }),
      post("/api/v1/nodes", { metadata: { name: "{ns}" }, spec: { taints: [{ key: "a b", effect: "Odd" }] } }),
      post("/api/v1/nodes", { metadata: { name: "{ns}" }, spec: { podCIDR: "10.1.0.0/24" } }),
      patch("merge", "/api/v1/nodes/{ns}", { spec: { podCIDR: "10.2.0.0/24", podCIDRs: ["10.2.0.0/24"] } }),
      patch("strategic", "/api/v1/nodes/{ns}/status", {
        status: { capacity: { cpu: "4" }, conditions: [{ type: "Ready", status: "True" }] },
      }),
      get("/api/v1/nodes/{ns}", accepts.table),
      remove("/api/v1/nodes/{ns}"),
      post("/apis/scheduling.k8s.io/v1/priorityclasses", { metadata: { name: "{ns}" }, value: 2_000_000_000 }),
      post("/apis/scheduling.k8s.io/v1/priorityclasses", { metadata: { name: "{ns}" }, value: 5, preemptionPolicy: "Odd" }),
      post("/apis/node.k8s.io/v1/runtimeclasses", { metadata: { name: "{ns}" }, handler: "Bad_Handler" }),
      post("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations", { metadata: { name: "{ns}" }, spec: { type: "Odd" } }),
      post("/apis/apiregistration.k8s.io/v1/apiservices", { metadata: { name: "wrong" }, spec: { group: "g", version: "v1" } }),
      post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {
        metadata: { name: "{ns}" },
        webhooks: [{ name: "x" }],
      }),
      post("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", {
        metadata: { name: "{ns}" },
        spec: { validations: [{ expression: "object.nosuch(" }] },
      }),
      post("/api/v1/namespaces/{ns}/serviceaccounts", { metadata: { name: "a" } }),
      post("/api/v1/namespaces/{ns}/serviceaccounts/nosuch/token", { spec: {} }),
      post("/api/v1/namespaces/{ns}/serviceaccounts/a/token", { spec: { expirationSeconds: 5 } }),
      get("/api/v1/componentstatuses/nosuch"),
    ],
  },
];
