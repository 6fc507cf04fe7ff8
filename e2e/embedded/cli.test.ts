import { systemClock } from "@virtual-kubelet/clock";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createHttpTransport, createKubeClient, loadCredentials, resources } from "@virtual-kubelet/kube-client";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { eventually, freePort } from "@virtual-kubelet/testing";
import { X509Certificate } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exitCodes } from "virtual-kubelet";
import { askKubelet, servedCertificate } from "../support/kubelet-request.ts";
import { Program, type ProgramOptions } from "../support/program.ts";
import { ProgramRig, soon } from "./support/program-rig.ts";

const signal = new AbortController().signal;

test("the program joins with a kubeconfig, runs a pod, and ends with 0 on SIGTERM; the pod stays", async () => {
  await using rig = await ProgramRig.open();
  await using program = rig.run("--provider mock --nodename vk-1 --log-level debug");

  await rig.nodeIsReady("vk-1");
  await rig.createPod("web", "vk-1");
  await rig.podIsRunning("web");
  program.kill("SIGTERM");

  expect(await program.exit).toBe(exitCodes.ok.code);
  expect(program.stdout).toBe("");
  expect(program.logs.map(({ msg }) => msg)).toEqual(expect.arrayContaining(["starting", "ready", "stopping"]));
  expect(program.logs.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  expect(program.stderr).not.toContain(rig.server.token);
  expect((await rig.pod("web")).status?.phase).toBe("Running");
  const node = await rig.node("vk-1");
  expect(node.spec?.taints).toEqual([{ key: "virtual-kubelet.io/provider", value: "mock", effect: "NoSchedule" }]);
  expect(node.status?.nodeInfo?.kubeletVersion).toMatch(`${/^v\d+\.\d+\.\d+/.exec(rig.server.version)?.[0]}-vk-`);
});

test("an upstream command line works as it stands, and each obsolete word is one warning", async () => {
  await using rig = await ProgramRig.open();
  await writeFile(join(rig.folder, "mock.json"), '{ "vkubelet-mock-0": { "cpu": "2", "memory": "32Gi", "pods": "128" } }');
  const authority = createCertificateAuthority("upstream-ca");
  const serving = authority.issue({ commonName: "vkubelet-mock-0", names: ["192.0.2.9"], usages: ["server auth"] });
  const files = { "cert.pem": serving.certificate, "key.pem": serving.key, "ca.pem": authority.certificate };
  for (const [name, text] of Object.entries(files)) await writeFile(join(rig.folder, name), text, { mode: 0o600 });
  const port = await freePort();
  const words = "--provider mock --provider-config mock.json --klog.v 2 --metrics-addr :10255 --disable-taint --full-resync-period 1m";
  const env = {
    DEFAULT_NODE_NAME: "vkubelet-mock-0",
    KUBECONFIG: "kubeconfig",
    KUBELET_PORT: String(port),
    VKUBELET_POD_IP: "192.0.2.9",
    APISERVER_CERT_LOCATION: "cert.pem",
    APISERVER_KEY_LOCATION: "key.pem",
    APISERVER_CA_CERT_LOCATION: "ca.pem",
  };
  await using program = new Program(["--health-addr", "off", ...words.split(" ")], { cwd: rig.folder, env });

  await rig.nodeIsReady("vkubelet-mock-0");

  const { spec, status } = await rig.node("vkubelet-mock-0");
  expect(spec?.taints).toBeUndefined();
  expect(status).toMatchObject({
    capacity: { cpu: "2", memory: "32Gi", pods: "128" },
    addresses: [{ type: "InternalIP", address: "192.0.2.9" }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  });
  expect(await servedCertificate(port)).toEqual({ issuer: "CN=upstream-ca", names: "IP Address:192.0.2.9" });
  expect((await askKubelet(port, { path: "/pods" })).status).toBe(401);
  const warnings = program.logs.filter(({ level }) => level === "warn").map(({ msg }) => String(msg).split(" ")[0]);
  expect(warnings).toEqual(["--klog.v", "--metrics-addr", "--full-resync-period"]);
});

test("several nodes of one configuration run in one process, and health says when they do", async () => {
  await using rig = await ProgramRig.open();
  const nodes = ["a", "b", "c"].map((name) => `- { name: vk-${name}, provider: mock, providerConfig: { pods: 5 } }`).join("\n");
  await writeFile(join(rig.folder, "vk.yaml"), `apiVersion: virtual-kubelet.io/v1alpha1\nkind: VirtualKubelet\nnodes:\n${nodes}\n`);
  const port = await freePort();
  await using program = rig.run(`--config vk.yaml --health-addr 127.0.0.1:${port}`);

  await Promise.all(["vk-a", "vk-b", "vk-c"].map((name) => rig.nodeIsReady(name)));

  await eventually(async () => {
    const response = await fetch(`http://127.0.0.1:${port}/readyz?verbose`);
    expect({ status: response.status, text: await response.text() }).toMatchObject({
      status: 200,
      text: expect.stringContaining("[+]node/vk-c ok"),
    });
  }, soon);
  program.kill("SIGINT");
  expect(await program.exit).toBe(exitCodes.ok.code);
});

test("a node whose log nobody reads any more goes on, and its health says so", async () => {
  await using rig = await ProgramRig.open();
  const port = await freePort();
  const open = "--anonymous-auth --authorization-mode AlwaysAllow --kubelet-address 127.0.0.1";
  await using program = rig.run(`--provider mock --nodename vk-1 --kubelet-port ${port} ${open}`);
  await rig.nodeIsReady("vk-1");
  expect(await askKubelet(port, { path: "/healthz/log" })).toMatchObject({ status: 200, body: "ok" });

  program.closeLog();

  await eventually(async () => {
    // Writes a line to the log.
    await askKubelet(port, { method: "POST", path: "/run/default/none/main?cmd=ls" });
    expect(await askKubelet(port, { path: "/healthz/log" })).toMatchObject({ status: 500, body: expect.stringContaining("EPIPE") });
  }, soon);
  expect(await askKubelet(port, { path: "/healthz/ping" })).toMatchObject({ status: 200, body: "ok" });
});

test("a second signal ends the program at once with 130", async () => {
  await using rig = await ProgramRig.open();
  await using program = rig.run("--provider mock --nodename vk-1 --on-shutdown drain");
  await rig.nodeIsReady("vk-1");
  await rig.createPod("slow", "vk-1", { "mock.virtual-kubelet.io/stop-delay": "25s" });
  await rig.podIsRunning("slow");

  program.kill("SIGTERM");
  await eventually(async () => expect((await rig.pod("slow")).metadata?.deletionTimestamp).toBeDefined());
  program.kill("SIGTERM");

  expect(await program.exit).toBe(exitCodes.killed.code);
});

test("a program that is killed and started again keeps its certificate and makes no second request", async () => {
  await using rig = await ProgramRig.open();
  const port = await freePort();
  const words = `--provider mock --nodename vk-1 --kubelet-address 127.0.0.1 --kubelet-port ${port}`;
  const requests = async (): Promise<readonly unknown[]> => {
    const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    return ((await rig.client.raw("GET", path, undefined, { signal })) as { items: unknown[] }).items;
  };
  await using killed = rig.run(words);
  await rig.nodeIsReady("vk-1");
  await eventually(async () => expect(await requests()).toHaveLength(1), soon);
  const kept = join(rig.folder, "state/vk-1/pki/vk-1.json");
  await eventually(async () => {
    const { pending, selfSigned } = JSON.parse(await readFile(kept, "utf8")) as { pending?: object; selfSigned: { certificate: string } };
    expect(pending).toBeDefined();
    // The first certificate is issued before the node's address is known, and replaced after the next request.
    expect(new X509Certificate(selfSigned.certificate).checkIP("127.0.0.1")).toBe("127.0.0.1");
  }, soon);
  const before = await readFile(kept, "utf8");
  await killed.end("SIGKILL");

  await using again = rig.run(words);
  await eventually(() => expect(again.logs.map(({ msg }) => msg)).toContain("ready"), soon);
  again.kill("SIGTERM");

  expect(await again.exit).toBe(exitCodes.ok.code);
  expect(await requests()).toHaveLength(1);
  expect(await readFile(kept, "utf8")).toBe(before);
});

test("of two copies on one host with the default identity the second is refused at once, however often it is started again", async () => {
  await using rig = await ProgramRig.open();
  const print = ["service", "print", "--kubeconfig=kubeconfig", "--provider=mock", "--nodename=vk-1"];
  await using unit = new Program(print, { cwd: rig.folder });
  await unit.exit;
  const prevented = /^RestartPreventExitStatus=(.*)$/m.exec(unit.stdout)?.[1]?.split(" ").map(Number) ?? [];
  await using first = rig.run("--provider mock --nodename vk-1");
  await rig.nodeIsReady("vk-1");
  await rig.createPod("web", "vk-1");
  await rig.podIsRunning("web");
  const annotations = (await rig.client.get(resources.leases, { namespace: "kube-node-lease", name: "vk-1" }, { signal })).metadata
    ?.annotations;

  // Like a supervisor that restarts the program regardless of its exit code.
  for (let start = 0; start < 3; start++) {
    await using second = rig.run("--provider mock --nodename vk-1");
    const code = await second.exit;
    expect(prevented).toContain(code);
    expect(second.stderr).toMatch(/node vk-1: process \d+ on this host is already running it \(.*vk-1\.lock\.\*\); stop that one/);
  }

  const lease = await rig.client.get(resources.leases, { namespace: "kube-node-lease", name: "vk-1" }, { signal });
  expect(lease.metadata?.annotations).toEqual(annotations);
  expect((await rig.pod("web")).status?.phase).toBe("Running");
  expect(await first.end("SIGTERM")).toBe(exitCodes.ok.code);
});

test("a second instance of a node ends with 78 and names the first; one with the same identity takes over", async () => {
  await using rig = await ProgramRig.open();
  const file = `apiVersion: virtual-kubelet.io/v1alpha1\nkind: VirtualKubelet\nnodes: [{ name: vk-1, provider: mock, leaseDuration: 20s }]\n`;
  await writeFile(join(rig.folder, "vk.yaml"), file);
  await using first = rig.run("--config vk.yaml --identity first");
  await rig.nodeIsReady("vk-1");

  // Each node is on a host of its own and has its own state.
  const onHost = (name: string): Partial<ProgramOptions> => ({ env: { STATE_DIRECTORY: join(rig.folder, name) } });
  await using second = rig.run("--config vk.yaml --identity second", onHost("host-2"));
  expect(await second.exit).toBe(exitCodes.config.code);
  expect(second.stderr).toContain('it is held by instance \\"first\\"');

  await using successor = rig.run("--config vk.yaml --identity first", onHost("host-3"));
  expect(await first.exit).toBe(exitCodes.config.code);
  successor.kill("SIGTERM");
  expect(await successor.exit).toBe(exitCodes.ok.code);
});

test("a provider that lacks a setting ends the program with 78, as in every command, and the node is not there", async () => {
  await using rig = await ProgramRig.open();
  await using program = rig.run("--provider zun --nodename vk-1");

  expect(await program.exit).toBe(exitCodes.config.code);
  expect(program.stderr).toContain("provider zun: sign in to OpenStack: no authUrl is set");
  expect((await rig.client.list(resources.nodes, {}, { signal })).items).toEqual([]);
});

test("a dry run says what is there and who holds the node, and changes nothing", async () => {
  await using rig = await ProgramRig.open();
  await using clear = rig.run("--provider mock --nodename vk-1 --dry-run");
  expect(await clear.exit).toBe(exitCodes.ok.code);
  expect(clear.stdout).toContain("  node: does not exist; would be created\n  lease: does not exist; would be created\n");
  expect((await rig.client.list(resources.nodes, {}, { signal })).items).toEqual([]);

  await using _running = rig.run("--provider mock --nodename vk-1 --identity first");
  await rig.nodeIsReady("vk-1");
  await using held = rig.run("--provider mock --nodename vk-1 --identity second --dry-run");

  expect(await held.exit).toBe(exitCodes.failure.code);
  expect(held.stdout).toMatch(/^ {2}node: exists since .*, Ready is True; would be adopted$/m);
  expect(held.stdout).toMatch(
    /^ {2}lease: held by another instance, "first", last renewed .*; if it is renewed, the run would end with exit code 78/m,
  );
});

test("a dry run names the verb and the resource that it is refused", async () => {
  await using rig = await ProgramRig.open();
  await rig.server.writeKubeconfig(join(rig.folder, "stranger"), { user: "stranger" });
  await using program = rig.run("--provider mock --nodename vk-1 --kubeconfig stranger --dry-run");

  expect(await program.exit).toBe(exitCodes.failure.code);
  expect(program.stdout).toContain("  node: unknown: the API server refuses it: ");
  expect(program.stdout).toContain('User "stranger" cannot get resource "nodes" in API group ""');
  expect(program.stdout).toContain('User "stranger" cannot get resource "leases" in API group "coordination.k8s.io"');
});

test("what the API server refuses is logged with the verb and the resource, and its cause is not guessed", async () => {
  await using rig = await ProgramRig.open();
  const metadata = { name: "some" };
  const rules = [
    { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["*"] },
    { apiGroups: [""], resources: ["nodes"], verbs: ["get", "list", "watch"] },
  ];
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "stranger" }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "some" };
  const group = "/apis/rbac.authorization.k8s.io/v1";
  await rig.client.raw("POST", `${group}/clusterroles`, { metadata, rules }, { signal });
  await rig.client.raw("POST", `${group}/clusterrolebindings`, { metadata, subjects, roleRef }, { signal });
  await rig.server.writeKubeconfig(join(rig.folder, "stranger"), { user: "stranger" });
  const port = await freePort();
  await using program = rig.run(`--provider mock --nodename vk-1 --kubeconfig stranger --kubelet-address 127.0.0.1 --kubelet-port ${port}`);

  const refused = ['get resource "namespaces"', 'create resource "nodes"', 'get resource "configmaps"'];
  await eventually(() => {
    for (const what of refused) expect(program.stderr.replaceAll('\\"', '"')).toContain(`User "stranger" cannot ${what}`);
  }, soon);

  const told = program.logs.filter((record) => JSON.stringify(record).includes("forbidden"));
  expect(told.filter((record) => !/cannot \w+ resource/.test(JSON.stringify(record)))).toEqual([]);
  expect(told.filter(({ msg }) => /label|taint|expired|wrong/.test(String(msg)))).toEqual([]);
});

