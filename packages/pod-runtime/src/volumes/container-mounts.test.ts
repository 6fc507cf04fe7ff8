import type { Container } from "@virtual-kubelet/core";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { podWith } from "../test-support/pod-rig.ts";
import { tempFolder } from "../test-support/temp-folder.ts";
import { containerMounts, type ContainerMountsOptions } from "./container-mounts.ts";
import { systemMounts, type HostMounts } from "./host-mounts.ts";
import { PodDirectory } from "./pod-directory.ts";
import type { ReadyVolume } from "./ready-volume.ts";

type Mount = NonNullable<Container["volumeMounts"]>[number];

/** Mounts of a container with these volume mounts. */
async function mountsOf(
  volumeMounts: readonly Mount[],
  { root, ...more }: { readonly root: string } & Partial<ContainerMountsOptions>,
): ReturnType<typeof containerMounts> {
  const container = { name: "app", image: "app:1", volumeMounts: [...volumeMounts] };
  return containerMounts({
    pod: podWith({ containers: [container] }),
    container,
    facts: { environment: [{ name: "WHO", value: "me" }] },
    volumes: new Map(),
    directory: new PodDirectory(root, "u1"),
    mounts: undefined,
    recursiveReadOnly: false,
    logger: silentLogger,
    ...more,
  });
}

const emptyDir = { kind: "emptyDir", medium: "", sizeLimit: undefined } as const;
const volumeAt = (path: string, source: ReadyVolume["source"] = emptyDir): ReadyVolume => ({
  source,
  path,
  isMemory: false,
  watchedLimitBytes: undefined,
});

/** Mounts that only record their calls. */
function fakeMounts(): HostMounts & { readonly said: string[] } {
  const said: string[] = [];
  return {
    ...systemMounts,
    said,
    list: async () => [],
    bind: async (source, target, options) => {
      const path = await readFile(`/proc/self/fdinfo/${source.fd}`, "utf8").then(() => target);
      said.push(`${path}${options?.isWhole ? " whole" : ""}`);
    },
  };
}

test.for([
  [{}, { isReadOnly: false, propagation: "None" }],
  [{ readOnly: true }, { isReadOnly: true, propagation: "None" }],
  [{ mountPropagation: "HostToContainer" }, { isReadOnly: false, propagation: "HostToContainer" }],
  [{ mountPropagation: "Bidirectional" }, { isReadOnly: false, propagation: "Bidirectional" }],
] as const)("a mount %j is %j", async ([fields, expected]) => {
  const volumes = new Map([["data", volumeAt("/v")]]);

  expect(await mountsOf([{ name: "data", mountPath: "data", ...fields }], { root: "/root", volumes })).toEqual([
    { hostPath: "/v", containerPath: "/data", isRecursivelyReadOnly: false, ...expected },
  ]);
});

test("files from the API server are read-only, whatever the mount says", async () => {
  const payload = { kind: "payload", folder: "f", isSecret: true } as const;
  const volumes = new Map([["data", { ...volumeAt("/v", payload), isReadOnly: true }]]);

  expect(await mountsOf([{ name: "data", mountPath: "/data", readOnly: false }], { root: "/root", volumes })).toMatchObject([
    { isReadOnly: true },
  ]);
});

test("an image volume can be recursively read-only and propagated like any other", async () => {
  const facts = { environment: [], volumeImages: new Map([["data", "i"]]) };
  const mount = { name: "data", mountPath: "/data", readOnly: true, recursiveReadOnly: "Enabled" };

  expect(await mountsOf([mount], { root: "/root", facts, recursiveReadOnly: true })).toEqual([
    {
      hostPath: "",
      image: { id: "i", subPath: "" },
      containerPath: "/data",
      isReadOnly: true,
      isRecursivelyReadOnly: true,
      propagation: "None",
    },
  ]);
  await expect(mountsOf([{ ...mount, mountPropagation: "x" }], { root: "/root", facts, recursiveReadOnly: true })).rejects.toThrow(
    "propagation",
  );
});

