import { expect } from "vitest";
import { configMapNamed, podNamed } from "./support/objects.ts";
import { test } from "./support/parity-test.ts";
import { refusals } from "./support/refusals.ts";

const container = (fields: object): object => podNamed("a", { containers: [{ name: "a", image: "a", ...fields }] });
const volume = (fields: object): object => podNamed("a", { volumes: [{ name: "v", ...fields }] });

test("invalid names are refused", async ({ api, core }) => {
  const named = (name: string): object => configMapNamed(name);
  expect(
    await refusals(api, `${core}/configmaps`, {
      "upper case": named("Settings"),
      underscore: named("a_b"),
      "dash at the end": named("a-"),
      "too long": named("a".repeat(254)),
      slash: named("a/b"),
      dots: named("a..b"),
      "253 characters": named("a".repeat(253)),
    }),
  ).toMatchSnapshot("configmaps");
  expect(
    await refusals(api, `${core}/services`, {
      "begins with a digit": { metadata: { name: "1a" }, spec: { ports: [{ port: 80 }] } },
      dot: { metadata: { name: "a.b" }, spec: { ports: [{ port: 80 }] } },
      "too long": { metadata: { name: "a".repeat(64) }, spec: { ports: [{ port: 80 }] } },
    }),
  ).toMatchSnapshot("services");
  expect(
    await refusals(api, "/api/v1/namespaces", { dot: { metadata: { name: "a.b" } }, "upper case": { metadata: { name: "A" } } }),
  ).toMatchSnapshot("namespaces");
});

test("invalid labels and annotations are refused", async ({ api, core }) => {
  const labelled = (labels: object): object => configMapNamed("a", {}, { labels });
  const annotated = (annotations: object): object => configMapNamed("a", {}, { annotations });
  expect(
    await refusals(api, `${core}/configmaps`, {
      "space in a value": labelled({ a: "b c" }),
      "value too long": labelled({ a: "b".repeat(64) }),
      "space in a key": labelled({ "a b": "c" }),
      "key too long": labelled({ ["a".repeat(64)]: "c" }),
      "empty key": labelled({ "": "c" }),
      "two slashes": labelled({ "a/b/c": "d" }),
      "bad prefix": labelled({ "A_/b": "d" }),
      "empty value": labelled({ a: "" }),
      "annotation key": annotated({ "a b": "c" }),
      "annotations too long": annotated({ a: "a".repeat(262_145) }),
    }),
  ).toMatchSnapshot("configmaps");
});

test("invalid finalizers and owner references are refused", async ({ api, core }) => {
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "u" };
  const owned = (...ownerReferences: readonly object[]): object => configMapNamed("a", {}, { ownerReferences });
  expect(
    await refusals(api, `${core}/configmaps`, {
      "finalizer without a domain": configMapNamed("a", {}, { finalizers: ["wait"] }),
      "finalizer with a space": configMapNamed("a", {}, { finalizers: ["a b/c"] }),
      "owner without uid": owned({ ...owner, uid: "" }),
      "owner without name": owned({ ...owner, name: "" }),
      "owner without kind": owned({ ...owner, kind: "" }),
      "owner without version": owned({ ...owner, apiVersion: "" }),
      "two controllers": owned({ ...owner, controller: true }, { ...owner, uid: "v", controller: true }),
      "an event as owner": owned({ ...owner, kind: "Event" }),
    }),
  ).toMatchSnapshot("configmaps");
});

test("keys of config maps and secrets are file names, and data has a limit", async ({ api, core }) => {
  expect(
    await refusals(api, `${core}/configmaps`, {
      slash: configMapNamed("a", { "a/b": "" }),
      dots: configMapNamed("a", { "..": "" }),
      "dots before": configMapNamed("a", { "..a": "" }),
      "both data and binaryData": { ...configMapNamed("a", { a: "" }), binaryData: { a: "" } },
      "too long": configMapNamed("a", { a: "a".repeat(1024 * 1024 + 1) }),
    }),
  ).toMatchSnapshot("configmaps");
  expect(
    await refusals(api, `${core}/secrets`, {
      "not base64": { metadata: { name: "a" }, data: { a: "%" } },
      slash: { metadata: { name: "a" }, data: { "a/b": "" } },
      "token without account": { metadata: { name: "a" }, type: "kubernetes.io/service-account-token" },
      "docker config missing": { metadata: { name: "a" }, type: "kubernetes.io/dockerconfigjson" },
      "basic auth missing": { metadata: { name: "a" }, type: "kubernetes.io/basic-auth" },
      "tls missing": { metadata: { name: "a" }, type: "kubernetes.io/tls", data: {} },
    }),
  ).toMatchSnapshot("secrets");
});

