import { isConflict, isNotFound } from "@virtual-kubelet/errdefs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { containerSpec, podWith } from "../test-support/specs.ts";
import { devicesOf, GpuAllocator, unitsOf } from "./gpu-allocator.ts";
import { hostGpus } from "../node/host-gpus.ts";

const { signal: never } = new AbortController();
const label = "virtual-kubelet.io/gpus";

/** An allocator over containers that are made with what it gives. */
function allocator(
  gpus: readonly string[],
  held: Record<string, string>[] = [],
): { take: (count: number, uid?: string) => Promise<readonly string[]> } {
  const made = new GpuAllocator({ gpus: () => Promise.resolve(gpus), taken: () => Promise.resolve([...held]) });
  const take = (count: number, uid = "u"): Promise<readonly string[]> => {
    const labels = { "io.kubernetes.pod.uid": uid };
    return made.withGpus(
      { count, labels },
      async (given) => {
        held.push({ ...labels, [label]: given.join(",") });
        return given;
      },
      never,
    );
  };
  return { take };
}

test("what is taken stands in the labels of containers, and is not given again, however many ask at once", async () => {
  const { take } = allocator(["a", "b", "c", "d"], [{ "io.kubernetes.pod.uid": "old", [label]: "b" }]);

  expect(await Promise.all([take(1, "u1"), take(2, "u2"), take(0, "u3")])).toEqual([["a"], ["c", "d"], []]);
  await expect(take(1, "u4")).rejects.toSatisfy(isConflict);
  await expect(take(5, "u5")).rejects.toSatisfy(isNotFound);
});

test("a container that asks again after a try that was lost does not stand in its own way", async () => {
  const { take } = allocator(["a"]);
  await take(1);

  expect(await take(1)).toEqual(["a"]);
});

test("one who cannot be served does not hold up the next", async () => {
  const { take } = allocator(["a"]);
  const refused = take(2, "u1");

  await expect(refused).rejects.toSatisfy(isNotFound);
  expect(await take(1, "u2")).toEqual(["a"]);
});

test("units come from limits, and devices from resources that are asked for", () => {
  const resources = { limits: { "nvidia.com/gpu": "2", "example.com/fuse": 1 as unknown as string } };
  const { container } = containerSpec(podWith({}, { resources }));

  expect(unitsOf(container, "nvidia.com/gpu")).toBe(2);
  expect(unitsOf(container, "amd.com/gpu")).toBe(0);
  expect(devicesOf(container, { "example.com/fuse": { paths: ["/dev/fuse"] }, "example.com/kvm": { paths: ["/dev/kvm"] } })).toEqual([
    "/dev/fuse",
  ]);
});

test("the driver's files tell which GPUs there are, by number where they do not tell more", async () => {
  const folder = await mkdtemp(join(tmpdir(), "vk-gpus-"));
  const uuid = "GPU-12345678-1234-1234-1234-123456789abc";
  for (const [name, text] of [
    ["0000:01:00.0", `Model: \t\t X\nGPU UUID: \t ${uuid}\n`],
    ["0000:02:00.0", "GPU UUID: \t GPU-????????-????-????-????-????????????\n"],
  ] as const) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, "information"), text);
  }

  expect(await hostGpus(folder)).toEqual([uuid, "1"]);
  expect(await hostGpus(join(folder, "none"))).toEqual([]);
  await rm(folder, { recursive: true });
});
