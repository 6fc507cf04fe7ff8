import { expect, test } from "vitest";
import { podWith } from "../test-support/pod-rig.ts";
import { nestedMountPoints } from "./nested-mount-points.ts";

const mounting = (name: string, mounts: Readonly<Record<string, string>>) => ({
  name,
  volumeMounts: Object.entries(mounts).map(([mountPath, volume]) => ({ name: volume, mountPath })),
});

test("a volume needs a folder for each mount directly inside it, but not for mounts inside those", () => {
  const pod = podWith({
    containers: [
      mounting("app", { "/etc/app": "outer", "/etc/app/b/c": "x", "/etc/app/b/c/d": "y", "/etc/app/a": "z", "/etc/application": "w" }),
    ],
  });

  expect(nestedMountPoints("outer", pod)).toEqual(["a", "b/c"]);
  expect(nestedMountPoints("x", pod)).toEqual(["d"]);
  expect(nestedMountPoints("w", pod)).toEqual([]);
});

test("mounts of all containers count, each within its own container, in any notation", () => {
  const pod = podWith({
    initContainers: [mounting("init", { "data/": "outer", "/data//one/": "x" })],
    containers: [mounting("app", { "/else": "outer", "/data/two": "x", "/else/./three": "y" }), { name: "plain" }],
    ephemeralContainers: [mounting("debug", { "/d": "outer", "/d/one": "x" })],
  });

  expect(nestedMountPoints("outer", pod)).toEqual(["one", "three"]);
});
