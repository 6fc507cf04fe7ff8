import { resources, type Pod } from "@virtual-kubelet/kube-client";
import { labelNames } from "@virtual-kubelet/pod-runtime";
import { eventually } from "@virtual-kubelet/testing";
import { readdirSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { sharedApi } from "./support/docker-engine.ts";
import { EmbeddedNode, patienceMs } from "./support/embedded-node.ts";
import { Lan, NetworkNamespace } from "./support/lan.ts";
import { RuntimeRig } from "./support/runtime-rig.ts";

const { signal } = new AbortController();
const image = "busybox:1.37";
const api = sharedApi();
const machine = new NetworkNamespace(process.pid);
let folder: string;
let confFile: string;

/**
 * CNI configuration with Debian's plugins: addresses of both families on a bridge, host ports, and rules that let pods' packets pass
 * Docker's firewall.
 */
function configuration(): object {
  const ranges = [[{ subnet: "10.77.0.0/24" }], [{ subnet: "fd00:77::/64" }]];
  const ipam = { type: "host-local", dataDir: join(folder, "addresses"), ranges, routes: [{ dst: "0.0.0.0/0" }] };
  return {
    cniVersion: "1.0.0",
    name: "pods",
    plugins: [
      { type: "bridge", bridge: "cni-test", isGateway: true, hairpinMode: true, ipam },
      { type: "firewall", backend: "iptables" },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  };
}

const settings = (): { readonly confDir: string; readonly binDirs: readonly string[] } => ({
  confDir: join(folder, "net.d"),
  binDirs: ["/usr/lib/cni"],
});

/** Addresses that the plugin host-local has reserved. */
function reserved(): string[] {
  return readdirSync(join(folder, "addresses/pods")).filter((name) => /^(10\.77\.|fd00:77:)/.test(name));
}

/** Firewall rules of the plugin portmap for a host port. */
function rulesFor(hostPort: number): string[] {
  return machine
    .run("iptables-save -t nat")
    .split("\n")
    .filter((line) => line.includes(`--dport ${hostPort} `));
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-cni-"));
  await mkdir(join(folder, "net.d"));
  await mkdir(join(folder, "addresses/pods"), { recursive: true });
  confFile = join(folder, "net.d/10-pods.conflist");
  await writeFile(confFile, JSON.stringify(configuration()));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

test("plugins connect pods: addresses of both families, probes, other pods and host ports; all of it is removed with the pod", async () => {
  await using node = await EmbeddedNode.start("cni-pods", api, { cni: settings(), clusterDNS: ["10.96.0.10"] });
  const hostPort = 18_477;
  const serve = ["sh", "-c", "mkdir /tmp/www; hostname >/tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www"];
  const readinessProbe = { httpGet: { path: "/", port: 8080 }, periodSeconds: 1, timeoutSeconds: 10 };
  const web = { name: "web", image, command: serve, readinessProbe, ports: [{ containerPort: 8080, hostPort }] };
  await node.create("web", { containers: [web] });

  const isReady = ({ conditions }: NonNullable<Pod["status"]>): void =>
    expect(conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
  const before = await node.until("web", "to be ready", isReady);
  // A dead sandbox is replaced, and the new sandbox has the port.
  const ids = await api.containers({ [labelNames.podName]: "web" });
  const [container] = await api.containers({ [labelNames.podName]: "web", [labelNames.container]: "web" });
  await api.json("POST", `/containers/${ids.find((id) => id !== container)}/kill`);
  const { status } = await node.until("web", "to be ready again", (now) => {
    isReady(now);
    expect(now.podIP).not.toBe(before.status?.podIP);
  });
  expect(reserved()).toHaveLength(2);
  expect(status?.podIPs?.map(({ ip }) => ip)).toEqual([expect.stringMatching(/^10\.77\.0\./), expect.stringMatching(/^fd00:77::/)]);
  expect(await (await fetch(`http://${inject("nodeAddress")}:${hostPort}/`)).text()).toBe("web\n");
  expect(await askFromOutside(hostPort)).toMatch(/\nweb\n$/);

  const ask = (host: string): string => `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 10 ${host} 8080`;
  const commands = [...(status?.podIPs ?? []).map(({ ip }) => ask(ip)), "cat /etc/hosts /etc/resolv.conf", "ip link"].join("; ");
  await node.create("caller", { restartPolicy: "Never", containers: [{ name: "shell", image, command: ["sh", "-c", commands] }] });
  await node.until("caller", "to end", ({ phase }) => expect(phase).toBe("Succeeded"));
  const said = await logOf("caller");
  expect(said.match(/^web$/gm)).toHaveLength(2);
  for (const part of [/10\.77\.0\.\d+\tcaller/, /fd00:77::\w+\tcaller/, /^nameserver 10\.96\.0\.10$/m, /eth0@/]) expect(said).toMatch(part);

  for (const name of ["web", "caller"]) await node.client.delete(resources.pods, { name, namespace: "default" }, {}, { signal });
  await eventually(async () => expect(await api.containers({ [labelNames.node]: node.name })).toEqual([]), { timeoutMs: patienceMs });
  expect(reserved()).toEqual([]);
  expect(rulesFor(hostPort)).toEqual([]);
});

/** Asks a port of the host from another machine, with the rule that lets it past the engine's own. @returns the answer */
async function askFromOutside(hostPort: number): Promise<string> {
  await using lan = await Lan.start(4);
  const outside = await lan.join(2);
  const rule = "DOCKER-USER -d 10.77.0.0/24 -m conntrack --ctstate DNAT -j ACCEPT";
  machine.run(`iptables -I ${rule}`);
  try {
    return outside.run(`printf 'GET / HTTP/1.0\\r\\n\\r\\n' | busybox nc -w 10 ${lan.address()} ${hostPort}`);
  } finally {
    machine.run(`iptables -D ${rule}`);
  }
}

/** Output of a pod's first container, read without the provider. */
async function logOf(pod: string): Promise<string> {
  const [id = ""] = await api.containers({ [labelNames.podName]: pod, [labelNames.container]: "shell" });
  const { body } = await api.ask("GET", `/containers/${id}/logs?stdout=1&stderr=1`);
  // Each frame has a header of eight bytes, which never ends with a character that the test looks for.
  // oxlint-disable-next-line no-control-regex -- of the frames
  return body.replaceAll(/[\u0000-\u0008\u000e-\u001f\ufffd]/g, "");
}

test("a node without CNI configuration is not ready, and names the folder that it searches", async () => {
  await using node = await EmbeddedNode.start("cni-conf", api, { cni: settings() });
  await rm(confFile);

  await eventually(async () => {
    const condition = await node.readyCondition();
    expect(condition).toMatchObject({ status: "False" });
    expect(condition?.message).toContain(`no network configuration in ${join(folder, "net.d")}`);
  });

  await writeFile(confFile, JSON.stringify(configuration()));
  await eventually(async () => expect(await node.ready()).toBe("True"));
});

test("a sandbox's network resources are freed when it is removed, even if it died or was removed by someone else", async () => {
  const runtimeSettings = { cni: settings(), networkFolder: join(folder, "records") };
  const killed = async (id: string): Promise<void> => void (await api.json("POST", `/containers/${id}/kill`));
  await using rig = await RuntimeRig.open("cni-runtime", { settings: runtimeSettings });
  const [stays, dies, vanishes] = await Promise.all(["stays", "dies", "vanishes"].map((name) => rig.sandbox(rig.pod(name))));
  if (!stays || !dies || !vanishes) throw new Error("expected three pods");
  expect(reserved()).toHaveLength(6);

  // As after a restart of the program: a new runtime that has only the data on disk.
  await using later = await RuntimeRig.open("cni-runtime", { settings: runtimeSettings });
  expect((await later.runtime.inspectSandbox(stays.id, signal)).ips).toEqual(stays.ips);
  await killed(dies.id);
  await eventually(async () => expect((await later.runtime.inspectSandbox(dies.id, signal)).isReady).toBe(false));
  await later.runtime.removeSandbox(dies.id, signal);
  expect(reserved()).toHaveLength(4);

  await api.remove(vanishes.id);
  await later.runtime.collectNetworks(signal);
  expect(reserved().toSorted()).toEqual([...stays.ips].toSorted());
  const problems: unknown[] = [];
  await later.runtime.checkNetworks((_, why) => problems.push(why), signal);
  expect(problems).toEqual([]);

  // The address is removed, which CHECK detects.
  const { State } = (await api.json("GET", `/containers/${stays.id}/json`)) as { State: { Pid: number } };
  new NetworkNamespace(State.Pid).run("ip -4 address flush dev eth0");
  await later.runtime.checkNetworks((_, why) => problems.push(why), signal);
  expect(String(problems)).toMatch(/network plugin bridge, CHECK: /);

  await later.runtime.stopSandbox(stays.id, signal);
  expect(reserved()).toEqual([]);
  await later.runtime.removeSandbox(stays.id, signal);
});

test("a failed plugin leaves nothing behind, and its message is reported", async () => {
  const broken = join(folder, "broken.d");
  await mkdir(broken);
  const { plugins, ...rest } = configuration() as { plugins: object[] };
  await writeFile(
    join(broken, "1.conflist"),
    JSON.stringify({ ...rest, plugins: [...plugins, { type: "tuning", sysctl: { "net.no.such": "1" } }] }),
  );
  await using rig = await RuntimeRig.open("cni-broken", {
    settings: { cni: { ...settings(), confDir: broken }, networkFolder: join(folder, "records") },
  });

  await expect(rig.sandbox(rig.pod("fails"))).rejects.toThrow(/network plugin tuning, ADD: /);
  expect(reserved()).toEqual([]);
  expect((await rig.runtime.list(rig.ownerLabels, signal)).sandboxes).toEqual([]);
});

test("a host port that no plugin opens is refused, and named in the error", async () => {
  const single = join(folder, "single.d");
  await mkdir(single);
  const { plugins, ...rest } = configuration() as { plugins: object[] };
  await writeFile(join(single, "1.conflist"), JSON.stringify({ ...rest, plugins: plugins.slice(0, 1) }));
  await using rig = await RuntimeRig.open("cni-ports", {
    settings: { cni: { ...settings(), confDir: single }, networkFolder: join(folder, "records") },
  });
  const pod = rig.pod("wants", { containers: [{ name: "app", image, ports: [{ containerPort: 80, hostPort: 18_478 }] }] });

  await expect(rig.sandbox(pod)).rejects.toThrow(
    'open port 18478 of the host: no plugin of the network "pods" has the capability portMappings',
  );
  expect(reserved()).toEqual([]);
});