test("pods without required fields are refused", async ({ api, core }) => {
  expect(
    await refusals(api, `${core}/pods`, {
      "no spec": { metadata: { name: "a" } },
      "no containers": podNamed("a", { containers: [] }),
      "no name": container({ name: undefined }),
      "no image": container({ image: undefined }),
      "image with spaces": container({ image: " a " }),
      "bad name": container({ name: "A_b" }),
      "the same name twice": podNamed("a", {
        containers: [
          { name: "a", image: "a" },
          { name: "a", image: "b" },
        ],
      }),
      "the same name in init": podNamed("a", { initContainers: [{ name: "main", image: "a" }] }),
      "pull policy": container({ imagePullPolicy: "Sometimes" }),
      "termination message policy": container({ terminationMessagePolicy: "Loud" }),
      "several faults at once": podNamed("a", { restartPolicy: "Perhaps", containers: [{ name: "B", image: "" }] }),
    }),
  ).toMatchSnapshot("pods");
});

test("pods with invalid policies, grace periods, names and hosts are refused", async ({ api, core }) => {
  expect(
    await refusals(api, `${core}/pods`, {
      "restart policy": podNamed("a", { restartPolicy: "Perhaps" }),
      "dns policy": podNamed("a", { dnsPolicy: "Perhaps" }),
      "dns policy None without servers": podNamed("a", { dnsPolicy: "None" }),
      grace: podNamed("a", { terminationGracePeriodSeconds: -1 }),
      deadline: podNamed("a", { activeDeadlineSeconds: 0 }),
      hostname: podNamed("a", { hostname: "A.b" }),
      subdomain: podNamed("a", { subdomain: "A_b" }),
      "hostname override": podNamed("a", { hostnameOverride: "A_b" }),
      "empty hostname override": podNamed("a", { hostnameOverride: "" }),
      "long hostname override": podNamed("a", { hostnameOverride: "a.".repeat(40) + "a", setHostnameAsFQDN: true, hostNetwork: true }),
      "node name": podNamed("a", { nodeName: "A_b" }),
      "service account": podNamed("a", { serviceAccountName: "A_b" }),
      "node selector": podNamed("a", { nodeSelector: { "a b": "c" } }),
      "pull secret": podNamed("a", { imagePullSecrets: [{ name: "" }] }),
      "host alias": podNamed("a", { hostAliases: [{ ip: "x", hostnames: ["a_b"] }] }),
      "scheduling gate": podNamed("a", { schedulingGates: [{ name: "a b" }] }),
      "scheduling gate and node": podNamed("a", { nodeName: "n1", schedulingGates: [{ name: "a" }] }),
      "a service account that is not there": podNamed("a", { serviceAccountName: "nobody" }),
    }),
  ).toMatchSnapshot("pods");
});

test("pods with invalid tolerations, affinities and spread constraints are refused", async ({ api, core }) => {
  const tolerate = (toleration: object): object => podNamed("a", { tolerations: [toleration] });
  const spread = (constraint: object): object => podNamed("a", { topologySpreadConstraints: [constraint] });
  const node = (term: object): object =>
    podNamed("a", { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } } });
  expect(
    await refusals(api, `${core}/pods`, {
      "exists with a value": tolerate({ key: "a", operator: "Exists", value: "b" }),
      "equal without key": tolerate({ operator: "Equal", value: "b" }),
      operator: tolerate({ key: "a", operator: "Like" }),
      effect: tolerate({ key: "a", operator: "Exists", effect: "Always" }),
      "seconds without NoExecute": tolerate({ key: "a", operator: "Exists", effect: "NoSchedule", tolerationSeconds: 5 }),
      "no terms": podNamed("a", {
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
      }),
      "in without values": node({ matchExpressions: [{ key: "a", operator: "In" }] }),
      "greater than words": node({ matchExpressions: [{ key: "a", operator: "Gt", values: ["b", "c"] }] }),
      "unknown operator": node({ matchExpressions: [{ key: "a", operator: "Near", values: ["b"] }] }),
      "pod affinity without topology": podNamed("a", {
        affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: { matchLabels: { a: "b" } } }] } },
      }),
      "spread of nothing": spread({}),
      "spread otherwise": spread({ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "Whatever" }),
    }),
  ).toMatchSnapshot("pods");
});

