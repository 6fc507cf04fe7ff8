import { expect, test } from "vitest";
import { checkImageVolumes, defaultPullPolicy, imageVolumesOf } from "./image-volumes.ts";
import { podWith } from "../test-support/pod-rig.ts";

test.for([
  ["app", "Always"],
  ["app:latest", "Always"],
  ["registry:5000/app", "Always"],
  ["app:1", "IfNotPresent"],
  ["registry:5000/team/app:1", "IfNotPresent"],
  [`app@sha256:${"0".repeat(64)}`, "IfNotPresent"],
  [`app:latest@sha256:${"0".repeat(64)}`, "Always"],
])("the default pull policy of %s is %s", ([image = "", policy]) => {
  expect(defaultPullPolicy(image)).toBe(policy);
});

test("a container's image volumes are those that it mounts, each once, with the pull policy of the spec", () => {
  const volumes = [
    { name: "unused", image: { reference: "unused:1" } },
    { name: "data", image: { reference: "data:1", pullPolicy: "Never" } },
    { name: "scratch", emptyDir: {} },
    { name: "model", image: { reference: "model" } },
  ];
  const volumeMounts = ["model", "scratch", "data", "data"].map((name, index) => ({ name, mountPath: `/${index}` }));

  expect(imageVolumesOf(podWith({ volumes }), { name: "app", volumeMounts })).toEqual([
    { name: "data", image: "data:1", pullPolicy: "Never" },
    { name: "model", image: "model", pullPolicy: "Always" },
  ]);
});

test("a runtime that cannot mount images refuses a pod with volumes of type image", () => {
  const pod = podWith({
    volumes: [
      { name: "scratch", emptyDir: {} },
      { name: "data", image: { reference: "data:1" } },
    ],
  });

  expect(() => checkImageVolumes(pod, { name: "fake", canMountImages: true })).not.toThrow();
  expect(() => checkImageVolumes(podWith({}), { name: "fake" })).not.toThrow();
  expect(() => checkImageVolumes(pod, { name: "fake" })).toThrow(
    expect.objectContaining({ code: "VK_UNSUPPORTED", fieldPath: "spec.volumes[1].image" }),
  );
});

test.for([
  ["app@sha256:abc", "IfNotPresent"],
  ["app:@sha256:abc", "IfNotPresent"],
  ["registry:5000/app@sha256:abc", "IfNotPresent"],
  ["registry/latest:2", "IfNotPresent"],
  ["registry:latest/app:2", "IfNotPresent"],
  ["a/b/app", "Always"],
  ["", "Always"],
])("the pull policy of %s is %s", ([image = "", policy]) => {
  expect(defaultPullPolicy(image)).toBe(policy);
});

test("without mounts or volumes there are no image volumes; an empty pull policy means the default", () => {
  const volumes = [{ name: "data", image: { reference: "data:1", pullPolicy: "" } }];
  const volumeMounts = [{ name: "data", mountPath: "/data" }];

  expect(imageVolumesOf(podWith({ volumes }), { name: "app" })).toEqual([]);
  expect(imageVolumesOf(podWith({}), { name: "app", volumeMounts })).toEqual([]);
  expect(imageVolumesOf(podWith({ volumes }), { name: "app", volumeMounts })).toEqual([
    { name: "data", image: "data:1", pullPolicy: "IfNotPresent" },
  ]);
  expect(imageVolumesOf(podWith({ volumes: [{ name: "data", image: {} }] }), { name: "app", volumeMounts })).toEqual([
    { name: "data", image: "", pullPolicy: "Always" },
  ]);
});

test("the error names the volume and the runtime", () => {
  const pod = podWith({ volumes: [{ name: "data", image: { reference: "data:1" } }] });

  expect(() => checkImageVolumes(pod, { name: "fake", canMountImages: false })).toThrow(
    'mount volume "data": spec.volumes[0].image needs a runtime that mounts images, and fake does not',
  );
});