test("a cluster that cannot be reached is waited for, and given up after --startup-timeout with 69", async () => {
  const folder = await mkdtemp(join(tmpdir(), "vk-e2e-"));
  const server = await startApiServer();
  await writeFile(join(folder, "kubeconfig"), server.kubeconfig());
  await server.close();
  await using program = new Program("--kubeconfig kubeconfig --provider mock --startup-timeout 2s --health-addr off".split(" "), {
    cwd: folder,
  });

  expect(await program.exit).toBe(exitCodes.unavailable.code);
  expect(program.logs.map(({ msg }) => msg)).toContain("start-up timed out; see --startup-timeout");
  await rm(folder, { recursive: true });
});

test.for([
  ["--provider mock --nodenme x", 64, 'virtual-kubelet: --nodenme: unknown flag for "run"; did you mean --nodename?\n'],
  ["--provider mock --os lnux", 78, 'virtual-kubelet: --os: "lnux": expected one of linux, windows; did you mean linux?\n'],
  ["--provider mock --pod-sync-workers 0", 78, "virtual-kubelet: --pod-sync-workers: 0: expected a whole number of at least 1\n"],
] as const)("%s ends with %d and one line, before anything has happened", async ([words, code, line]) => {
  await using rig = await ProgramRig.open();
  await using program = rig.run(words);

  expect(await program.exit).toBe(code);
  expect(program.stderr).toBe(line);
  expect((await rig.client.list(resources.nodes, {}, { signal })).items).toEqual([]);
});

