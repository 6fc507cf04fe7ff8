import { UnavailableError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { parseNetworkList } from "./network-lists.ts";
import { addressesIn, chainAdd, chainCheck, chainDel, chainStatus, type ChainTarget } from "./plugin-chain.ts";
import type { PluginCall, RunPlugin } from "./run-plugin.ts";

const { signal: never } = new AbortController();

function targetOf(cniVersion: string, more: object = {}): ChainTarget {
  const plugins = [
    { type: "bridge", ipam: { type: "host-local" } },
    { type: "portmap", capabilities: { portMappings: true } },
  ];
  return {
    list: parseNetworkList(JSON.stringify({ name: "pods", cniVersion, plugins, ...more }), { isList: true }),
    binDirs: ["/opt/cni/bin"],
    containerId: "s1",
    namespace: "/proc/7/ns/net",
    args: [
      ["IgnoreUnknown", "1"],
      ["K8S_POD_NAME", "web"],
    ],
    capabilityArgs: { portMappings: [{ hostPort: 80, containerPort: 8080, protocol: "tcp" }] },
  };
}

const result = {
  cniVersion: "1.0.0",
  interfaces: [{ name: "cni0" }, { name: "eth0", sandbox: "/proc/7/ns/net" }],
  ips: [{ address: "10.1.0.2/24", interface: 1 }],
};

/** Answers every ADD with one result; `fails` names calls that fail. */
function recorder(fails: readonly string[] = []): { readonly calls: PluginCall[]; readonly run: RunPlugin } {
  const calls: PluginCall[] = [];
  return {
    calls,
    run: (call) => {
      calls.push(call);
      const name = `${call.command} ${call.type}`;
      return fails.includes(name)
        ? Promise.reject(new UnavailableError(name))
        : Promise.resolve(JSON.stringify({ ...result, by: call.type }));
    },
  };
}

const names = (calls: readonly PluginCall[]): string[] => calls.map(({ command, type }) => `${command} ${type}`);

test("ADD goes through the plugins in order, each with the result of the one before and what it has the capability for", async () => {
  const { calls, run } = recorder();

  expect(await chainAdd(targetOf("1.0.0"), run, never)).toMatchObject({ by: "portmap" });
  expect(calls).toEqual([
    {
      command: "ADD",
      type: "bridge",
      binDirs: ["/opt/cni/bin"],
      config: { type: "bridge", ipam: { type: "host-local" }, name: "pods", cniVersion: "1.0.0" },
      parameters: {
        CNI_CONTAINERID: "s1",
        CNI_NETNS: "/proc/7/ns/net",
        CNI_IFNAME: "eth0",
        CNI_ARGS: "IgnoreUnknown=1;K8S_POD_NAME=web",
      },
    },
    expect.objectContaining({
      type: "portmap",
      config: {
        type: "portmap",
        name: "pods",
        cniVersion: "1.0.0",
        prevResult: { ...result, by: "bridge" },
        runtimeConfig: { portMappings: [{ hostPort: 80, containerPort: 8080, protocol: "tcp" }] },
      },
    }),
  ]);
});

test("DEL goes through all plugins from the last one on, whatever one of them says, and without a namespace that is gone", async () => {
  const { calls, run } = recorder(["DEL portmap"]);

  await expect(chainDel({ ...targetOf("1.0.0"), namespace: "" }, result, run, never)).rejects.toThrow("DEL portmap");
  expect(names(calls)).toEqual(["DEL portmap", "DEL bridge"]);
  expect(calls[1]).toMatchObject({ config: { prevResult: result }, parameters: { CNI_NETNS: "" } });
});

test("DEL of versions before 0.4.0 is not given what ADD said", async () => {
  const { calls, run } = recorder();
  await chainDel(targetOf("0.3.1"), result, run, never);

  for (const { config } of calls) expect(config).not.toHaveProperty("prevResult");
});

test.each([
  ["1.0.0", {}, ["CHECK bridge", "CHECK portmap"], []],
  ["1.0.0", { disableCheck: true }, [], []],
  ["0.3.1", {}, [], []],
  ["1.1.0", {}, ["CHECK bridge", "CHECK portmap"], ["STATUS bridge", "STATUS portmap"]],
])("CHECK and STATUS are called where version %s and the list %j allow it", async (version, more, checks, statuses) => {
  const [check, status] = [recorder(), recorder()];
  await chainCheck(targetOf(version, more), result, check.run, never);
  await chainStatus(targetOf(version, more), status.run, never);

  expect(names(check.calls)).toEqual(checks);
  expect(names(status.calls)).toEqual(statuses);
});

test("a pod's addresses are those of its own interface, in the plugins' order", () => {
  const ips = [
    { address: "10.1.0.1/24", interface: 0 },
    { address: "fd00::2/64", interface: 1 },
    ...result.ips,
    { address: "10.9.0.1/32" },
  ];

  expect(addressesIn({ ...result, ips })).toEqual(["fd00::2", "10.1.0.2", "10.9.0.1"]);
});

test.each([[{}], [{ ips: [] }], [{ ips: [{ address: "nonsense" }] }]])("a result without an address is an error: %j", (bad) => {
  expect(() => addressesIn(bad)).toThrow("the network plugins gave the pod no address");
});

test("what is no result is told with what the plugin wrote", async () => {
  await expect(chainAdd(targetOf("1.0.0"), () => Promise.resolve("oops"), never)).rejects.toThrow(
    "network plugin bridge, ADD: its output is not a result: oops",
  );
});
