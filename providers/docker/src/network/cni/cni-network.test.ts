import { VirtualClock } from "@virtual-kubelet/clock";
import { isNotFound, isUnavailable, UnavailableError } from "@virtual-kubelet/errdefs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { podWith, sandboxSpec } from "../../test-support/specs.ts";
import { CniNetwork } from "./cni-network.ts";
import { pluginRunner, type PluginCall } from "./run-plugin.ts";

const { signal: never } = new AbortController();
let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-cni-"));
  await configure("bridge");
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function configure(type: string): Promise<void> {
  return writeFile(join(folder, "1.conflist"), JSON.stringify({ name: type, cniVersion: "1.1.0", plugins: [{ type }] }));
}

/** Plugins that answer; those in `failing` fail, as often as they are called. */
function networkOf(options: { failing?: Set<string>; hasSettings?: boolean; namespace?: string | undefined; ended?: Set<string> } = {}) {
  const calls: PluginCall[] = [];
  const { failing = new Set(), hasSettings = true } = options;
  const namespace = "namespace" in options ? options.namespace : "/proc/7/ns/net";
  const network = new CniNetwork({
    settings: hasSettings ? { confDir: folder, binDirs: ["/plugins"] } : undefined,
    folder: join(folder, "records"),
    namespaceOf: (id) => Promise.resolve(options.ended?.has(id) ? undefined : namespace),
    run: (call) => {
      calls.push(call);
      if (failing.has(call.command)) return Promise.reject(new UnavailableError(`${call.command} fails`));
      return Promise.resolve(JSON.stringify({ ips: [{ address: "10.1.0.2/24" }] }));
    },
  });
  const said = (): string[] => calls.map(({ command, type }) => `${command} ${type}`);
  return { network, calls, said };
}

test("a sandbox is connected once, and known by its record to the next program", async () => {
  const { network, calls, said } = networkOf();
  await network.connect("s1", sandboxSpec(), never);
  await network.connect("s1", sandboxSpec(), never);

  expect(said()).toEqual(["ADD bridge"]);
  expect(calls[0]?.parameters["CNI_ARGS"]).toBe(
    "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web;K8S_POD_INFRA_CONTAINER_ID=s1;K8S_POD_UID=u1",
  );
  expect(await networkOf().network.addresses("s1")).toEqual(["10.1.0.2"]);
});

test("a network whose plugins give IPv6 addresses is known to have IPv6, so that the kernel's settings for it are checked", async () => {
  expect(await networkOf().network.find(never)).toEqual({ name: "bridge", driver: "bridge", hasIPv6: false });

  const ipam = { type: "host-local", ranges: [[{ subnet: "10.77.0.0/24" }], [{ subnet: "fd00:77::/64" }]] };
  await writeFile(join(folder, "1.conflist"), JSON.stringify({ name: "pods", cniVersion: "1.0.0", plugins: [{ type: "bridge", ipam }] }));
  expect(await networkOf().network.find(never)).toEqual({ name: "pods", driver: "bridge", hasIPv6: true });
});

test("a record that cannot be read keeps no other pod from being connected, nor the node's pods from being listed", async () => {
  await mkdir(join(folder, "records"));
  await writeFile(join(folder, "records", "s0.json"), "");
  const { network } = networkOf();

  await network.connect("s1", sandboxSpec(), never);

  expect(await network.addresses("s1")).toEqual(["10.1.0.2"]);
  expect(await network.addresses("s0")).toEqual([]);
  await expect(network.disconnect("s0", never)).rejects.toThrow(`read ${join(folder, "records", "s0.json")}: `);
});

test("what was connected is taken away as it was made, though the configuration is another one or none by then", async () => {
  await networkOf().network.connect("s1", sandboxSpec(), never);
  await configure("macvlan");
  const later = networkOf({ hasSettings: false, namespace: undefined });
  await later.network.disconnect("s1", never);
  await later.network.disconnect("s1", never);

  expect(later.calls).toMatchObject([
    { command: "DEL", type: "bridge", binDirs: ["/plugins"], parameters: { CNI_NETNS: "", CNI_CONTAINERID: "s1" } },
  ]);
  expect(await later.network.connected()).toEqual([]);
  expect(await later.network.addresses("s1")).toEqual([]);
});

