import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import type { CgroupUsage } from "../cgroup/cgroup-figures.ts";
import { hostCgroups } from "./host-cgroups.ts";

const { signal } = new AbortController();
const clock = new VirtualClock();
const usage = (path: string): CgroupUsage => ({ cgroup: { time: "2026-01-01T00:00:00Z", path } });

test("the pods together and the program are system containers, and the machine has the root control group", async () => {
  const meter = { ofPath: async (path: string) => usage(path), ofProcess: async () => usage("/system.slice/vk.service") };

  const cgroups = hostCgroups({ clock, meter, pods: async () => usage("/vkpods") });

  expect((await cgroups.root(signal))?.path).toBe("/");
  const found = await cgroups.systemContainers(signal);
  expect(found.map(({ name, cgroup }) => [name, cgroup?.path])).toEqual([
    ["kubelet", "/system.slice/vk.service"],
    ["pods", "/vkpods"],
  ]);
});

test("the engine is a system container, found by its process or its group, and so are the machine's other services", async () => {
  const meter = {
    ofPath: async (path: string) => (path === "/gone" ? undefined : usage(path)),
    ofProcess: async ({ pid }: { readonly pid: number }) => usage(pid === 7 ? "/system.slice/docker.service" : "/"),
  };
  const found = async (more: object): Promise<unknown> =>
    (await hostCgroups({ clock, meter, ...more }).systemContainers(signal)).map(({ name, cgroup }) => [name, cgroup?.path]);

  expect(await found({ runtime: async () => 7, misc: "/system.slice" })).toEqual([
    ["runtime", "/system.slice/docker.service"],
    ["misc", "/system.slice"],
  ]);
  expect(await found({ runtime: async () => "/docker" })).toEqual([["runtime", "/docker"]]);
  expect(await found({ runtime: async () => 8, misc: "/gone" })).toEqual([]);
  expect(await found({ runtime: async () => undefined })).toEqual([]);
});

test("a program in the root control group has no figures of its own, and without control groups there are none", async () => {
  const first = { ofPath: async () => usage("/"), ofProcess: async () => usage("/") };
  const none = { ofPath: async () => undefined, ofProcess: async () => undefined };

  expect(await hostCgroups({ clock, meter: first }).systemContainers(signal)).toEqual([]);
  const cgroups = hostCgroups({ clock, meter: none, pods: async () => undefined });
  expect([await cgroups.root(signal), await cgroups.systemContainers(signal)]).toEqual([undefined, []]);
});
