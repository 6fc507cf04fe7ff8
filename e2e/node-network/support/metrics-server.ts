import { systemClock } from "@virtual-kubelet/clock";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { eventually, logTail, startProcess, startReaper, type ControlPlaneAccess } from "@virtual-kubelet/testing";
import { expect, inject } from "vitest";
import { freePort } from "../../../packages/testing/src/processes/free-port.ts";

/** Rights and Service from metrics-server's manifests, with endpoints in place of a Deployment. */
function manifests(address: string, port: number): object[] {
  const group = "rbac.authorization.k8s.io";
  const metadata = { name: "metrics-server", namespace: "kube-system" };
  const subject = { kind: "ServiceAccount", ...metadata };
  const bind = (name: string, kind: string, roleName: string, namespace?: string): object => ({
    apiVersion: `${group}/v1`,
    kind: namespace === undefined ? "ClusterRoleBinding" : "RoleBinding",
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    roleRef: { apiGroup: group, kind, name: roleName },
    subjects: [subject],
  });
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    {
      apiVersion: `${group}/v1`,
      kind: "ClusterRole",
      metadata: { name: "system:metrics-server" },
      rules: [
        { apiGroups: [""], resources: ["nodes/metrics"], verbs: ["get"] },
        { apiGroups: [""], resources: ["pods", "nodes"], verbs: ["get", "list", "watch"] },
      ],
    },
    bind("system:metrics-server", "ClusterRole", "system:metrics-server"),
    bind("metrics-server:system:auth-delegator", "ClusterRole", "system:auth-delegator"),
    bind("metrics-server-auth-reader", "Role", "extension-apiserver-authentication-reader", "kube-system"),
    { apiVersion: "v1", kind: "Service", metadata, spec: { ports: [{ name: "https", port: 443, targetPort: port }] } },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { ...metadata, labels: { "kubernetes.io/service-name": "metrics-server" } },
      addressType: "IPv4",
      ports: [{ name: "https", port, protocol: "TCP" }],
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
    },
    {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: "v1beta1.metrics.k8s.io" },
      spec: {
        group: "metrics.k8s.io",
        version: "v1beta1",
        groupPriorityMinimum: 100,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
        service: { name: "metrics-server", namespace: "kube-system", port: 443 },
      },
    },
  ];
}

/**
 * Starts metrics-server as its manifests do, with its own service account and rights, and registers it with the API server until it is disposed.
 * Resolves when the API server reaches it.
 */
export async function startMetricsServer(controlPlane: ControlPlaneAccess): Promise<AsyncDisposable> {
  await using cleanup = new AsyncDisposableStack();
  const port = await freePort();
  const stdin = manifests(inject("nodeAddress"), port)
    .map((object) => JSON.stringify(object))
    .join("\n---\n");
  expect(await controlPlane.kubectl(["apply", "-f", "-"], { stdin })).toMatchObject({ code: 0 });
  const { stdout: token } = await controlPlane.kubectl(["create", "token", "metrics-server", "-n", "kube-system"]);
  const kubeconfig = controlPlane.kubeconfigWith({ token: token.trim() }).path;
  const directory = await mkdtemp(join(controlPlane.directory, "metrics-server-"));
  const reaper = cleanup.use(startReaper());
  const logFile = join(directory, "log");
  const process = cleanup.use(
    await startProcess(
      {
        name: "metrics-server",
        program: inject("metricsServer"),
        args: [
          `--kubeconfig=${kubeconfig}`,
          `--authentication-kubeconfig=${kubeconfig}`,
          `--authorization-kubeconfig=${kubeconfig}`,
          `--secure-port=${port}`,
          `--cert-dir=${directory}`,
          "--metric-resolution=10s",
          "--kubelet-request-timeout=5s",
          "--kubelet-preferred-address-types=InternalIP",
          "--kubelet-use-node-status-port",
          // The nodes have self-signed certificates, because nobody approves their certificate requests here.
          "--kubelet-insecure-tls",
        ],
        environment: {},
        logFile,
      },
      { reaper, clock: systemClock },
    ),
  );
  // An API that is registered and does not answer keeps namespaces from being deleted.
  cleanup.defer(async () => void (await controlPlane.kubectl(["delete", "apiservice", "v1beta1.metrics.k8s.io"])));
  await eventually(
    async () => {
      expect(process.exit, await logTail(logFile)).toBeUndefined();
      expect((await controlPlane.kubectl(["get", "--raw", "/apis/metrics.k8s.io/v1beta1"])).code).toBe(0);
    },
    { timeoutMs: 180_000, intervalMs: 200, describe: "the API server reaches metrics-server" },
  );
  return cleanup.move();
}