test("an allowed path of the node is mounted by name, and a path below it from an open file", async () => {
  await using folder = await tempFolder();
  await mkdir(join(folder.path, "below"));
  const nodePaths = [folder.path];
  const hostPath = (path: string): Map<string, ReadyVolume> =>
    new Map([["data", { ...volumeAt(path, { kind: "hostPath", path, type: "" }), nodePaths }]]);
  const mounts = fakeMounts();
  const root = join(folder.path, "root");
  const mount = { name: "data", mountPath: "/data" };

  expect(await mountsOf([mount], { root, volumes: hostPath(folder.path), mounts })).toMatchObject([{ hostPath: folder.path }]);
  expect(mounts.said).toEqual([]);
  const target = join(root, "pods/u1/volume-subpaths/data/app/0");
  const below = hostPath(join(folder.path, "below"));
  expect(await mountsOf([mount], { root, volumes: below, mounts })).toMatchObject([{ hostPath: target }]);
  expect(mounts.said).toEqual([`${target} whole`]);

  const propagated = { ...mount, mountPropagation: "Bidirectional" };
  expect(await mountsOf([propagated], { root, volumes: below, mounts })).toMatchObject([{ hostPath: join(folder.path, "below") }]);
  await expect(mountsOf([mount], { root, volumes: below })).rejects.toMatchObject({
    code: "VK_UNSUPPORTED",
    fieldPath: "spec.containers[*].volumeMounts[*].subPath",
    message: expect.stringContaining("is below a folder that other pods may write to"),
  });
});

test("a subPath of a path of the node is mounted from an open file, and refused if nothing can be mounted", async () => {
  await using folder = await tempFolder();
  await mkdir(join(folder.path, "sub"));
  const source = { kind: "hostPath", path: folder.path, type: "" } as const;
  const volumes = new Map([["data", { ...volumeAt(folder.path, source), nodePaths: [folder.path] }]]);
  const mounts = fakeMounts();
  const root = join(folder.path, "root");
  const mount = { name: "data", mountPath: "/data", subPath: "sub" };

  const target = join(root, "pods/u1/volume-subpaths/data/app/0");
  expect(await mountsOf([mount], { root, volumes, mounts })).toMatchObject([{ hostPath: target }]);
  expect(mounts.said).toEqual([target]);
  await expect(mountsOf([mount], { root, volumes })).rejects.toMatchObject({
    code: "VK_UNSUPPORTED",
    message: expect.stringContaining("a container may write to a folder above its subPath"),
  });
});

test("a subPath of files from the API server is resolved if nothing can be mounted", async () => {
  await using folder = await tempFolder();
  await writeFile(join(folder.path, "key"), "value");
  const volumes = new Map([["data", volumeAt(folder.path, { kind: "payload", folder: "f", isSecret: false })]]);

  expect(await mountsOf([{ name: "data", mountPath: "/data", subPath: "key" }], { root: folder.path, volumes })).toMatchObject([
    { hostPath: join(folder.path, "key") },
  ]);
});

test("for a subPath that cannot be opened, the error has a kubelet's words, and only the log has the reason", async () => {
  await using folder = await tempFolder();
  await writeFile(join(folder.path, "file"), "");
  const said: string[] = [];
  const logger = { ...silentLogger, warn: (_: unknown, message: string) => void said.push(message) };
  const volumes = new Map([["data", volumeAt(folder.path)]]);

  const failed = mountsOf([{ name: "data", mountPath: "/data", subPath: "file/inner" }], { root: folder.path, volumes, logger });

  await expect(failed).rejects.toMatchObject({ message: 'failed to prepare subPath for volumeMount "data" of container "app"' });
  await expect(failed).rejects.not.toHaveProperty("code");
  expect(said).toEqual(["a subPath could not be mounted"]);
});
