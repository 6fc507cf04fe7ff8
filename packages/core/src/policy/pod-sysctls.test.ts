import type { PodSpec } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { forbiddenSysctl, kernelNamespaceOf, podSysctls } from "./pod-sysctls.ts";

function podWithSysctls(names: readonly string[], spec: Partial<PodSpec> = {}): { spec: PodSpec } {
  return { spec: { containers: [], ...spec, securityContext: { sysctls: names.map((name) => ({ name, value: "1" })) } } };
}

describe("forbiddenSysctl", () => {
  test("lets safe ones pass, also with slashes", () => {
    expect(forbiddenSysctl(podWithSysctls(["kernel.shm_rmid_forced", "net/ipv4/tcp_rmem"]), [])).toBeUndefined();
    expect(forbiddenSysctl({}, [])).toBeUndefined();
  });

  test("names the first that is neither safe nor allowed", () => {
    expect(forbiddenSysctl(podWithSysctls(["net.core.somaxconn"]), [])).toBe(`forbidden sysctl: "net.core.somaxconn" not allowlisted`);
    expect(forbiddenSysctl(podWithSysctls(["net.core.somaxconn", "kernel.msgmax"]), ["net.core.*"])).toMatch(/"kernel\.msgmax"/);
  });

  test("lets those pass that are allowed, by name or pattern", () => {
    expect(forbiddenSysctl(podWithSysctls(["net.core.somaxconn", "kernel.msgmax"]), ["net.*", "kernel.msgmax"])).toBeUndefined();
  });

  test("refuses what would change the node, whose namespace the pod shares", () => {
    const onHost = podWithSysctls(["net.ipv4.tcp_syncookies"], { hostNetwork: true });
    expect(forbiddenSysctl(onHost, ["net.*"])).toBe(`forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled`);
    const withIPC = podWithSysctls(["kernel.shmmax"], { hostIPC: true });
    expect(forbiddenSysctl(withIPC, ["kernel.shmmax"])).toBe(`forbidden sysctl: "kernel.shmmax" not allowed with host IPC enabled`);
    expect(forbiddenSysctl(podWithSysctls(["kernel.shmmax"], { hostNetwork: true }), ["kernel.shmmax"])).toBeUndefined();
  });
});

test.for([
  ["net.*", "Net"],
  ["fs.mqueue.msg_max", "IPC"],
  ["kernel.shm*", "IPC"],
  ["kernel.sem", "IPC"],
  ["kernel.panic", undefined],
  ["vm.*", undefined],
  ["*", undefined],
] as const)("%s is of the namespace %s", ([pattern, expected]) => {
  expect(kernelNamespaceOf(pattern)).toBe(expected);
});

test("a pod's sysctls are given with dots, and a slash that stands for a dot", () => {
  expect(podSysctls(podWithSysctls(["net/ipv4/conf/eth0.1/rp_filter", "kernel.sem"]))).toEqual({
    "net.ipv4.conf.eth0/1.rp_filter": "1",
    "kernel.sem": "1",
  });
});

test.for([
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_wmem",
])("%s is safe, as long as the namespace is the pod's own", (name) => {
  expect(forbiddenSysctl(podWithSysctls([name]), [])).toBeUndefined();
  expect(forbiddenSysctl(podWithSysctls([`${name}x`]), [])).toContain("not allowlisted");
  expect(forbiddenSysctl(podWithSysctls([name], { hostNetwork: true, hostIPC: true }), [])).toContain("enabled");
});

test.for(["sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm", "msgmax", "msgmnb", "msgmni", "msg"])(
  "kernel.%s is of the namespace IPC, and what is only like it is not",
  (name) => {
    expect(kernelNamespaceOf(`kernel.${name}`)).toBe("IPC");
    expect(kernelNamespaceOf(`kernel.${name}x`)).not.toBe("IPC");
    expect(kernelNamespaceOf(`x.kernel.${name}`)).toBeUndefined();
  },
);

test("a pattern stands for what begins like it, and a name for itself alone", () => {
  const allowed = (name: string, pattern: string): boolean => forbiddenSysctl(podWithSysctls([name]), [pattern]) === undefined;

  expect([allowed("net.core.somaxconn", "net.core.*"), allowed("net.core", "net.core.*"), allowed("net.corex", "net.core*")]).toEqual([
    true,
    false,
    true,
  ]);
  expect([allowed("net.core.x", "net.core"), allowed("kernel.sem", "kernel/sem"), allowed("kernel/sem", "kernel.sem")]).toEqual([
    false,
    true,
    true,
  ]);
});

test("with dots first a slash is part of a name", () => {
  expect(podSysctls(podWithSysctls(["net.ipv4.conf.eth0/1.rp_filter", "plain"]))).toEqual({
    "net.ipv4.conf.eth0/1.rp_filter": "1",
    plain: "1",
  });
  expect(podSysctls({})).toEqual({});
});