test("containers with invalid ports, variables, resources and probes are refused", async ({ api, core }) => {
  const env = (variable: object): object => container({ env: [variable] });
  expect(
    await refusals(api, `${core}/pods`, {
      "port 0": container({ ports: [{ containerPort: 0 }] }),
      "port too large": container({ ports: [{ containerPort: 70_000 }] }),
      protocol: container({ ports: [{ containerPort: 80, protocol: "ICMP" }] }),
      "port name": container({ ports: [{ containerPort: 80, name: "A name that is long" }] }),
      "port names twice": container({
        ports: [
          { containerPort: 80, name: "a" },
          { containerPort: 81, name: "a" },
        ],
      }),
      "host port twice": podNamed("a", {
        containers: [
          { name: "a", image: "a", ports: [{ containerPort: 80, hostPort: 80 }] },
          { name: "b", image: "a", ports: [{ containerPort: 81, hostPort: 80 }] },
        ],
      }),
      "variable without name": env({ value: "a" }),
      "variable with a wrong name": env({ name: "a=b", value: "a" }),
      "variable with two sources": env({ name: "A", value: "a", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }),
      "variable from nothing": env({ name: "A", valueFrom: {} }),
      "variable from an unknown field": env({ name: "A", valueFrom: { fieldRef: { fieldPath: "spec.colour" } } }),
      "variable from an unknown resource": env({ name: "A", valueFrom: { resourceFieldRef: { resource: "limits.colour" } } }),
      "variable from a key without name": env({ name: "A", valueFrom: { configMapKeyRef: { name: "a", key: "" } } }),
      "envFrom of nothing": container({ envFrom: [{}] }),
      "request above limit": container({ resources: { requests: { cpu: "2" }, limits: { cpu: "1" } } }),
      "negative request": container({ resources: { requests: { memory: "-1" } } }),
      "fraction of a device": container({ resources: { limits: { "example.com/gpu": "500m" } } }),
      "request of a device without limit": container({ resources: { requests: { "example.com/gpu": "1" } } }),
      "unknown resource": container({ resources: { requests: { colour: "1" } } }),
      "huge pages alone": container({ resources: { limits: { "hugepages-2Mi": "2Mi" } } }),
      "not a quantity": container({ resources: { requests: { cpu: "many" } } }),
      "quantity with a space": container({ resources: { requests: { cpu: "1 " } } }),
      "quantity of an unknown unit": container({ resources: { requests: { memory: "1KB" } } }),
      "empty quantity": container({ resources: { requests: { memory: "" } } }),
      "probe without handler": container({ livenessProbe: {} }),
      "probe with two handlers": container({ livenessProbe: { exec: { command: ["a"] }, tcpSocket: { port: 80 } } }),
      "probe port 0": container({ livenessProbe: { tcpSocket: { port: 0 } } }),
      "probe with negative times": container({
        readinessProbe: { exec: { command: ["a"] }, periodSeconds: -1, timeoutSeconds: -1, initialDelaySeconds: -1, failureThreshold: -1 },
      }),
      "liveness success threshold": container({ livenessProbe: { exec: { command: ["a"] }, successThreshold: 2 } }),
      "exec of nothing": container({ readinessProbe: { exec: {} } }),
      "hook of nothing": container({ lifecycle: { preStop: {} } }),
    }),
  ).toMatchSnapshot("pods");
});

