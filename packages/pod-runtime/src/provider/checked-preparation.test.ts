import { checkPolicy } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { NodeRig } from "../test-support/node-rig.ts";
import { podWith } from "../test-support/pod-rig.ts";

type Check = (pod: Parameters<typeof checkPolicy>[0]) => void;

const checkPod: Check = (pod) => checkPolicy(pod, {});
const app = { name: "app", image: "app:1" };
const nosy = { name: "debug", image: "app:1", securityContext: { privileged: true } };

async function rigWith(check: Check, ends?: ConstructorParameters<typeof NodeRig>[0]): Promise<NodeRig> {
  const rig = new NodeRig(ends);
  rig.start({ checkPod: check });
  await rig.create(podWith({ containers: [app] }));
  await rig.clock.advance(0);
  return rig;
}

const refused = {
  state: {
    waiting: {
      reason: "CreateContainerConfigError",
      message: expect.stringContaining("spec.ephemeralContainers[1].securityContext.privileged (all of the node; policy.privileged"),
    },
  },
};
const harmless = { name: "look", image: "app:1" };

test("a debugging container that is not allowed is not created, and the rest of the change is applied", async () => {
  const rig = await rigWith(checkPod);

  await rig.update(podWith({ containers: [app], ephemeralContainers: [harmless, nosy] }));
  await rig.clock.advance(60_000);

  expect(rig.runtime.begun).toEqual(["app/0", "look/0"]);
  expect(rig.status("u1").ephemeralContainerStatuses).toMatchObject([{ state: { running: {} } }, refused]);
});

test("a debugging container that is not allowed is not created by the next program either", async () => {
  const rig = await rigWith(checkPod, { "app/0": { afterMs: 30_000, exitCode: 1 } });
  const changed = podWith({ containers: [app], ephemeralContainers: [harmless, nosy] });
  rig.program.mortal.kill();
  rig.pods.set("u1", { ...changed, status: rig.pods.get("u1")?.status });

  rig.start({ checkPod });
  await rig.reconcile();
  await rig.create(changed);
  await rig.clock.advance(60_000);

  expect(rig.runtime.begun).toEqual(["app/0", "look/0", "app/1"]);
  expect(rig.status("u1").ephemeralContainerStatuses).toMatchObject([{ state: { running: {} } }, refused]);
});

test("a pod that was admitted under another policy continues to run, but gets no new sandbox", async () => {
  const rig = await rigWith(() => {});
  rig.program.mortal.kill();

  rig.start({
    checkPod: () => {
      throw new UnsupportedError("not allowed on this node: spec.hostNetwork");
    },
  });
  await rig.reconcile();
  await rig.clock.advance(60_000);
  expect(rig.status("u1")).toMatchObject({ phase: "Running" });

  for (const id of [...rig.runtime.sandboxes.keys()]) await rig.runtime.stopSandbox(id);
  await rig.clock.advance(60_000);
  expect(rig.runtime.begun).toEqual(["app/0"]);
  expect(rig.events).toContainEqual("FailedCreatePodSandBox: Failed to create pod sandbox: not allowed on this node: spec.hostNetwork");
});
