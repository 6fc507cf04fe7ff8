import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isUnavailable } from "@virtual-kubelet/errdefs";
import { apiRequest, ensureControlPlane, eventually, openControlPlane, startControlPlane } from "@virtual-kubelet/testing";
import { expect, inject, test } from "vitest";

test("kubectl works with the administrator's kubeconfig, and the server reports its version", async () => {
  const shared = openControlPlane(inject("controlPlane"));

  const { code, stdout } = await shared.kubectl(["get", "namespaces", "-o", "name"]);

  expect(code).toBe(0);
  expect(stdout).toContain("namespace/kube-system");
  expect(shared.version).toMatch(/^v1\.\d+\.\d+/);
});

test("a kubeconfig for a user authenticates as that user with those groups, and RBAC determines the rights", async () => {
  const shared = openControlPlane(inject("controlPlane"));
  const ann = shared.kubeconfigFor("ann", ["dev", "ops"]);

  const whoami = await shared.kubectl(["auth", "whoami", "-o", "json"], { kubeconfig: ann.path });
  const refused = await shared.kubectl(["get", "secrets", "-A"], { kubeconfig: ann.path });

  expect(JSON.parse(whoami.stdout)).toMatchObject({
    status: { userInfo: { username: "ann", groups: ["dev", "ops", "system:authenticated"] } },
  });
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('User "ann" cannot list resource "secrets"') });
});

test("a service account's token works as a kubeconfig's credentials", async () => {
  const shared = openControlPlane(inject("controlPlane"));
  const { stdout: token } = await shared.kubectl(["create", "token", "default", "-n", "default"]);

  const whoami = await shared.kubectl(["auth", "whoami", "-o", "json"], {
    kubeconfig: shared.kubeconfigWith({ token: token.trim() }).path,
  });

  expect(JSON.parse(whoami.stdout)).toMatchObject({ status: { userInfo: { username: "system:serviceaccount:default:default" } } });
});

test("kubectl reads its standard input, and a failure is a result with an exit code", async () => {
  const shared = openControlPlane(inject("controlPlane"));
  const manifest = JSON.stringify({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "launcher", namespace: "default" },
    data: { key: "value" },
  });

  expect(await shared.kubectl(["create", "-f", "-"], { stdin: manifest })).toMatchObject({
    code: 0,
    stdout: "configmap/launcher created\n",
  });
  expect(await shared.kubectl(["create", "-f", "-"], { stdin: manifest })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("already exists"),
  });
});

test("controllers and scheduler work: a Deployment's pods are created and wait for a node", async () => {
  const shared = openControlPlane(inject("controlPlane"));
  await shared.kubectl(["create", "namespace", "launcher"]);
  const template = {
    metadata: { labels: { app: "web" } },
    spec: { nodeSelector: { "example.com/no": "such-node" }, containers: [{ name: "web", image: "web" }] },
  };
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "launcher" },
    spec: { replicas: 2, selector: { matchLabels: { app: "web" } }, template },
  };
  await shared.kubectl(["create", "-f", "-"], { stdin: JSON.stringify(deployment) });

  await eventually(
    async () => {
      const { stdout } = await shared.kubectl(["get", "pods", "-n", "launcher", "-o", "json"]);
      const { items } = JSON.parse(stdout) as { items: { spec: object; status: { conditions?: { type: string; reason: string }[] } }[] };
      expect(items).toHaveLength(2);
      for (const pod of items)
        expect(pod.status.conditions).toContainEqual(expect.objectContaining({ type: "PodScheduled", reason: "Unschedulable" }));
    },
    { timeoutMs: 90_000, intervalMs: 300, describe: "two pods that the scheduler has looked at" },
  );
});

test("the audit log contains users and their requests", async () => {
  const shared = openControlPlane(inject("controlPlane"));
  await shared.kubectl(["get", "configmaps", "-n", "kube-public"]);

  // A request is logged after its response.
  await eventually(
    () => {
      const event = shared
        .auditEvents()
        .find(({ verb, requestURI }) => verb === "list" && requestURI.startsWith("/api/v1/namespaces/kube-public/configmaps"));
      expect(event).toMatchObject({
        user: { username: "kubernetes-admin" },
        userAgent: expect.stringMatching(/^kubectl/),
        responseStatus: { code: 200 },
      });
    },
    { intervalMs: 500 },
  );
});