test("pods with invalid volumes and mounts are refused", async ({ api, core }) => {
  const mount = (volumeMount: object): object =>
    podNamed("a", { volumes: [{ name: "v" }], containers: [{ name: "a", image: "a", volumeMounts: [volumeMount] }] });
  expect(
    await refusals(api, `${core}/pods`, {
      "volume without name": podNamed("a", { volumes: [{ emptyDir: {} }] }),
      "two volumes of a name": podNamed("a", { volumes: [{ name: "v" }, { name: "v" }] }),
      "two sources": volume({ emptyDir: {}, hostPath: { path: "/" } }),
      "secret without name": volume({ secret: {} }),
      "config map without name": volume({ configMap: {} }),
      "host path without path": volume({ hostPath: { path: "" } }),
      "host path upwards": volume({ hostPath: { path: "/a/../b" } }),
      "host path type": volume({ hostPath: { path: "/a", type: "Wish" } }),
      "claim without name": volume({ persistentVolumeClaim: { claimName: "" } }),
      "mode too large": volume({ secret: { secretName: "s", defaultMode: 512 } }),
      "item without key": volume({ configMap: { name: "c", items: [{ path: "a" }] } }),
      "item path upwards": volume({ configMap: { name: "c", items: [{ key: "a", path: "../a" }] } }),
      "item path absolute": volume({ configMap: { name: "c", items: [{ key: "a", path: "/a" }] } }),
      "downward path": volume({ downwardAPI: { items: [{ path: "", fieldRef: { fieldPath: "metadata.name" } }] } }),
      "downward field": volume({ downwardAPI: { items: [{ path: "a", fieldRef: { fieldPath: "spec.nodeName" } }] } }),
      "projection of nothing": volume({ projected: { sources: [{}] } }),
      "projections on one path": volume({
        projected: {
          sources: [
            { configMap: { name: "a", items: [{ key: "a", path: "p" }] } },
            { secret: { name: "a", items: [{ key: "a", path: "p" }] } },
          ],
        },
      }),
      "token too short": volume({ projected: { sources: [{ serviceAccountToken: { path: "t", expirationSeconds: 5 } }] } }),
      "negative size": volume({ emptyDir: { sizeLimit: "-1" } }),
      "mount of no volume": mount({ name: "w", mountPath: "/a" }),
      "mount without path": mount({ name: "v" }),
      "mount sub path upwards": mount({ name: "v", mountPath: "/a", subPath: "../b" }),
      "two mounts on a path": podNamed("a", {
        volumes: [{ name: "v" }],
        containers: [
          {
            name: "a",
            image: "a",
            volumeMounts: [
              { name: "v", mountPath: "/a" },
              { name: "v", mountPath: "/a" },
            ],
          },
        ],
      }),
      "mount with two sub paths": mount({ name: "v", mountPath: "/a", subPath: "b", subPathExpr: "c" }),
      propagation: mount({ name: "v", mountPath: "/a", mountPropagation: "Wild" }),
    }),
  ).toMatchSnapshot("pods");
});

test("pods with an invalid security context are refused", async ({ api, core }) => {
  expect(
    await refusals(api, `${core}/pods`, {
      user: podNamed("a", { securityContext: { runAsUser: -1 } }),
      group: podNamed("a", { securityContext: { fsGroup: -1 } }),
      sysctl: podNamed("a", { securityContext: { sysctls: [{ name: "A b", value: "1" }] } }),
      seccomp: podNamed("a", { securityContext: { seccompProfile: { type: "Localhost" } } }),
      "fs group policy": podNamed("a", { securityContext: { fsGroupChangePolicy: "Later" } }),
      "privileged without escalation": container({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }),
      "proc mount": container({ securityContext: { procMount: "Upside" } }),
      "host users": podNamed("a", { hostUsers: false, hostNetwork: true }),
    }),
  ).toMatchSnapshot("pods");
});

test("invalid Deployments and ReplicaSets are refused", async ({ api, apps }) => {
  const labels = { a: "b" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "a", image: "a" }] } };
  const deployment = (spec: object): object => ({
    metadata: { name: "a" },
    spec: { selector: { matchLabels: labels }, template, ...spec },
  });
  expect(
    await refusals(api, `${apps}/deployments`, {
      "no spec": { metadata: { name: "a" } },
      "no selector": deployment({ selector: undefined }),
      "empty selector": deployment({ selector: {} }),
      "selector of others": deployment({ selector: { matchLabels: { a: "c" } } }),
      "selector with a wrong operator": deployment({ selector: { matchExpressions: [{ key: "a", operator: "Like" }] } }),
      "no template": deployment({ template: undefined }),
      "negative replicas": deployment({ replicas: -1 }),
      "restart policy": deployment({ template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } } }),
      strategy: deployment({ strategy: { type: "Wild" } }),
      "recreate with rolling update": deployment({ strategy: { type: "Recreate", rollingUpdate: { maxSurge: 1 } } }),
      "neither surge nor unavailable": deployment({ strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } }),
      "unavailable above all": deployment({ strategy: { rollingUpdate: { maxUnavailable: "110%" } } }),
      "percent of words": deployment({ strategy: { rollingUpdate: { maxUnavailable: "half" } } }),
      "negative history": deployment({ revisionHistoryLimit: -1 }),
      "deadline before ready": deployment({ minReadySeconds: 10, progressDeadlineSeconds: 10 }),
    }),
  ).toMatchSnapshot("deployments");
  expect(
    await refusals(api, `${apps}/replicasets`, {
      "selector of others": deployment({ selector: { matchLabels: { a: "c" } } }),
      "negative replicas": deployment({ replicas: -1 }),
    }),
  ).toMatchSnapshot("replicasets");
});

