import { systemClock } from "@virtual-kubelet/clock";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { ImageCollector } from "@virtual-kubelet/pod-runtime";
import { expect, test } from "vitest";
import { connectEngine } from "../../providers/docker/src/engine/connect-engine.ts";
import { importImages } from "./support/busybox-image.ts";
import { PrivateEngine } from "./support/private-engine.ts";
import { RuntimeRig } from "./support/runtime-rig.ts";

const never = new AbortController().signal;
const sandboxImage = "registry.k8s.io/pause:3.10";

test("when the disk is full, unused images are removed, except the sandbox image", async () => {
  await using engine = await PrivateEngine.start({ hasOwnNetwork: true });
  await using _images = await importImages(engine.api);
  const endpoint = { kind: "unix", socketPath: engine.api.socketPath } as const;
  using connection = connectEngine({ endpoint, clock: systemClock, logger: silentLogger });
  await using rig = await RuntimeRig.open("images", { engine: connection });
  // Every disk exceeds this threshold.
  const policy = { highThresholdPercent: 1, lowThresholdPercent: 0, minAgeMs: 0 };
  const collector = new ImageCollector({ images: rig.runtime.images, policy, clock: systemClock, logger: silentLogger });
  const held = async (): Promise<readonly string[]> =>
    (await rig.runtime.images.listImages(never)).flatMap(({ names }) => names.filter((name) => !name.includes("@"))).toSorted();
  const pod = rig.pod("uses-images");
  const sandbox = await rig.sandbox(pod);
  await rig.run(sandbox.id, rig.containerSpec(pod));
  const notStarted = rig.containerSpec(pod, { container: { name: "not-started" }, imageId: "busybox-user:1.37" });
  await rig.runtime.createContainer(sandbox.id, notStarted, never);
  expect(await held()).toEqual(["busybox-entrypoint:1.37", "busybox-user:1.37", "busybox:1.37", sandboxImage]);

  expect(await collector.collect(never)).toBeGreaterThan(0);
  expect(await held()).toEqual(["busybox-user:1.37", "busybox:1.37", sandboxImage]);

  await rig.runtime.removeSandbox(sandbox.id, never);
  await collector.collect(never);
  expect(await held()).toEqual([sandboxImage]);
});