test("a killed API server starts again with the same port and data, and disposing leaves no process and no file", async () => {
  const controlPlane = await startControlPlane({ components: [] });
  const pids = Object.values(controlPlane.processes).map(({ pid }) => pid);
  {
    await using _ = controlPlane;
    await controlPlane.kubectl(["create", "configmap", "kept", "--from-literal=key=value", "-n", "default"]);

    await controlPlane.killApiServer();
    await expect(apiRequest(controlPlane.target, "GET", "/readyz")).rejects.toSatisfy(isUnavailable);
    await controlPlane.startApiServer();
    expect((await controlPlane.kubectl(["get", "configmap", "kept", "-n", "default", "-o", "jsonpath={.data.key}"])).stdout).toBe("value");

    await controlPlane.restartApiServer();
    expect((await controlPlane.kubectl(["get", "configmap", "kept", "-n", "default", "-o", "jsonpath={.data.key}"])).stdout).toBe("value");
    pids.push(...Object.values(controlPlane.processes).map(({ pid }) => pid));
  }

  expect(pids.filter(isAlive)).toEqual([]);
  expect(existsSync(controlPlane.directory)).toBe(false);
});

test("without kube-controller-manager pods need no service account", async () => {
  await using controlPlane = await startControlPlane({ components: [] });

  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "plain", namespace: "default" },
    spec: { nodeName: "none", containers: [{ name: "main", image: "main" }] },
  };

  expect(await controlPlane.kubectl(["create", "-f", "-"], { stdin: JSON.stringify(pod) })).toMatchObject({ code: 0 });
});

test("the error for a process that does not start names it and shows the end of its log, and nothing is left behind", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "cp-"));
  try {
    const starting = startControlPlane({ components: [], dataDir, flags: { "kube-apiserver": { "authorization-mode": "Nonsense" } } });

    await expect(starting).rejects.toThrow(/start kube-apiserver: it did not come up; the end of .*kube-apiserver\.log:\n[^]*Nonsense/);
    expect(processesOf(dataDir)).toEqual([]);
  } finally {
    await rm(dataDir, { recursive: true });
  }
});

test("a kube-apiserver whose version differs from KUBERNETES is refused, and nothing is left behind", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "cp-"));
  const { version } = openControlPlane(inject("controlPlane"));
  const other = version.startsWith("v1.34.") ? "1.35" : "1.34";
  const assets = await ensureControlPlane();
  try {
    const starting = startControlPlane({ components: [], dataDir, environment: { KUBEBUILDER_ASSETS: assets, KUBERNETES: other } });

    await expect(starting).rejects.toThrow(`KUBERNETES=${other}, but kube-apiserver in ${assets} is ${version}: set KUBERNETES`);
    expect(processesOf(dataDir)).toEqual([]);
  } finally {
    await rm(dataDir, { recursive: true });
  }
});

test("the processes end when the test process ends, even if it is killed", async () => {
  const program = `
    import { startControlPlane } from "@virtual-kubelet/testing";
    const controlPlane = await startControlPlane({ components: [] });
    console.log(JSON.stringify({ directory: controlPlane.directory, pids: Object.values(controlPlane.processes).map((process) => process.pid) }));
    setInterval(() => {}, 1000);
  `;
  const child = spawn(process.execPath, ["--conditions=@virtual-kubelet/source", "--input-type=module", "-e", program], {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { directory, pids } = await new Promise<{ directory: string; pids: number[] }>((resolve) => {
    child.stdout.setEncoding("utf8").once("data", (text: string) => resolve(JSON.parse(text) as { directory: string; pids: number[] }));
  });
  expect(pids.filter(isAlive)).toHaveLength(2);

  child.kill("SIGKILL");

  await eventually(() => expect(pids.filter(isAlive)).toEqual([]), { describe: "etcd and kube-apiserver to be killed" });
  await eventually(() => expect(existsSync(directory)).toBe(false), { describe: "the temporary folder to be removed" });
});

/** Command lines of running processes that contain the folder. */
function processesOf(directory: string): string[] {
  const commandLines = readdirSync("/proc").map((entry) => {
    try {
      return readFileSync(`/proc/${entry}/cmdline`, "utf8").replaceAll("\0", " ");
    } catch {
      return "";
    }
  });
  return commandLines.filter((commandLine) => commandLine.includes(directory));
}

/** A process that has ended but was not waited for counts as ended. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${String(pid)}/status`, "utf8"));
  } catch {
    return false;
  }
}