test("a Deployment's selector cannot change", async ({ api, apps }) => {
  await api.create(`${apps}/deployments`, {
    metadata: { name: "web" },
    spec: {
      replicas: 0,
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b", c: "d" } }, spec: { containers: [{ name: "a", image: "a" }] } },
    },
  });

  expect(await api.patch("merge", `${apps}/deployments/web`, { spec: { selector: { matchLabels: { c: "d" } } } })).toMatchSnapshot(
    "deployments",
  );
});

test("invalid services are refused", async ({ api, core }) => {
  const service = (spec: object): object => ({ metadata: { name: "a" }, spec: { ports: [{ port: 80 }], ...spec } });
  expect(
    await refusals(api, `${core}/services`, {
      "no ports": service({ ports: [] }),
      "port 0": service({ ports: [{ port: 0 }] }),
      "two ports without names": service({ ports: [{ port: 80 }, { port: 81 }] }),
      "the same port twice": service({
        ports: [
          { name: "a", port: 80 },
          { name: "b", port: 80 },
        ],
      }),
      "port name": service({
        ports: [
          { name: "A_", port: 80 },
          { name: "b", port: 81 },
        ],
      }),
      protocol: service({ ports: [{ port: 80, protocol: "ICMP" }] }),
      type: service({ type: "Magic" }),
      "cluster IP": service({ clusterIP: "x" }),
      affinity: service({ sessionAffinity: "Always" }),
      "external name missing": service({ type: "ExternalName", ports: undefined }),
      selector: service({ selector: { "a b": "c" } }),
      "node port of a cluster IP": service({ ports: [{ port: 80, nodePort: 30_080 }] }),
      "external IP": service({ externalIPs: ["x"] }),
      "traffic policy": service({ externalTrafficPolicy: "Local" }),
    }),
  ).toMatchSnapshot("services");
});

test("a cluster IP and a node port must be in the server's ranges", async ({ api, core }) => {
  const service = (spec: object): object => ({ metadata: { name: "a" }, spec: { ports: [{ port: 80 }], ...spec } });

  expect(await api.post(`${core}/services`, service({ clusterIP: "192.168.0.1" }))).toMatchSnapshot("services");
  expect(await api.post(`${core}/services`, service({ type: "NodePort", ports: [{ port: 80, nodePort: 80 }] }))).toMatchSnapshot(
    "services",
  );
});

test("invalid nodes, leases, events and namespaces are refused", async ({ api, core, namespace }) => {
  const node = (fields: object): object => ({ metadata: { name: "a" }, ...fields });
  expect(
    await refusals(api, "/api/v1/nodes", {
      name: { metadata: { name: "A_b" } },
      taint: node({ spec: { taints: [{ key: "a b", effect: "NoSchedule" }] } }),
      "taint effect": node({ spec: { taints: [{ key: "a", effect: "Maybe" }] } }),
      "the same taint twice": node({
        spec: {
          taints: [
            { key: "a", effect: "NoSchedule" },
            { key: "a", effect: "NoSchedule" },
          ],
        },
      }),
      "pod CIDR": node({ spec: { podCIDR: "x", podCIDRs: ["x"] } }),
      quantity: node({ status: { capacity: { cpu: "many" } } }),
      "negative capacity": node({ status: { capacity: { cpu: "-1" } } }),
    }),
  ).toMatchSnapshot("nodes");
  expect(
    await refusals(api, `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, {
      duration: { metadata: { name: "a" }, spec: { leaseDurationSeconds: 0 } },
      transitions: { metadata: { name: "a" }, spec: { leaseTransitions: -1 } },
    }),
  ).toMatchSnapshot("leases");
  expect(
    await refusals(api, `${core}/events`, {
      "of another namespace": { metadata: { name: "a" }, involvedObject: { namespace: "default" } },
      "without an object": { metadata: { name: "a" } },
    }),
  ).toMatchSnapshot("events");
});