test("the demo, once, ends with 0 when all of it happened, and says how long the first pod took", async () => {
  const folder = await mkdtemp(join(tmpdir(), "vk-e2e-"));
  await using program = new Program(["demo", "--once"], { cwd: folder });

  expect(await program.exit).toBe(exitCodes.ok.code);

  expect(program.stderr).toBe("");
  expect(program.stdout).toMatch(
    /Node virtual-node is Ready[^]*Deployment hello was created, 3 pods wanted[^]*first pod is Running after \d+\.\d\d s[^]*all 3 pods are Running/,
  );
  expect(program.stdout.match(/^ {2}kubectl --kubeconfig \.demo\/kubeconfig .*$/gm)).toHaveLength(3);
  expect((await stat(join(folder, ".demo/kubeconfig"))).mode & 0o777).toBe(0o600);
  await rm(folder, { recursive: true });
});

test("the demo stays until Ctrl-C, its kubeconfig leads to its cluster, and its node shows a kubelet's metrics", async () => {
  const folder = await mkdtemp(join(tmpdir(), "vk-e2e-"));
  await using program = new Program(["demo", "--kubeconfig", "config.json"], { cwd: folder });
  await eventually(() => expect(program.stdout).toContain("Now type"), soon);

  const kubeconfig = join(folder, "config.json");
  const credentials = await loadCredentials({ kubeconfig, env: {}, clock: systemClock });
  await using transport = createHttpTransport({ credentials });
  const client = createKubeClient(transport);
  await eventually(async () => {
    const metrics = await client.raw("GET", "/api/v1/nodes/virtual-node/proxy/metrics", undefined, { signal });
    for (const line of [
      /^kubelet_node_name\{node="virtual-node"\} 1$/m,
      /^kubelet_active_pods\{node="virtual-node",static=""\} 3$/m,
      /^kubelet_working_pods\{config="desired",lifecycle="sync",node="virtual-node",static=""\} 3$/m,
      /^kubelet_started_containers_total\{container_type="container"\} 3$/m,
      /^workqueue_unfinished_work_seconds\{name="pods"\} /m,
      /^workqueue_longest_running_processor_seconds\{name="pods"\} /m,
      /^rest_client_requests_total\{code="200",method="PATCH"\} /m,
    ])
      expect(metrics).toMatch(line);
    expect(metrics).not.toMatch(/^vk_metrics_dropped_total/m);
  }, soon);

  const { clusters } = JSON.parse(await readFile(kubeconfig, "utf8")) as { clusters: { cluster: { server: string } }[] };
  await using second = new Program("--kubeconfig config.json --provider mock --nodename another --health-addr off".split(" "), {
    cwd: folder,
  });
  await eventually(() => expect(second.logs.map(({ msg }) => msg)).toContain("ready"), soon);
  expect(clusters[0]?.cluster.server).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  program.kill("SIGINT");

  expect(await program.exit).toBe(exitCodes.ok.code);
  await rm(folder, { recursive: true });
});
