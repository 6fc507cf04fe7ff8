import type { PodSpec } from "@virtual-kubelet/core";
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
