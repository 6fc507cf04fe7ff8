import { isUnsupported } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { podWith } from "../test-support/specs.ts";
import { checkEngineLimits, engineLimits, type LimitFacts } from "./engine-limits.ts";

const all = { memory: true, swap: true, cpuQuota: true, cpuShares: true, pids: true };
const docker: LimitFacts = { cgroupDriver: "systemd", controls: all, hasSeccomp: true, isPodman: false, isRootless: false };

test("a Docker engine that runs as root with all controllers leaves nothing out", () => {
  expect(engineLimits(docker)).toEqual([]);
  expect(engineLimits({ ...docker, cgroupDriver: "cgroupfs" })).toEqual([]);
});

test.each<[string, Partial<LimitFacts>, readonly string[]]>([
  [
    "rootless without delegated controllers",
    { cgroupDriver: "none", isRootless: true, controls: { memory: false, swap: false, cpuQuota: false, cpuShares: false, pids: false } },
    [
      "resources.limits.memory is not kept",
      "resources.limits.cpu is not kept",
      "resources.requests.cpu has no weight",
      "pidsLimit is not kept",
      "pods have no cgroup of their own",
      "spec.hostPID is refused",
      "hostNetwork, hostPorts and privileges are those of the engine's user, not the machine's",
    ],
  ],
  ["podman", { isPodman: true }, ["pods have no cgroup of their own", "resources of a running container cannot be changed"]],
  ["a kernel without swap accounting", { controls: { ...all, swap: false } }, ["resources.limits.memory does not bound swap"]],
  ["an engine that was built without seccomp", { hasSeccomp: false }, ["securityContext.seccompProfile is not kept"]],
])("%s says by field what it leaves out", (_, facts, limits) => {
  expect(engineLimits({ ...docker, ...facts })).toEqual(limits);
});

test("a pod in the machine's process table is refused by a rootless engine, and by no other", () => {
  const pod = podWith({ hostPID: true });
  let refused: unknown;
  try {
    checkEngineLimits(pod, { isRootless: true });
  } catch (error) {
    refused = error;
  }
  expect([isUnsupported(refused), String(refused)]).toEqual([true, expect.stringContaining("spec.hostPID: a rootless engine")]);
  for (const facts of [undefined, { isRootless: false }]) expect(() => checkEngineLimits(pod, facts)).not.toThrow();
  expect(() => checkEngineLimits(podWith({ hostNetwork: true }), { isRootless: true })).not.toThrow();
});
