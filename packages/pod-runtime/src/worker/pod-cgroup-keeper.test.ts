import type { Pod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { NodeRig } from "../test-support/node-rig.ts";
import { podWith } from "../test-support/pod-rig.ts";
import type { PodCgroupKeeper } from "./pod-cgroup-keeper.ts";

const withCpu = (cpu: string): Pod => podWith({ containers: [{ name: "app", image: "app:1", resources: { limits: { cpu } } }] });

/** Records its calls among those of the runtime. */
function keeperOf({ runtime: { calls } }: NodeRig): PodCgroupKeeper {
  const note =
    <T>(what: string, answer: T) =>
    (pod: Parameters<PodCgroupKeeper["grow"]>[0] | Parameters<PodCgroupKeeper["release"]>[0]) => {
      const limit = "spec" in pod ? pod.spec?.containers[0]?.resources?.limits?.["cpu"] : "";
      calls.push(`${what} ${limit}`.trim());
      return Promise.resolve(answer);
    };
  return {
    prepare: note("prepare", "/vkpods/podu1"),
    grow: note("grow", undefined),
    fit: note("fit", undefined),
    release: note("release", undefined),
  };
}

/** Calls that concern cgroups and changes, in order. */
function callsOf({ runtime: { calls } }: NodeRig): readonly string[] {
  return calls.splice(0).filter((call) => /^(prepare|grow|fit|release|createSandbox|createContainer|resize|removeSandbox)/.test(call));
}

test("a pod's cgroup is created before its sandbox, follows the pod's resources, and is removed last", async () => {
  const rig = new NodeRig();
  rig.start({ cgroups: keeperOf(rig) });
  const ref = await rig.create(withCpu("1"));
  await rig.clock.advance(0);
  expect(callsOf(rig).map((call) => call.split(" ")[0])).toEqual(["prepare", "createSandbox", "createContainer"]);

  await rig.update(withCpu("2"));
  await rig.clock.advance(0);
  expect(callsOf(rig).map((call) => call.replace(/ c\d+$/, ""))).toEqual(["grow 2", "resizeContainer", "fit 2"]);

  await rig.provider.deletePod(ref, { gracePeriodSeconds: 0 }, rig.signal);
  await rig.clock.advance(10_000);
  expect(callsOf(rig).map((call) => call.split(" ")[0])).toEqual(["removeSandbox", "release"]);
});

test("the next program checks the cgroup once, which is not reported", async () => {
  const rig = new NodeRig();
  rig.start({ cgroups: keeperOf(rig) });
  await rig.create(withCpu("1"));
  await rig.clock.advance(0);
  await rig.provider[Symbol.asyncDispose]();
  callsOf(rig);

  const { updates } = rig.start({ cgroups: keeperOf(rig) });
  await rig.reconcile();
  await rig.clock.advance(60_000);

  expect(callsOf(rig)).toEqual(["grow 1", "fit 1"]);
  expect(JSON.stringify(updates)).not.toContain("PodResizeInProgress");
});

test("a change that came while no program was running is made by the next one", async () => {
  const rig = new NodeRig();
  rig.start({ cgroups: keeperOf(rig) });
  await rig.create(withCpu("2"));
  await rig.clock.advance(0);
  await rig.provider[Symbol.asyncDispose]();
  callsOf(rig);
  rig.pods.set("u1", { ...withCpu("1"), status: rig.pods.get("u1")?.status });

  rig.start({ cgroups: keeperOf(rig) });
  await rig.reconcile();
  await rig.clock.advance(0);

  expect(callsOf(rig).map((call) => call.replace(/ c\d+$/, ""))).toEqual(["grow 1", "resizeContainer", "fit 1"]);
});
