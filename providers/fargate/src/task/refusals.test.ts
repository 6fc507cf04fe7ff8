import type { Container, Pod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { configOf, identity, podOf, resolverOf } from "../test-support/pods.ts";
import { taskOf } from "./task-of.ts";

type Spec = NonNullable<Pod["spec"]>;

const exec = { command: ["check"] };

async function refusedField(spec: Partial<Spec>): Promise<string | undefined> {
  const pod = podOf({ containers: [{ name: "main", image: "i" }], ...spec });
  try {
    await taskOf(pod, resolverOf(pod), { config: configOf(), identity }, new AbortController().signal);
    return undefined;
  } catch (error) {
    return (error as { fieldPath?: string }).fieldPath ?? String(error);
  }
}

test.each<[string, Partial<Spec>]>([
  ["spec.runtimeClassName", { runtimeClassName: "gvisor" }],
  ["spec.hostAliases", { hostAliases: [{ ip: "10.0.0.1" }] }],
  ["spec.dnsConfig", { dnsConfig: { nameservers: ["10.0.0.2"] } }],
  ["spec.dnsPolicy", { dnsPolicy: "None" }],
  ["spec.setHostnameAsFQDN", { setHostnameAsFQDN: true }],
  ["spec.hostUsers", { hostUsers: false }],
  ["spec.securityContext.sysctls", { securityContext: { sysctls: [{ name: "net.core.somaxconn", value: "1" }] } }],
  ["spec.securityContext.supplementalGroups", { securityContext: { supplementalGroups: [1] } }],
  ["spec.securityContext.seccompProfile", { securityContext: { seccompProfile: { type: "Localhost" } } }],
  ["spec.containers[0].name", { containers: [{ name: "vk-pause", image: "i" }] }],
])("%s is refused", async (fieldPath, spec) => {
  expect(await refusedField(spec)).toBe(fieldPath);
});

test.each<[string, Partial<Container>]>([
  ["resources.limits['nvidia.com/gpu']", { resources: { limits: { "nvidia.com/gpu": "1" } } }],
  ["resources.requests['example.com/device']", { resources: { requests: { "example.com/device": "1" } } }],
  ["volumeDevices", { volumeDevices: [{ name: "d", devicePath: "/dev/d" }] }],
  ["securityContext.privileged", { securityContext: { privileged: true } }],
  ["securityContext.allowPrivilegeEscalation", { securityContext: { allowPrivilegeEscalation: false } }],
  ["securityContext.capabilities.add", { securityContext: { capabilities: { add: ["NET_ADMIN"] } } }],
  ["securityContext.runAsNonRoot", { securityContext: { runAsNonRoot: true } }],
  ["securityContext.runAsNonRoot", { securityContext: { runAsNonRoot: true, runAsUser: 0 } }],
  ["securityContext.runAsGroup", { securityContext: { runAsGroup: 5 } }],
  ["securityContext.procMount", { securityContext: { procMount: "Unmasked" } }],
  ["livenessProbe", { livenessProbe: { httpGet: { port: 80 } } }],
  ["readinessProbe", { readinessProbe: { tcpSocket: { port: 80 } } }],
  ["livenessProbe", { livenessProbe: { grpc: { port: 80 } } }],
  ["startupProbe.exec", { livenessProbe: { exec: { command: ["other"] } }, startupProbe: { exec } }],
  ["readinessProbe.exec", { livenessProbe: { exec }, readinessProbe: { exec: { command: ["other"] } } }],
  ["livenessProbe.terminationGracePeriodSeconds", { livenessProbe: { exec, terminationGracePeriodSeconds: 1 } }],
  ["ports[0].protocol", { ports: [{ containerPort: 1, protocol: "SCTP" }] }],
  ["restartPolicyRules", { restartPolicyRules: [{ action: "Restart" }] }],
])("of a container, %s is refused", async (field, container) => {
  expect(await refusedField({ containers: [{ name: "main", image: "i", ...container }] })).toBe(`spec.containers[0].${field}`);
});

test.each<[string, Partial<Spec>]>([
  [
    "probes that run one command",
    { containers: [{ name: "main", image: "i", livenessProbe: { exec }, readinessProbe: { exec }, startupProbe: { exec } }] },
  ],
  ["a user other than root", { containers: [{ name: "main", image: "i", securityContext: { runAsNonRoot: true, runAsUser: 5 } }] }],
  ["the runtime's own seccomp profile", { securityContext: { seccompProfile: { type: "RuntimeDefault" } } }],
  ["the cluster's DNS policy, which every pod has", { dnsPolicy: "ClusterFirst" }],
])("%s are accepted", async (_what, spec) => {
  expect(await refusedField(spec)).toBeUndefined();
});

test("where this program reaches the pods, probes by HTTP, TCP and gRPC are accepted, and ECS runs only the command", async () => {
  const pod = podOf({
    containers: [
      {
        name: "main",
        image: "i",
        livenessProbe: { httpGet: { port: 80 } },
        readinessProbe: { exec },
        startupProbe: { tcpSocket: { port: 80 }, periodSeconds: 5, failureThreshold: 4 },
      },
    ],
  });
  const config = configOf({ reachablePods: true });
  const { definition } = await taskOf(pod, resolverOf(pod), { config, identity }, new AbortController().signal);

  expect(definition.containerDefinitions?.[0]?.healthCheck).toMatchObject({ command: ["CMD", "check"], startPeriod: 20 });
});

test("all refused fields are named at once, the first as the error's field", async () => {
  const pod = podOf({ dnsPolicy: "None", hostAliases: [{ ip: "10.0.0.1" }], containers: [{ name: "main", image: "i" }] });

  await expect(taskOf(pod, resolverOf(pod), { config: configOf(), identity }, new AbortController().signal)).rejects.toThrow(
    /^spec\.hostAliases: .*; also spec\.dnsPolicy$/,
  );
});

test("a startup probe delays the health check by all its attempts", async () => {
  const pod = podOf({
    containers: [{ name: "main", image: "i", livenessProbe: { exec }, startupProbe: { exec, periodSeconds: 10, failureThreshold: 12 } }],
  });
  const { definition } = await taskOf(pod, resolverOf(pod), { config: configOf(), identity }, new AbortController().signal);

  expect(definition.containerDefinitions?.[0]?.healthCheck).toMatchObject({ command: ["CMD", "check"], startPeriod: 120 });
});

test.each([
  [{ initialDelaySeconds: 5 }, { interval: 10, retries: 3, startPeriod: 5 }],
  [
    { periodSeconds: 20, failureThreshold: 10 },
    { interval: 20, retries: 10 },
  ],
  [
    { periodSeconds: 10, failureThreshold: 30, timeoutSeconds: 4 },
    { interval: 10, retries: 10, timeout: 4, startPeriod: 200 },
  ],
])("a startup probe alone is the health check: %j is %j", async (probe, healthCheck) => {
  const pod = podOf({ containers: [{ name: "main", image: "i", startupProbe: { exec, ...probe } }] });
  const { definition, notes } = await taskOf(pod, resolverOf(pod), { config: configOf(), identity }, new AbortController().signal);

  expect(definition.containerDefinitions?.[0]?.healthCheck).toEqual({ command: ["CMD", "check"], timeout: 2, ...healthCheck });
  expect(notes.filter(({ message }) => message.includes("failureThreshold"))).toEqual([]);
});

test("a startup probe by command is refused beside a liveness probe that this program runs, and would run too early", async () => {
  const pod = podOf({
    containers: [{ name: "main", image: "i", startupProbe: { exec }, livenessProbe: { httpGet: { port: 80 } } }],
  });
  const config = configOf({ reachablePods: true });

  await expect(taskOf(pod, resolverOf(pod), { config, identity }, new AbortController().signal)).rejects.toThrow(
    /^spec\.containers\[0\]\.startupProbe: /,
  );
});

test.each([
  ["fargate.virtual-kubelet.io/subnets", "subnet-1,,subnet-2"],
  ["fargate.virtual-kubelet.io/security-groups", "1,2,3,4,5,6"],
  ["fargate.virtual-kubelet.io/assign-public-ip", "yes"],
  ["fargate.virtual-kubelet.io/platform-version", "newest"],
])("the annotation %s: %j is refused with its name", async (name, value) => {
  const pod = podOf({ containers: [{ name: "main", image: "i" }] }, { [name]: value });

  await expect(taskOf(pod, resolverOf(pod), { config: configOf(), identity }, new AbortController().signal)).rejects.toThrow(
    `read annotation ${name}`,
  );
});
