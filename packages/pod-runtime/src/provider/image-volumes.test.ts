import { NotFoundError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { NodeRig } from "../test-support/node-rig.ts";
import { plainPreparation } from "../test-support/plain-preparation.ts";
import { podWith } from "../test-support/pod-rig.ts";
import type { ContainerStart, PodPreparation } from "../worker/preparation.ts";

const pod = podWith({
  containers: [{ name: "app", image: "app:1", volumeMounts: [{ name: "data", mountPath: "/data" }] }],
  volumes: [{ name: "data", image: { reference: "data:1" } }],
});

/** A preparation that records each start of a container. */
function preparationThatKeeps(starts: ContainerStart[]): PodPreparation {
  return {
    ...plainPreparation,
    container: async (start, signal) => {
      starts.push(start);
      return plainPreparation.container(start, signal);
    },
  };
}

test("a container is created with the images of its volumes, by content, at each start", async () => {
  const starts: ContainerStart[] = [];
  const rig = new NodeRig({ "app/0": { afterMs: 60_000, exitCode: 1 } });
  rig.start({ preparation: preparationThatKeeps(starts) });

  await rig.create(pod);
  await rig.clock.advance(120_000);

  expect(rig.runtime.begun).toEqual(["app/0", "app/1"]);
  expect(starts.map(({ volumeImages }) => volumeImages)).toEqual([
    new Map([["data", "data:1@sha256:1"]]),
    new Map([["data", "data:1@sha256:1"]]),
  ]);
});

test("a container waits for the image of its volume, and starts once it is there", async () => {
  const rig = new NodeRig();
  rig.start();
  rig.runtime.failures.set("inspectImage", [new NotFoundError("no image data:1")]);
  rig.runtime.failures.set("pullImage", [new NotFoundError("no such repository")]);

  await rig.create(pod);
  await rig.clock.advance(0);
  expect(rig.container("u1", "app")?.state).toEqual({ waiting: { reason: "ErrImagePull", message: "no such repository" } });
  await rig.clock.advance(20_000);

  expect(rig.runtime.begun).toEqual(["app/0"]);
  expect(rig.events).toContain('Failed: Failed to pull image "data:1": no such repository');
});

test("if the runtime cannot mount images, a pod with an image volume is refused before anything of it is created", async () => {
  const rig = new NodeRig();
  rig.runtime.canMountImages = false;
  rig.start();

  await expect(rig.create(pod)).rejects.toMatchObject({ code: "VK_UNSUPPORTED", fieldPath: "spec.volumes[0].image" });
  await rig.clock.advance(10_000);

  expect(rig.runtime.calls.filter((call) => /^(create|pull|inspectImage)/.test(call))).toEqual([]);
});
