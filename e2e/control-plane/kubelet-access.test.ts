import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { resources, type KubeClient } from "@virtual-kubelet/kube-client";
import {
  eventually,
  freePort,
  startControlPlane,
  startFaultProxy,
  type ControlPlaneAccess,
  type KubeconfigFile,
} from "@virtual-kubelet/testing";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFailed, test } from "vitest";
import { WebSocket } from "ws";
import { askKubelet, servedCertificate, type Caller, type KubeletRequest } from "../support/kubelet-request.ts";
import { keepsDeclaredFeatures } from "../support/kubernetes-version.ts";
import { Program } from "../support/program.ts";
import { createNamespace, openClient, sharedControlPlane, untilAllowed, type OpenClient } from "./support/cluster.ts";
import { applyPrintedRights } from "./support/printed-rights.ts";
import { uniqueName } from "./support/test-node.ts";
import { podOn } from "./support/workload.ts";

const { signal } = new AbortController();
const controlPlane = sharedControlPlane();
let opened: OpenClient;
let client: KubeClient;
let namespace = "";
let cleanUp: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  opened = await openClient(controlPlane.kubeconfig);
  ({ client } = opened);
  namespace = await createNamespace(client, "access");
});

afterEach(async () => {
  for (const undo of cleanUp.toReversed()) await undo();
  cleanUp = [];
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
});

interface RunningNode extends AsyncDisposable {
  readonly name: string;
  readonly port: number;
  readonly program: Program;
}

interface NodeWish {
  readonly name?: string;
  readonly kubeconfig?: KubeconfigFile;
  readonly words?: readonly string[];
  readonly cluster?: ControlPlaneAccess;
}

/** Starts the program with one node, without certificate flags; resolves when the node is ready. */
async function startProgram({
  name = uniqueName("access"),
  kubeconfig,
  words = [],
  cluster = controlPlane,
}: NodeWish = {}): Promise<RunningNode> {
  const port = await freePort();
  const flags = ["--nodename", name, "--kubelet-port", String(port), "--kubelet-address", "127.0.0.1", "--provider", "mock"];
  const program = new Program(
    [...flags, "--health-addr", "off", "--identity", name, "--kubeconfig", (kubeconfig ?? cluster.kubeconfig).path, ...words],
    { cwd: cluster.directory },
  );
  expect(await cluster.kubectl(["wait", `node/${name}`, "--for=create", "--timeout=90s"])).toMatchObject({ code: 0 });
  expect(await cluster.kubectl(["wait", `node/${name}`, "--for=condition=Ready", "--timeout=90s"])).toMatchObject({ code: 0 });
  return {
    name,
    port,
    program,
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      await cluster.kubectl(["delete", "node", name, "--ignore-not-found", "--wait=false"]);
    },
  };
}

/** Applies the printed rights for a node. @returns the name of its service account */
async function applyRights(nodeName: string, runAs: "node" | "service-account"): Promise<string> {
  const words = ["--provider", "mock", "--nodename", nodeName, "--kubelet-port", "1", `--run-as=${runAs}`];
  const { account, undo } = await applyPrintedRights(controlPlane, words);
  cleanUp.push(undo);
  return account;
}

/** Creates a pod on the node and waits until it runs. @returns its name */
async function runPod(nodeName: string, annotations: Record<string, string> = {}): Promise<string> {
  const name = `pod-${nodeName}`;
  const pod = podOn(nodeName, name, namespace);
  await client.create(resources.pods, { ...pod, metadata: { ...pod.metadata, annotations } }, { signal });
  await eventually(async () => expect((await client.get(resources.pods, { namespace, name }, { signal })).status?.phase).toBe("Running"), {
    timeoutMs: 90_000,
  });
  cleanUp.push(() => controlPlane.kubectl(["delete", "pod", "-n", namespace, name, "--force", "--grace-period=0", "--ignore-not-found"]));
  return name;
}

/** Requests of this user that the API server has forbidden, as `verb resource/name`. */
function forbidden(user: string): string[] {
  const events = controlPlane.auditEvents().filter((event) => event.user.username === user && event.responseStatus?.code === 403);
  return events.map(({ verb, objectRef }) =>
    [`${verb} ${objectRef?.resource}`, objectRef?.subresource, objectRef?.name].filter(Boolean).join("/"),
  );
}

/** A client certificate for a user, signed by the cluster's authority. */
function certificateOf(user: string, groups: readonly string[] = []): Caller {
  const config = JSON.parse(controlPlane.kubeconfigFor(user, groups).text) as { users: [{ user: Record<string, string> }] };
  const field = (name: string): string => Buffer.from(config.users[0].user[name] ?? "", "base64").toString();
  return { certificate: field("client-certificate-data"), key: field("client-key-data") };
}

