import type { ClaimedVolume, ClaimedVolumeSource, Pod, PodSpec } from "@virtual-kubelet/core";
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder, type TempFolder } from "../../test-support/temp-folder.ts";
import { containerOf, podOf, rigOf, type VolumeRig } from "../../test-support/volume-rig.ts";
import { systemMounts, type HostMounts } from "../host-mounts.ts";
import type { MountPoint } from "../mount-table.ts";

const never = new AbortController().signal;

function claimOn(source: ClaimedVolumeSource, more: Partial<ClaimedVolume> = {}): ClaimedVolume {
  const claim = { namespace: "default", name: "data", uid: "c1" };
  return { name: "pv-1", claim, source, accessModes: ["ReadWriteOnce"], isReadOnly: false, mountOptions: [], ...more };
}

/** A pod with one claim, mounted as `mount` says. */
function claimant(uid = "u1", mount: object = {}, spec: Partial<PodSpec> = {}): Pod {
  const volumeMounts = [{ name: "data", mountPath: "/data", ...mount }];
  const pod = podOf([{ name: "data", persistentVolumeClaim: { claimName: "data" } }], { volumeMounts }, spec);
  return { ...pod, metadata: { ...pod.metadata, uid, name: `web-${uid}` } };
}

async function mountOf(rig: VolumeRig, pod: Pod): Promise<unknown> {
  const [mount] = await rig.manager.mounts(pod, containerOf(pod), { environment: [] }, never);
  return mount;
}

function ref(uid: string): { namespace: string; name: string; uid: string } {
  return { namespace: "default", name: `web-${uid}`, uid };
}

test("a local volume is mounted from its own path, whatever the policy allows pods to name, and stays when its pod is removed", async () => {
  await using folder = await tempFolder();
  await using rig = await rigOf();
  rig.resolved.bind("data", claimOn({ kind: "local", path: folder.path }));
  await writeFile(join(folder.path, "file"), "kept");

  expect(await mountOf(rig, claimant())).toMatchObject({ hostPath: folder.path, containerPath: "/data", isReadOnly: false });
  expect(await readdir(join(rig.root, "pods/u1/volumes/kubernetes.io~local-volume"))).toEqual(["pv-1"]);
  await rig.manager.release(ref("u1"), never);

  expect(await readdir(folder.path)).toEqual(["file"]);
  expect(await readdir(join(rig.root, "pods"))).toEqual([]);
});

test.for([
  ["does not exist", "missing", 'MountVolume.NewMounter initialization failed for volume "pv-1" : path "FOLDER/missing" does not exist'],
  ["is a file", "file", 'MountVolume.NewMounter initialization failed for volume "pv-1" : path "FOLDER/file" is not a directory'],
] as const)("a local volume whose path %s is refused in a kubelet's words", async ([, name, message]) => {
  await using folder = await tempFolder();
  await using rig = await rigOf();
  await writeFile(join(folder.path, "file"), "");
  rig.resolved.bind("data", claimOn({ kind: "local", path: join(folder.path, name) }));

  const expected = message.replace("FOLDER", folder.path);
  await expect(rig.manager.prepare(claimant(), never)).rejects.toMatchObject({
    message: expect.stringContaining(expected),
    waitingReason: "ContainerCreating",
  });
  expect(rig.events).toEqual([{ type: "Warning", reason: "FailedMount", message: expect.stringContaining(expected) }]);
  expect(await readdir(join(rig.root, "pods/u1"))).toEqual([]);
});

test("a hostPath volume is checked and created according to its type", async () => {
  await using folder = await tempFolder();
  await using rig = await rigOf();
  const path = join(folder.path, "made/by/claim");

  rig.resolved.bind("data", claimOn({ kind: "hostPath", path, type: "Directory" }));
  await expect(rig.manager.prepare(claimant(), never)).rejects.toThrow(
    `MountVolume.SetUp failed for volume "pv-1" : hostPath type check failed: ${path} is not a directory`,
  );
  rig.resolved.bind("data", claimOn({ kind: "hostPath", path, type: "DirectoryOrCreate" }));
  expect(await mountOf(rig, claimant())).toMatchObject({ hostPath: path });
  expect((await stat(path)).mode & 0o777).toBe(0o755);
});

