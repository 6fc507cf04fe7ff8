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
])("%s is pulled %s by default", ([image = "", policy]) => {
  expect(defaultPullPolicy(image)).toBe(policy);
});

test("only the volumes that a container mounts are its own, each once, and what the pod says of pulling counts", () => {
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

test("a runtime that cannot mount images is not given a pod that has some", () => {
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
])("%s is pulled %s", ([image = "", policy]) => {
  expect(defaultPullPolicy(image)).toBe(policy);
});

test("a container without mounts, or in a pod without volumes, has no image volumes; an empty policy is the default", () => {
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

test("a refusal names the volume and the runtime", () => {
  const pod = podWith({ volumes: [{ name: "data", image: { reference: "data:1" } }] });

  expect(() => checkImageVolumes(pod, { name: "fake", canMountImages: false })).toThrow(
    'mount volume "data": spec.volumes[0].image needs a runtime that mounts images, and fake does not',
  );
});