async function tokenOf(account: string, accountNamespace = namespace): Promise<string> {
  const { stdout } = await controlPlane.kubectl(["create", "token", account, "-n", accountNamespace]);
  return stdout.trim();
}

async function expectLogsAndExec(podName: string): Promise<void> {
  const logs = await controlPlane.kubectl(["logs", "-n", namespace, podName]);
  expect(logs).toMatchObject({ code: 0, stderr: "" });
  const exec = await controlPlane.kubectl(["exec", "-n", namespace, podName, "--", "echo", "hello"]);
  expect(exec).toMatchObject({ code: 0, stdout: "hello\n" });
}

describe("without certificate flags and with only the printed rights", () => {
  test("kubectl logs and exec reach a node that runs as a service account, none of whose requests is forbidden", async () => {
    const name = uniqueName("account");
    const account = await applyRights(name, "service-account");
    const token = await tokenOf(account, "kube-system");
    await using node = await startProgram({ name, kubeconfig: controlPlane.kubeconfigWith({ token }) });
    const pod = await runPod(node.name);

    await expectLogsAndExec(pod);

    expect(forbidden(`system:serviceaccount:kube-system:${account}`)).toEqual([]);
  });

  test("kubectl logs and exec reach a node that runs as system:node:NAME, without additional forbidden requests", async () => {
    const name = uniqueName("node");
    await applyRights(name, "node");
    const user = `system:node:${name}`;
    await using node = await startProgram({ name, kubeconfig: controlPlane.kubeconfigFor(user, ["system:nodes"]) });
    const pod = await runPod(node.name);

    await expectLogsAndExec(pod);

    expect(forbidden(user).filter((refusal) => !/^(create nodes|patch nodes)/.test(refusal))).toEqual([]);
  });

  test("the node declares its server's features, address and port", async () => {
    await using node = await startProgram();
    const { status } = await client.get(resources.nodes, { name: node.name }, { signal });

    expect(status).toMatchObject({
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: node.port } },
    });
    expect(status?.declaredFeatures).toEqual(keepsDeclaredFeatures(controlPlane.version) ? ["ExtendWebSocketsToKubelet"] : undefined);
    expect(node.program.logs).toContainEqual(expect.objectContaining({ address: "127.0.0.1", from: "--kubelet-address" }));
  });
});

/** Reads a pod's log through the API server by WebSocket, until the server closes it. */
async function logByWebSocket(podName: string): Promise<string> {
  const { server, caCertificate } = controlPlane;
  const url = `${server}/api/v1/namespaces/${namespace}/pods/${podName}/log?container=main`;
  const { certificate: cert, key } = certificateOf("reader", ["system:masters"]);
  const webSocket = new WebSocket(url, ["binary.k8s.io"], { ca: caCertificate, cert, key });
  let text = "";
  webSocket.on("message", (data: Buffer) => (text += String(data)));
  await once(webSocket, "close");
  return text;
}

test.for([1, 400])("a client that reads a log by WebSocket gets its last bytes: %s lines", async (count) => {
  await using node = await startProgram();
  const text = Array.from({ length: count }, (_, index) => `container is alive, line ${index}\n`).join("");
  const pod = await runPod(node.name, { "mock.virtual-kubelet.io/log": text });

  const read = new Map<string, number>();
  for (let round = 0; round < 50; round++)
    for (const log of await Promise.all(Array.from({ length: 4 }, () => logByWebSocket(pod)))) read.set(log, (read.get(log) ?? 0) + 1);

  expect([...read]).toEqual([[text, 200]]);
});