test("a volume that is claimed read-only is read-only in every container", async () => {
  await using folder = await tempFolder();
  await using rig = await rigOf();
  rig.resolved.bind("data", claimOn({ kind: "local", path: folder.path }, { isReadOnly: true }));

  expect(await mountOf(rig, claimant("u1", {}, { securityContext: { fsGroup: 4321 } }))).toMatchObject({ isReadOnly: true });
  expect((await stat(folder.path)).gid).not.toBe(4321);
});

test.for<[string, ClaimedVolume, string]>([
  [
    "CSI",
    claimOn({ kind: "other", type: "csi", driver: "ebs.csi.aws.com" }),
    "is of type csi with driver ebs.csi.aws.com, which is not supported, expected hostPath, local or nfs",
  ],
  ["iSCSI", claimOn({ kind: "other", type: "iscsi", driver: undefined }), "is of type iscsi, which is not supported"],
  [
    "a driver",
    claimOn({ kind: "flexVolume", driver: "example.com/disk", options: {} }),
    "is of type flexVolume with driver example.com/disk",
  ],
  ["NFS without the permission to mount", claimOn({ kind: "nfs", server: "s", path: "/" }), "run it as root with CAP_SYS_ADMIN"],
  [
    "local with options",
    claimOn({ kind: "local", path: "/tmp" }, { mountOptions: ["noexec"] }),
    "mount options of local volumes are not supported, got noexec",
  ],
])("a volume of %s is refused with a reason", async ([, claimed, message]) => {
  await using rig = await rigOf();
  rig.resolved.bind("data", claimed);

  await expect(rig.manager.prepare(claimant(), never)).rejects.toMatchObject({
    code: "VK_UNSUPPORTED",
    message: expect.stringContaining(message),
  });
});

test("mount options of a hostPath volume are refused as by a kubelet", async () => {
  await using rig = await rigOf();
  rig.resolved.bind("data", claimOn({ kind: "hostPath", path: "/tmp", type: "" }, { mountOptions: ["noatime"] }));

  await expect(rig.manager.prepare(claimant(), never)).rejects.toThrow(
    'MountVolume.MountOptionSupport check failed for volume "pv-1" : mount options are not supported for this volume type',
  );
});

test("a volume for a single pod is refused to a second one while the first uses it, even after a restart of the program", async () => {
  await using folder = await tempFolder();
  await using rig = await rigOf();
  const once = claimOn({ kind: "local", path: folder.path }, { accessModes: ["ReadWriteOncePod"] });
  rig.resolved.bind("data", once);
  await rig.manager.prepare(claimant("u1"), never);
  const refusal =
    'MountVolume.SetUp failed for volume "pv-1" : volume uses the ReadWriteOncePod access mode and is already in use by another pod';

  await expect(rig.manager.prepare(claimant("u2"), never)).rejects.toThrow(refusal);
  await rig.restart();
  await expect(rig.manager.prepare(claimant("u2"), never)).rejects.toThrow(refusal);
  await rig.manager.prepare(claimant("u1"), never);
  await rig.manager.release(ref("u1"), never);
  await rig.manager.prepare(claimant("u2"), never);

  rig.resolved.bind("data", { ...once, accessModes: ["ReadWriteOncePod", "ReadWriteMany"] });
  await rig.manager.prepare(claimant("u3"), never);
});

test("two pods that request such a volume at the same time get it one after the other", async () => {
  await using folder = await tempFolder();
  await using rig = await rigOf();
  rig.resolved.bind("data", claimOn({ kind: "local", path: folder.path }, { accessModes: ["ReadWriteOncePod"] }));

  const outcomes = await Promise.allSettled(["u1", "u2", "u3"].map((uid) => rig.manager.prepare(claimant(uid), never)));

  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
});

/** A folder with a file, a folder and a link to a file outside of it. */
async function filled(folder: TempFolder): Promise<string> {
  const volume = await mkdtemp(join(folder.path, "volume-"));
  await mkdir(join(volume, "dir"), { mode: 0o700 });
  await writeFile(join(volume, "dir/file"), "", { mode: 0o600 });
  await writeFile(join(folder.path, "outside"), "", { mode: 0o600 });
  await symlink(join(folder.path, "outside"), join(volume, "link"));
  return volume;
}

const owner = async (path: string): Promise<string> => {
  const { gid, mode } = await lstat(path);
  return `${gid} ${(mode & 0o7777).toString(8)}`;
};

const group = { securityContext: { fsGroup: 4321 } };

