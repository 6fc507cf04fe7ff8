import { expect, test } from "vitest";
import { podWith } from "../test-support/pod-rig.ts";
import { usedVolumes, volumeSource, type Volume } from "./volume-source.ts";

test.for<[Omit<Volume, "name">, ReturnType<typeof volumeSource>]>([
  [{ emptyDir: {} }, { kind: "emptyDir", medium: "", sizeLimit: undefined }],
  [{ emptyDir: { medium: "Memory", sizeLimit: "1Mi" } }, { kind: "emptyDir", medium: "Memory", sizeLimit: "1Mi" }],
  [{ configMap: { name: "c" } }, { kind: "payload", folder: "kubernetes.io~configmap", isSecret: false }],
  [{ secret: { secretName: "s" } }, { kind: "payload", folder: "kubernetes.io~secret", isSecret: true }],
  [{ downwardAPI: {} }, { kind: "payload", folder: "kubernetes.io~downward-api", isSecret: true }],
  [{ projected: {} }, { kind: "payload", folder: "kubernetes.io~projected", isSecret: true }],
  [{ hostPath: { path: "/srv" } }, { kind: "hostPath", path: "/srv", type: "" }],
  [{ hostPath: { path: "/srv", type: "Directory" } }, { kind: "hostPath", path: "/srv", type: "Directory" }],
])("%j is %j", ([source, expected]) => {
  expect(volumeSource({ name: "data", ...source })).toEqual(expected);
});

test.for<[Omit<Volume, "name">, string]>([
  [{ nfs: { path: "/", server: "s" } }, "nfs"],
  [{}, "none"],
])("%j is not supported, and the error names the type %s", ([source, type]) => {
  expect(() => volumeSource({ name: "data", ...source })).toThrow(
    expect.objectContaining({
      code: "VK_UNSUPPORTED",
      fieldPath: `spec.volumes[*].${type}`,
      message: expect.stringContaining(`mount volume "data": type ${type} is not supported`),
    }),
  );
});

test("volumes that any container mounts are used; images are left to the runtime", () => {
  const mounting = (name: string): { name: string; volumeMounts: { name: string; mountPath: string }[] } => ({
    name,
    volumeMounts: [{ name, mountPath: "/" }],
  });
  const volumes = [
    ...["init", "main", "debug", "unused"].map((name) => ({ name, emptyDir: {} })),
    { name: "image", image: { reference: "i" } },
  ];
  const pod = podWith({
    volumes,
    initContainers: [mounting("init")],
    containers: [mounting("main"), mounting("image"), { name: "plain" }],
    ephemeralContainers: [mounting("debug")],
  });

  expect(usedVolumes(pod).map(({ name }) => name)).toEqual(["init", "main", "debug"]);
  expect(usedVolumes({})).toEqual([]);
});