describe("the server accepts", () => {
  const asked = (pod: string): KubeletRequest[] => {
    const exec = `/exec/${namespace}/${pod}/main?command=echo&command=hello&output=1`;
    return [
      { path: "/pods" },
      { path: `/containerLogs/${namespace}/${pod}/main` },
      { path: exec, upgrade: "websocket" },
      { path: exec, upgrade: "spdy", method: "POST" },
    ];
  };

  async function statuses(port: number, pod: string, caller: Caller): Promise<number[]> {
    const answers = await Promise.all(asked(pod).map((request) => askKubelet(port, request, caller)));
    return answers.map(({ status }) => status);
  }

  test("no caller without credentials, from another authority, or without rights, for plain requests and upgrades", async () => {
    await using node = await startProgram();
    const pod = await runPod(node.name);
    const stranger = createCertificateAuthority("kubernetes").issue({
      commonName: "kubernetes-admin",
      organizations: ["system:masters"],
      usages: ["client auth"],
    });
    const of = (caller: Caller): Promise<number[]> => statuses(node.port, pod, caller);

    expect(await of({})).toEqual([401, 401, 401, 401]);
    expect(await of(stranger)).toEqual([401, 401, 401, 401]);
    expect(await of({ token: "made-up" })).toEqual([401, 401, 401, 401]);
    expect(await of(certificateOf("ann", ["dev"]))).toEqual([403, 403, 403, 403]);
    expect(await of({ token: await tokenOf("default") })).toEqual([403, 403, 403, 403]);
    // An invalid certificate does not prevent authentication by token, and vice versa.
    expect(await of({ ...stranger, token: await tokenOf("default") })).toEqual([403, 403, 403, 403]);
    expect(await of({ ...certificateOf("bob", ["system:masters"]), token: "made-up" })).toEqual([200, 200, 101, 101]);
    expect((await askKubelet(node.port, { path: "/pods" }, certificateOf("ann", ["dev"]))).body).toContain(
      "Forbidden (user=ann, verb=get, resource=nodes, subresource(s)=[pods proxy])",
    );
  });

  test("every caller that the cluster allows, by certificate or token; the right to read does not include the right to run", async () => {
    await using node = await startProgram();
    const pod = await runPod(node.name);
    const role = uniqueName("reader");
    const subject = [`--serviceaccount=${namespace}:default`, "--user=carl"];
    await controlPlane.kubectl(["create", "clusterrole", role, "--verb=get", "--resource=nodes/proxy"]);
    await controlPlane.kubectl(["create", "clusterrolebinding", role, `--clusterrole=${role}`, ...subject]);
    cleanUp.push(() => controlPlane.kubectl(["delete", "clusterrole,clusterrolebinding", role]));
    for (const user of ["carl", `system:serviceaccount:${namespace}:default`])
      await untilAllowed(controlPlane, user, ["get", "nodes", "--subresource=proxy"]);

    expect(await statuses(node.port, pod, certificateOf("carl"))).toEqual([200, 200, 403, 403]);
    expect(await statuses(node.port, pod, { token: await tokenOf("default") })).toEqual([200, 200, 403, 403]);
  });

  test("no caller while the API server cannot be asked about him", async () => {
    await using proxy = await startFaultProxy({ target: controlPlane.target });
    await using node = await startProgram({ kubeconfig: proxy.kubeconfig });
    const pod = await runPod(node.name);
    using reviews = proxy.inject({ path: /\/(tokenreviews|subjectaccessreviews)/ }, { kind: "status", status: 503 });
    const token = await tokenOf("default");

    const dora = certificateOf("dora", ["system:masters"]);

    expect(await statuses(node.port, pod, { token })).toEqual([401, 401, 401, 401]);
    expect(await statuses(node.port, pod, dora)).toEqual([500, 500, 500, 500]);
    expect(reviews.hits).toBeGreaterThan(0);
    proxy.clear();
    expect((await askKubelet(node.port, { path: "/pods" }, dora)).status).toBe(200);
  });

  test("every authenticated caller, with a warning, under --authorization-mode=AlwaysAllow", async () => {
    await using node = await startProgram({ words: ["--authorization-mode=AlwaysAllow"] });

    expect((await askKubelet(node.port, { path: "/pods" }, certificateOf("ann"))).status).toBe(200);
    expect((await askKubelet(node.port, { path: "/pods" })).status).toBe(401);
    expect(node.program.logs).toContainEqual(
      expect.objectContaining({ level: "warn", msg: expect.stringContaining("INSECURE") as string }),
    );
  });
});

test("several nodes share a port: kubectl reaches the pods of each, and each has its own metrics", async () => {
  const [first, second] = [uniqueName("shared"), uniqueName("shared")];
  const port = await freePort();
  const nodes = [first, second].map((name) => ({ name, provider: "mock", kubeletPort: port }));
  const config = join(controlPlane.directory, `${first}.json`);
  const settings = { apiVersion: "virtual-kubelet.io/v1alpha1", kind: "VirtualKubelet", kubelet: { address: "127.0.0.1" }, nodes };
  await writeFile(config, JSON.stringify(settings));
  const words = ["--config", config, "--health-addr", "off", "--identity", first, "--kubeconfig", controlPlane.kubeconfig.path];
  // The variable applies to all nodes; the tests' programs use it to turn the server off.
  await using program = new Program(words, { cwd: controlPlane.directory, env: { KUBELET_PORT: "" } });
  onTestFailed(() => console.error(program.stderr));
  cleanUp.push(() => controlPlane.kubectl(["delete", "node", first, second, "--ignore-not-found", "--wait=false"]));
  await controlPlane.kubectl(["wait", `node/${first}`, `node/${second}`, "--for=create", "--timeout=90s"]);

  for (const name of [first, second]) await expectLogsAndExec(await runPod(name));

  const admin = certificateOf("eve", ["system:masters"]);
  for (const name of [first, second]) {
    const { metadata } = await client.get(resources.nodes, { name }, { signal });
    const path = metadata?.annotations?.["metrics.k8s.io/resource-metrics-path"] ?? "";
    const { status, body } = await askKubelet(port, { path }, admin);
    expect({ path, status }).toEqual({ path: `/nodes/${name}/metrics/resource`, status: 200 });
    expect(body).toContain(`pod="pod-${name}"`);
    expect(body).not.toContain(`pod="pod-${name === first ? second : first}"`);
  }
});

