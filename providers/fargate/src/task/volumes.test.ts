import type { ClaimedVolume, Pod } from "@virtual-kubelet/core";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { configOf, identity, podOf, resolverOf, type Cluster } from "../test-support/pods.ts";
import { efsOfHandle } from "./efs-volumes.ts";
import { filesContainerOf } from "./files-container.ts";
import type { PodFile } from "./pod-files.ts";
import { taskOf, type TaskRequest } from "./task-of.ts";

type Spec = NonNullable<Pod["spec"]>;
type Volume = NonNullable<Spec["volumes"]>[number];

async function translate(
  volumes: Volume[],
  { cluster = {}, mount = {}, spec = {} }: { cluster?: Cluster; mount?: object; spec?: object } = {},
): Promise<TaskRequest> {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/mnt/${name}`, ...mount }));
  const pod = podOf({ containers: [{ name: "main", image: "i", volumeMounts }], volumes, ...spec });
  return taskOf(pod, resolverOf(pod, cluster), { config: configOf(), identity }, new AbortController().signal);
}

const claim = (source: ClaimedVolume["source"], isReadOnly = false): Cluster => ({
  claims: {
    data: { name: "pv-1", claim: { namespace: "shop", name: "data", uid: "u" }, source, accessModes: [], isReadOnly, mountOptions: [] },
  },
});
const claimed: Volume = { name: "data", persistentVolumeClaim: { claimName: "data" } };

test("an emptyDir is a folder of the task, which every user may write to", async () => {
  const { definition } = await translate([{ name: "scratch", emptyDir: {} }]);
  const [files, main] = definition.containerDefinitions ?? [];

  expect(definition.volumes).toEqual([{ name: "scratch", host: {} }]);
  expect(files).toMatchObject({ name: "vk-files", essential: false, user: "0" });
  expect(files?.environment).toContainEqual({ name: "VK_DIRS", value: "/vk/scratch" });
  expect(main).toMatchObject({
    dependsOn: [{ containerName: "vk-files", condition: "SUCCESS" }],
    mountPoints: [{ sourceVolume: "scratch", containerPath: "/mnt/scratch", readOnly: false }],
  });
});

test("files of a config map are part of the definition that replicas share, and are mounted read-only", async () => {
  const cluster = { volumes: { settings: { files: [{ path: "a/colour", mode: 0o644, content: Buffer.from("blue") }] } } };
  const { definition, run } = await translate([{ name: "settings", configMap: { name: "settings" } }], { cluster });
  const [files, main] = definition.containerDefinitions ?? [];

  expect(files?.environment).toEqual([
    { name: "VK_DIRS", value: "" },
    { name: "VK_FILES", value: "0 b 644 - /vk/settings/a/colour" },
    { name: "VK_F0", value: "Ymx1ZQ==" },
  ]);
  expect(main?.mountPoints).toEqual([{ sourceVolume: "settings", containerPath: "/mnt/settings", readOnly: true }]);
  expect(run.overrides).toBeUndefined();
});

test("files of the pod itself are part of its overrides", async () => {
  const cluster = { volumes: { info: { files: [{ path: "name", mode: 0o644, content: Buffer.from("web") }] } } };
  const { definition, run } = await translate([{ name: "info", downwardAPI: {} }], { cluster });

  expect(JSON.stringify(definition)).not.toContain("d2Vi");
  expect(run.overrides?.containerOverrides).toEqual([{ name: "vk-files", environment: [{ name: "VK_F0", value: "d2Vi" }] }]);
});

test("the service account's token is left out unless it is asked for", async () => {
  const { definition } = await translate([
    { name: "kube-api-access-abcde", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } },
  ]);

  expect(definition.volumes).toEqual([]);
  expect(definition.containerDefinitions?.map(({ name, mountPoints }) => ({ name, mountPoints }))).toEqual([
    { name: "main", mountPoints: undefined },
  ]);
});

test("the service account's token is given where it is asked for, in the task's overrides", async () => {
  const volume: Volume = { name: "kube-api-access-abcde", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } };
  const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
  const pod = podOf({ containers: [{ name: "main", image: "i", volumeMounts: [{ name: volume.name, mountPath }] }], volumes: [volume] });
  const cluster = {
    volumes: { [volume.name]: { files: [{ path: "token", mode: 0o600, uid: 1000, content: Buffer.from("secret-token") }] } },
  };
  const config = configOf({ plaintextSecrets: true, serviceAccountToken: true });
  const { definition, run } = await taskOf(pod, resolverOf(pod, cluster), { config, identity }, new AbortController().signal);

  expect(definition.containerDefinitions?.[0]?.environment).toContainEqual({
    name: "VK_FILES",
    value: `0 b 600 1000 /vk/${volume.name}/token`,
  });
  expect(definition.containerDefinitions?.[1]?.mountPoints).toEqual([
    { sourceVolume: volume.name, containerPath: mountPath, readOnly: true },
  ]);
  expect(run.overrides?.containerOverrides?.[0]?.environment).toEqual([
    { name: "VK_F0", value: Buffer.from("secret-token").toString("base64") },
  ]);
});

test("a volume that no container mounts is not made", async () => {
  expect(
    (await translate([{ name: "unused", emptyDir: {} }], { spec: { containers: [{ name: "main", image: "i" }] } })).definition.volumes,
  ).toEqual([]);
});

describe("Amazon EFS", () => {
  test.each<[string, ClaimedVolume["source"], object]>([
    ["a CSI volume", { kind: "other", type: "csi", driver: "efs.csi.aws.com", handle: "fs-1234" }, { fileSystemId: "fs-1234" }],
    [
      "a folder of a CSI volume",
      { kind: "other", type: "csi", driver: "efs.csi.aws.com", handle: "fs-1234:/data" },
      { fileSystemId: "fs-1234", rootDirectory: "/data" },
    ],
    [
      "an access point, which sets the folder itself",
      { kind: "other", type: "csi", driver: "efs.csi.aws.com", handle: "fs-1234:/data:fsap-5678" },
      { fileSystemId: "fs-1234", authorizationConfig: { accessPointId: "fsap-5678" } },
    ],
    ["an NFS volume of EFS", { kind: "nfs", server: "fs-1234.efs.eu-west-1.amazonaws.com", path: "/" }, { fileSystemId: "fs-1234" }],
  ])("of a claim is mounted, encrypted on the way: %s", async (_what, source, efs) => {
    const { definition } = await translate([claimed], { cluster: claim(source, true) });

    expect(definition.volumes).toEqual([{ name: "data", efsVolumeConfiguration: { transitEncryption: "ENABLED", ...efs } }]);
    expect(definition.containerDefinitions?.[0]?.mountPoints?.[0]).toMatchObject({ readOnly: true });
  });

  test("of a claim has a placeholder in a plan, which has no cluster", async () => {
    const volumeMounts = [{ name: "data", mountPath: "/data" }];
    const pod = podOf({ containers: [{ name: "main", image: "i", volumeMounts }], volumes: [claimed] });
    const { claimedVolume: _unknown, ...resolved } = resolverOf(pod);
    const { definition } = await taskOf(pod, resolved, { config: configOf(), identity }, new AbortController().signal);

    expect(definition.volumes?.[0]?.efsVolumeConfiguration?.fileSystemId).toBe("{file system of claim data}");
  });

  test("in the pod itself is mounted", async () => {
    const { definition } = await translate([{ name: "data", nfs: { server: "fs-12ab.efs.eu-west-1.amazonaws.com", path: "/shop" } }]);

    expect(definition.volumes?.[0]?.efsVolumeConfiguration).toMatchObject({ fileSystemId: "fs-12ab", rootDirectory: "/shop" });
  });

  test.each(["vol-1", "fs-", "fs-1:/a:ap-1", "fs-1:/a:fsap-1:x", ""])("is not what the handle %j names", (handle) => {
    expect(efsOfHandle(handle)).toBeUndefined();
  });
});

test.each<[string, Volume, Cluster, string]>([
  ["memory", { name: "data", emptyDir: { medium: "Memory" } }, {}, "spec.volumes[0].emptyDir.medium"],
  ["the machine", { name: "data", hostPath: { path: "/" } }, {}, "spec.volumes[0].hostPath"],
  ["another NFS server", { name: "data", nfs: { server: "nfs.example.com", path: "/" } }, {}, "spec.volumes[0].nfs"],
  [
    "a disk",
    claimed,
    claim({ kind: "other", type: "csi", driver: "ebs.csi.aws.com", handle: "vol-1" }),
    "spec.volumes[0].persistentVolumeClaim",
  ],
])("a volume on %s is refused by its field", async (_what, volume, cluster, fieldPath) => {
  await expect(translate([volume], { cluster })).rejects.toMatchObject({ code: "VK_UNSUPPORTED", fieldPath });
});

test("a sub-path is refused by its field", async () => {
  await expect(translate([{ name: "data", emptyDir: {} }], { mount: { subPath: "x" } })).rejects.toMatchObject({
    fieldPath: "spec.containers[0].volumeMounts[0].subPath",
  });
});

test("the files container writes what the pod asked for: content, folders and modes", () => {
  const folder = mkdtempSync(join(tmpdir(), "vk-files-"));
  try {
    const content = Buffer.from([0, 1, 2, 10, 255, 39, 36]);
    const files: PodFile[] = [
      { volume: "v", path: "deep/er/binary", mode: 0o640, source: { kind: "shared", content } },
      { volume: "v", path: "with space", mode: 0o400, source: { kind: "arn", valueFrom: "arn" } },
    ];
    const container = filesContainerOf({ files, emptyDirs: ["scratch"], fsGroup: undefined }, "busybox");
    const environment = [...(container?.definition.environment ?? []), { name: "VK_F1", value: "it's $HOME\nand more" }];
    const env = Object.fromEntries(environment.map(({ name = "", value = "" }) => [name, value.replaceAll("/vk/", `${folder}/`)]));
    mkdirSync(join(folder, "scratch"), { mode: 0o755 });

    execFileSync("sh", ["-c", container?.definition.command?.[0] ?? "exit 1"], { env: { PATH: "/usr/bin:/bin", ...env } });

    expect(readFileSync(join(folder, "v/deep/er/binary"))).toEqual(content);
    expect(statSync(join(folder, "v/deep/er/binary")).mode & 0o777).toBe(0o640);
    expect(readFileSync(join(folder, "v/with space"), "utf8")).toBe("it's $HOME\nand more");
    expect(statSync(join(folder, "v/with space")).mode & 0o777).toBe(0o400);
    expect(statSync(join(folder, "scratch")).mode & 0o777).toBe(0o777);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("in a pod with an fsGroup the group may read the files", () => {
  const files: PodFile[] = [{ volume: "v", path: "f", mode: 0o400, source: { kind: "arn", valueFrom: "arn" } }];

  expect(filesContainerOf({ files, emptyDirs: [], fsGroup: 2000 }, "busybox")?.definition.environment).toEqual([
    { name: "VK_DIRS", value: "" },
    { name: "VK_FILES", value: "0 r 440 - /vk/v/f" },
    { name: "VK_GROUP", value: "2000" },
  ]);
});