test("a pod's new sandbox has what its former one kept, such as a port of the host", async () => {
  const ended = new Set<string>();
  const { network, said } = networkOf({ ended });
  const other = { ...sandboxSpec(), labels: { ...sandboxSpec().labels, "io.kubernetes.pod.uid": "u2" } };
  await network.connect("s1", sandboxSpec(), never);
  await network.connect("others", other, never);
  ended.add("s1").add("others");
  await network.connect("s2", sandboxSpec(), never);

  expect(said()).toEqual(["ADD bridge", "ADD bridge", "DEL bridge", "ADD bridge"]);
  expect((await network.connected()).toSorted()).toEqual(["others", "s2"]);
});

test("an ADD that fails is undone at once, and one that cannot be undone is kept for later", async () => {
  const failing = new Set(["ADD", "DEL"]);
  const { network, said } = networkOf({ failing });
  await expect(network.connect("s1", sandboxSpec(), never)).rejects.toThrow("ADD fails");
  expect(await network.connected()).toEqual(["s1"]);

  failing.clear();
  await network.connect("s1", sandboxSpec(), never);
  expect(said()).toEqual(["ADD bridge", "DEL bridge", "DEL bridge", "ADD bridge"]);
});

test("a DEL that fails is an error that is tried again, also where the plugin is gone", async () => {
  const failing = new Set(["DEL"]);
  const { network } = networkOf({ failing });
  await network.connect("s1", sandboxSpec(), never);

  await expect(network.disconnect("s1", never)).rejects.toSatisfy(isUnavailable);
  expect(await network.connected()).toEqual(["s1"]);
});

test("a host port that no plugin opens is refused before anything is called", async () => {
  const { network, calls } = networkOf();
  const pod = podWith({}, { ports: [{ containerPort: 80, hostPort: 8080 }] });

  await expect(network.connect("s1", sandboxSpec(pod), never)).rejects.toThrow(
    'no plugin of the network "bridge" has the capability portMappings',
  );
  expect(calls).toEqual([]);
  expect(await network.connected()).toEqual([]);
});

test("a sandbox that does not run is not connected", async () => {
  await expect(networkOf({ namespace: undefined }).network.connect("s1", sandboxSpec(), never)).rejects.toThrow("it does not run");
});

test("plugins that are not ready keep the node from being, in a kubelet's words", async () => {
  await expect(networkOf().network.find(never)).resolves.toEqual({ name: "bridge", driver: "bridge", hasIPv6: false });
  const error: unknown = await networkOf({ failing: new Set(["STATUS"]) })
    .network.find(never)
    .catch((reason: unknown) => reason);

  expect(error).toSatisfy(isNotFound);
  expect(String(error)).toContain("NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: STATUS fails");
});

test("a plugin is a program: it gets its parameters and configuration, and its own words are told when it fails", async () => {
  const program = (name: string, script: string): Promise<void> =>
    writeFile(join(folder, name), `#!/bin/sh\n${script}\n`).then(() => chmod(join(folder, name), 0o755));
  await program("echo", 'printf "%s %s " "$CNI_COMMAND" "$CNI_PATH"; cat');
  await program(
    "refuse",
    `echo '{ "cniVersion": "1.0.0", "code": 7, "msg": "no address left", "details": "10.1.0.0/24 is full" }'; exit 1`,
  );
  await program("crash", "echo segmentation fault >&2; exit 139");
  const run = pluginRunner(new VirtualClock());
  const call = (type: string) => run({ command: "ADD", type, binDirs: ["/nonexistent", folder], config: { a: 1 }, parameters: {} }, never);

  expect(await call("echo")).toBe(`ADD /nonexistent:${folder} {"a":1}`);
  await expect(call("refuse")).rejects.toThrow("network plugin refuse, ADD: no address left: 10.1.0.0/24 is full (code 7)");
  await expect(call("crash")).rejects.toThrow("network plugin crash, ADD: segmentation fault");
  await expect(call("missing")).rejects.toThrow(`there is no program missing in /nonexistent, ${folder}`);
});