test("a port in use causes a one-line error before anything else happens", async () => {
  await using node = await startProgram();
  const words = [
    "--nodename",
    uniqueName("late"),
    "--provider",
    "mock",
    "--kubelet-address",
    "127.0.0.1",
    "--kubelet-port",
    String(node.port),
  ];
  await using second = new Program([...words, "--health-addr", "off", "--kubeconfig", controlPlane.kubeconfig.path], {
    cwd: controlPlane.directory,
  });

  expect(await second.exit).toBe(78);
  expect(second.stderr).toMatch(
    /virtual-kubelet: --kubelet-port: \d+: cannot serve the kubelet's API on 127\.0\.0\.1: .*EADDRINUSE.*; choose another port/,
  );
});

describe("the serving certificate", () => {
  /** The node's pending certificate request. */
  async function pendingRequest(cluster: ControlPlaneAccess, nodeName: string, requester: string): Promise<string> {
    return await eventually(
      async () => {
        const { stdout } = await cluster.kubectl(["get", "csr", "-o", "json"]);
        const { items } = JSON.parse(stdout) as {
          items: { metadata: { name: string }; spec: { username: string }; status?: { certificate?: string } }[];
        };
        const found = items.find(({ spec, status }) => spec.username === requester && !status?.certificate);
        expect(found, `a request of ${requester} for ${nodeName}`).toBeDefined();
        return found?.metadata.name ?? "";
      },
      { timeoutMs: 90_000 },
    );
  }

  test.for(["system:node:NAME", "service account"])(
    "comes from the cluster after a request of a %s is approved, without a restart",
    async (kind) => {
      const name = uniqueName("cert");
      const account = await applyRights(name, "service-account");
      const isNode = kind === "system:node:NAME";
      const user = isNode ? `system:node:${name}` : `system:serviceaccount:kube-system:${account}`;
      const kubeconfig = isNode
        ? controlPlane.kubeconfigFor(user, ["system:nodes"])
        : controlPlane.kubeconfigWith({ token: await tokenOf(account, "kube-system") });
      await using node = await startProgram({ name, kubeconfig });
      const before = await servedCertificate(node.port);
      expect(before.issuer).toMatch(new RegExp(`^CN=${name}@`));
      const request = await pendingRequest(controlPlane, name, user);

      expect(await controlPlane.kubectl(["certificate", "approve", request])).toMatchObject({ code: 0 });

      await eventually(
        async () => expect(await servedCertificate(node.port)).toEqual({ issuer: "CN=kubernetes", names: "IP Address:127.0.0.1" }),
        {
          timeoutMs: 90_000,
        },
      );
      const told = node.program.logs.some(({ msg }) => String(msg).startsWith("automatic approvers accept"));
      expect(told).toBe(!isNode);
    },
  );

  test("is accepted by an API server that verifies it, and is kept across a restart", async () => {
    const directory = await mkdtemp(join(tmpdir(), "cp-"));
    cleanUp.push(() => rm(directory, { recursive: true, force: true }));
    await using cluster = await startControlPlane({
      dataDir: directory,
      components: ["kube-controller-manager"],
      flags: { "kube-apiserver": { "kubelet-certificate-authority": join(directory, "pki/ca.crt") } },
    });
    const name = "checked";
    const words = ["--cert-dir", join(directory, "node")];
    const podName = "web";
    {
      await using node = await startProgram({ cluster, name, words });
      const request = await pendingRequest(cluster, name, "kubernetes-admin");
      expect(
        await cluster.kubectl(["apply", "-f", "-"], {
          stdin: JSON.stringify({ apiVersion: "v1", kind: "Pod", ...podOn(name, podName, "default") }),
        }),
      ).toMatchObject({ code: 0 });
      expect(await cluster.kubectl(["wait", "pod", podName, "--for=condition=Ready", "--timeout=90s"])).toMatchObject({ code: 0 });
      const refused = await cluster.kubectl(["logs", podName]);
      expect(refused.code).not.toBe(0);
      expect(refused.stderr).toContain("x509");

      await cluster.kubectl(["certificate", "approve", request]);

      await eventually(async () => expect(await cluster.kubectl(["logs", podName])).toMatchObject({ code: 0, stderr: "" }), {
        timeoutMs: 90_000,
      });
      node.program.kill("SIGTERM");
      expect(await node.program.exit).toBe(0);
    }

    await using node = await startProgram({ cluster, name, words });

    expect((await servedCertificate(node.port)).issuer).toBe("CN=kubernetes");
  });
});
