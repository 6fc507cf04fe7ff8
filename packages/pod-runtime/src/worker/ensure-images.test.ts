import { VirtualClock } from "@virtual-kubelet/clock";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { podWith } from "../test-support/pod-rig.ts";
import { ImageError } from "./ensure-image.ts";
import { ensureImages, VolumeImageError, type ContainerImages } from "./ensure-images.ts";

const never = new AbortController().signal;

const container = {
  name: "app",
  image: "app:1",
  volumeMounts: [
    { name: "data", mountPath: "/data" },
    { name: "model", mountPath: "/model" },
  ],
};
const pod = podWith({
  containers: [container],
  volumes: [
    { name: "data", image: { reference: "data:1" } },
    { name: "model", image: { reference: "model:1", pullPolicy: "Never" } },
    { name: "unused", image: { reference: "unused:1" } },
  ],
});

/** Makes a container's images available, some of which are on the machine, and others in the registry. */
async function ensured({
  held = [],
  registry = [],
}: {
  readonly held?: readonly string[];
  readonly registry?: readonly string[];
}): Promise<{
  readonly outcome: ContainerImages | Error;
  readonly told: readonly string[];
}> {
  const told: string[] = [];
  const find = async (image: string, where: readonly string[]): Promise<{ id: string; sizeBytes: number }> => {
    if (!where.includes(image)) throw new NotFoundError(`${image} is not there`);
    return { id: `${image}@sha256:1`, sizeBytes: 1 };
  };
  const outcome = await ensureImages(
    pod,
    container,
    {
      runtime: { inspectImage: (image) => find(image, held), pullImage: (image) => find(image, registry) },
      clock: new VirtualClock(),
      credentials: async () => [],
      tell: ({ type, reason, message, container: about = "pod" }) => void told.push(`${about} ${type} ${reason}: ${message}`),
    },
    never,
  ).catch((error: Error) => error);
  return { outcome, told };
}

test("images of volumes are made available before the container's own, with events on the pod", async () => {
  const { outcome, told } = await ensured({ held: ["app:1", "model:1"], registry: ["data:1"] });

  expect(outcome).toEqual({
    imageId: "app:1@sha256:1",
    volumeImages: new Map([
      ["data", "data:1@sha256:1"],
      ["model", "model:1@sha256:1"],
    ]),
  });
  expect(told).toEqual([
    'pod Normal Pulling: Pulling image "data:1"',
    'pod Normal Pulled: Successfully pulled image "data:1" in 0s (0s including waiting). Image size: 1 bytes.',
    'pod Normal Pulled: Container image "model:1" already present on machine and can be accessed by the pod',
    'app Normal Pulled: Container image "app:1" already present on machine and can be accessed by the pod',
  ]);
});

test("every volume's image is tried, the last missing one is the reason why the container waits, and its own image is not tried", async () => {
  const { outcome, told } = await ensured({ held: ["app:1"] });

  expect(outcome).toBeInstanceOf(VolumeImageError);
  expect(outcome).toMatchObject({
    reason: "ErrImageNeverPull",
    image: "model:1",
    message: 'Container image "model:1" is not present with pull policy of Never',
  });
  expect(told).toEqual([
    'pod Normal Pulling: Pulling image "data:1"',
    'pod Warning Failed: Failed to pull image "data:1": data:1 is not there',
    "app Warning Failed: Error: ErrImagePull",
    'pod Warning ErrImageNeverPull: Container image "model:1" is not present with pull policy of Never',
    "app Warning Failed: Error: ErrImageNeverPull",
  ]);
});

test("a missing image of the container itself is not the error of a volume", async () => {
  const { outcome } = await ensured({ held: ["model:1"], registry: ["data:1"] });

  expect(outcome).toBeInstanceOf(ImageError);
  expect(outcome).not.toBeInstanceOf(VolumeImageError);
});

test("without volumes only the container's own image is requested, and by default it is pulled only if it is missing", async () => {
  const looked: string[] = [];
  const runtime = {
    inspectImage: async (image: string) => {
      looked.push(image);
      return { id: `${image}@1`, sizeBytes: 1 };
    },
    pullImage: () => Promise.reject(new Error("not asked for")),
  };
  const options = { runtime, clock: new VirtualClock(), credentials: async () => [], tell: () => {} };

  expect(await ensureImages(podWith({}), { name: "app", image: "app:1" }, options, never)).toEqual({
    imageId: "app:1@1",
    volumeImages: new Map(),
  });
  expect(looked).toEqual(["app:1"]);
  await expect(ensureImages(podWith({}), { name: "app" }, options, never)).rejects.toMatchObject({ reason: "InvalidImageName" });
});

test("an abort is not reported as a missing image of a volume", async () => {
  const abort = new AbortController();
  const told: unknown[] = [];
  const give = async (): Promise<never> => {
    abort.abort(new Error("over"));
    throw new NotFoundError("none");
  };
  const options = {
    runtime: { inspectImage: give, pullImage: give },
    clock: new VirtualClock(),
    credentials: async () => [],
    tell: (notice: unknown) => void told.push(notice),
  };

  await expect(ensureImages(pod, container, options, abort.signal)).rejects.toThrow("over");
  expect(told).toEqual([]);
});

test("an internal error is not reported as the failure of an image", async () => {
  const credentials = (): never => {
    throw new TypeError("an internal error");
  };
  const runtime = {
    inspectImage: () => Promise.reject(new NotFoundError("none")),
    pullImage: () => Promise.reject(new NotFoundError("none")),
  };
  const tell = (): never => {
    throw new TypeError("an internal error");
  };

  await expect(ensureImages(pod, container, { runtime, clock: new VirtualClock(), credentials, tell }, never)).rejects.toThrow(
    "an internal error",
  );
});
