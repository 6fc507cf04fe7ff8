import { VirtualClock } from "@virtual-kubelet/clock";
import type { RemoteTarget } from "@virtual-kubelet/remote-pods";
import { expect, test } from "vitest";
import { observeContainer, type ZunObject } from "../status/zun-object.ts";
import { ZunProbing } from "./zun-probing.ts";

const identity = { ref: { namespace: "default", name: "web", uid: "u1" }, owner: { clusterId: "c", nodeName: "n" }, attempt: 0 };
const labels = {
  ...identity,
  containers: ["main"],
  initContainers: [],
  restartPolicy: "Always",
  ownsPorts: false,
  securityGroups: [],
} as const;
const { signal } = new AbortController();

function open(): { readonly probing: ZunProbing; readonly asked: string[]; readonly clock: VirtualClock } {
  const [asked, clock]: [string[], VirtualClock] = [[], new VirtualClock()];
  const api = {
    execute: async () => ({}),
    showContainer: async (uuid: string) => {
      asked.push(`show ${uuid}`);
      return { uuid };
    },
    rebootContainer: async (uuid: string, seconds: number) => void asked.push(`reboot ${uuid} ${seconds}`),
    stopContainer: async (uuid: string, seconds: number) => void asked.push(`stop ${uuid} ${seconds}`),
  };
  return { probing: new ZunProbing({ api, clock }), asked, clock };
}

function target(status: string, id = "container:z1"): RemoteTarget<ZunObject> {
  return { id, identity, remote: observeContainer({ uuid: "z1", status }, labels) };
}

const failed = { name: "main", id: "zun://z1/0", graceSeconds: 60, isRestarted: true };

test("a container whose probe has failed is restarted with at most 30 s, and the restart is remembered until the object is gone", async () => {
  const { probing, asked, clock } = open();
  await probing.endContainer(target("Running"), failed, signal);

  expect([asked, probing.rebootedAtMs("container:z1")]).toEqual([["reboot z1 30"], clock.now()]);
  probing.forget("container:z1");
  expect(probing.rebootedAtMs("container:z1")).toBeUndefined();
});

test("a container that never restarts is stopped, which is no restart", async () => {
  const { probing, asked } = open();
  await probing.endContainer(target("Running"), { ...failed, graceSeconds: 5, isRestarted: false }, signal);

  expect([asked, probing.rebootedAtMs("container:z1")]).toEqual([["stop z1 5"], undefined]);
});

test("a container that is paused is not ended, and the error says why", async () => {
  const { probing, asked } = open();
  await expect(probing.endContainer(target("Paused"), failed, signal)).rejects.toThrow("Zun says Paused, and ends only what is Running");
  expect(asked).toEqual([]);
});

test("a failed probe is confirmed by the container's host, and a capsule's by nothing", async () => {
  const { probing, asked } = open();
  await probing.confirm(target("Running"), signal);
  await probing.confirm(target("Running", "capsule:k1"), signal);

  expect(asked).toEqual(["show z1"]);
});

test("a command without an exit code is no result of a probe", async () => {
  const { probing } = open();
  const io = { stdin: undefined, stdout: undefined, stderr: undefined, tty: false, resizes: (async function* () {})() };
  await expect(probing.exec(target("Running"), "main", ["true"], io, signal)).rejects.toThrow("Zun reports no exit code");
});