test("a local volume is given to the group of its first pod, and to no other group while that pod uses it", async () => {
  await using folder = await tempFolder();
  await using rig = await rigOf();
  const path = await filled(folder);
  rig.resolved.bind("data", claimOn({ kind: "local", path }));

  await rig.manager.prepare(claimant("u1", {}, group), never);

  expect(await owner(path)).toBe("4321 2770");
  expect(await owner(join(path, "dir"))).toBe("4321 2770");
  expect(await owner(join(path, "dir/file"))).toBe("4321 660");
  expect((await lstat(join(path, "link"))).gid).toBe(4321);
  expect(await owner(join(folder.path, "outside"))).toBe(`${process.getgid?.()} 600`);
  await chown(join(path, "dir/file"), 0, 0);
  await (await rig.restart()).prepare(claimant("u1", {}, group), never);
  await rig.manager.prepare(claimant("u2", {}, { securityContext: { fsGroup: 1234 } }), never);
  expect([await owner(path), await owner(join(path, "dir/file"))]).toEqual(["4321 2770", "0 660"]);
  expect(rig.events).toEqual([
    {
      type: "Warning",
      reason: "AlreadyMountedVolume",
      message: "The requested fsGroup is 1234, but the volume pv-1 has GID 4321. The volume may not be shareable.",
    },
  ]);
});

test("with OnRootMismatch only a volume whose folder does not belong to the group is changed", async () => {
  await using folder = await tempFolder();
  await using rig = await rigOf();
  const path = await filled(folder);
  rig.resolved.bind("data", claimOn({ kind: "local", path }));
  const context = { securityContext: { fsGroup: 4321, fsGroupChangePolicy: "OnRootMismatch" } };

  await chown(path, -1, 4321);
  await chmod(path, 0o2770);
  await rig.manager.prepare(claimant("u1", {}, context), never);
  expect((await lstat(join(path, "dir/file"))).gid).not.toBe(4321);
  await rig.manager.release(ref("u1"), never);
  await chmod(path, 0o770);
  await rig.manager.prepare(claimant("u2", {}, context), never);

  expect(await owner(join(path, "dir/file"))).toBe("4321 660");
});

test("an NFS export is mounted once for each pod, and unmounted before anything is removed", async () => {
  const said: string[] = [];
  const table: MountPoint[] = [];
  const mounts: HostMounts = {
    ...systemMounts,
    list: async () => table,
    mountTmpfs: async (path) => void table.push({ path, fileSystem: "tmpfs" }),
    mountNfs: async (source, path, options) => {
      said.push(`mount ${options.join(",")} ${source}`);
      await writeFile(join(path, "of the server"), "");
      table.push({ path, fileSystem: "nfs4" });
    },
    unmount: async (path) => {
      if (path.includes("/pods/")) said.push(`unmount ${path.slice(path.indexOf("/pods/"))}`);
      table.splice(
        table.findIndex((mount) => mount.path === path),
        1,
      );
    },
  };
  await using rig = await rigOf({ isMountSeen: true, mounts });
  const more = { mountOptions: ["hard", "nfsvers=4.2"], isReadOnly: true };
  rig.resolved.bind("data", claimOn({ kind: "nfs", server: "fd00::1", path: "/exports" }, more));

  const hostPath = join(rig.root, "pods/u1/volumes/kubernetes.io~nfs/pv-1");
  expect(await mountOf(rig, claimant("u1", {}, group))).toMatchObject({ hostPath, isReadOnly: true });
  await (await rig.restart()).prepare(claimant(), never);
  await rig.manager.release(ref("u1"), never);

  expect(said).toEqual(["mount hard,nfsvers=4.2,ro [fd00::1]:/exports", "unmount /pods/u1/volumes/kubernetes.io~nfs/pv-1"]);
});

test("if the NFS server does not answer, no folder records a use of the volume", async () => {
  const mounts: HostMounts = {
    ...systemMounts,
    list: async () => [],
    mountTmpfs: async () => {},
    mountNfs: () => Promise.reject(new Error("mount s:/ at TARGET: Connection timed out")),
  };
  await using rig = await rigOf({ isMountSeen: true, mounts });
  rig.resolved.bind("data", claimOn({ kind: "nfs", server: "s", path: "/" }, { accessModes: ["ReadWriteOncePod"] }));

  for (const uid of ["u1", "u2"])
    await expect(rig.manager.prepare(claimant(uid), never)).rejects.toThrow(
      'MountVolume.SetUp failed for volume "pv-1" : mount s:/ at TARGET',
    );
});
