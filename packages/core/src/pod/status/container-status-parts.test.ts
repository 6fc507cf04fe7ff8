import type { Container, Pod } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { containerStatusParts, isForWindows, type SpecifiedContainer, type ContainerStatusParts } from "./container-status-parts.ts";

const container: Container = {
  name: "app",
  resources: { requests: { cpu: "1", "example.com/gpu": "2" }, claims: [{ name: "net" }, { name: "disk", request: "fast" }] },
};
const main: SpecifiedContainer = { kind: "main", container, isWindows: false };

/** Returns the fields as the API server gets them, and those that were left out. */
function read(status: object, spec: Partial<SpecifiedContainer> = {}): { parts: ContainerStatusParts; leftOut: readonly string[] } {
  const leftOut: string[] = [];
  const parts = containerStatusParts(status, { ...main, ...spec }, (field) => void leftOut.push(field));
  return { parts: JSON.parse(JSON.stringify(parts)) as ContainerStatusParts, leftOut };
}

describe("the status of allocated resources", () => {
  const field = "allocatedResourcesStatus";
  const resources = [{ resourceID: "one", health: "Healthy" }];

  test.each(["example.com/gpu", "cpu", "claim:net", "claim:disk/fast"])("of %s is kept, because the container has it", (name) => {
    expect(read({ [field]: [{ name, resources }] })).toEqual({ parts: { [field]: [{ name, resources }] }, leftOut: [] });
    expect(read({ [field]: [{ name, resources }] }, { kind: "init" }).leftOut).toEqual([]);
  });

  test.each(["example.com/other", "memory", "net", "claim:net/one", "claim:disk", "claim:", "", undefined, 5])(
    "of %j is left out, because the container has no such resource",
    (name) => {
      const kept = { name: "cpu", resources };

      expect(read({ [field]: [kept, { name, resources }] })).toEqual({ parts: { [field]: [kept] }, leftOut: [`${field}[1].name`] });
    },
  );

  test("is left out of an ephemeral container, which has no resources", () => {
    expect(read({ [field]: [{ name: "cpu", resources }] }, { kind: "ephemeral" })).toEqual({ parts: {}, leftOut: [`${field}[0]`] });
  });

  test.each([
    [{ resourceID: "two", health: "PermanentlyUnhealthy" }, "health"],
    [{ resourceID: "two", health: "" }, "health"],
    [{ resourceID: "two" }, "health"],
    [{ resourceID: "one", health: "Unknown" }, "resourceID"],
    [{ resourceID: "", health: "Unknown" }, "resourceID"],
    [{ health: "Unknown" }, "resourceID"],
  ])("has no device that is %j", (device, part) => {
    const status = read({ [field]: [{ name: "cpu", resources: [...resources, device] }] });

    expect(status).toEqual({ parts: { [field]: [{ name: "cpu", resources }] }, leftOut: [`${field}[0].resources[1].${part}`] });
  });

  test("has messages of at most 1024 bytes, and none that are empty", () => {
    const withMessages = ["é".repeat(600), ""].map((message, index) => ({ resourceID: `${index}`, health: "Unhealthy", message }));

    expect(read({ [field]: [{ name: "cpu", resources: withMessages }] }).parts).toEqual({
      [field]: [
        {
          name: "cpu",
          resources: [
            { resourceID: "0", health: "Unhealthy", message: "é".repeat(512) },
            { resourceID: "1", health: "Unhealthy" },
          ],
        },
      ],
    });
  });
});

describe("the user of a container", () => {
  const linux = { uid: 0, gid: 2 ** 31 - 1, supplementalGroups: [0, 10] };

  test("is kept with valid IDs", () => {
    expect(read({ user: { linux } })).toEqual({ parts: { user: { linux } }, leftOut: [] });
    expect(read({ user: { linux: { uid: 1, gid: 2, supplementalGroups: [] } } }).parts).toEqual({ user: { linux: { uid: 1, gid: 2 } } });
  });

  test.each([-1, 2 ** 31, 0.5, "0", undefined])("is left out with the ID %j", (id) => {
    expect(read({ user: { linux: { ...linux, uid: id } } })).toEqual({ parts: {}, leftOut: ["user.linux.uid"] });
    expect(read({ user: { linux: { ...linux, gid: id } } })).toEqual({ parts: {}, leftOut: ["user.linux.gid"] });
    expect(read({ user: { linux: { ...linux, supplementalGroups: [0, id] } } })).toEqual({
      parts: { user: { linux: { ...linux, supplementalGroups: [0] } } },
      leftOut: ["user.linux.supplementalGroups[1]"],
    });
  });

  test("of Linux is left out of a pod for Windows", () => {
    expect(read({ user: { linux } }, { isWindows: true })).toEqual({ parts: {}, leftOut: ["user.linux"] });
    expect(read({ user: {} }, { isWindows: true })).toEqual({ parts: {}, leftOut: [] });
  });

  test.each([
    ["windows", true],
    ["linux", false],
    [undefined, false],
  ])("is one of a pod for Windows if spec.os says %s: %s", (name, expected) => {
    const pod: Pod = { spec: { containers: [container], ...(name && { os: { name } }) } };

    expect([isForWindows(pod), isForWindows({})]).toEqual([expected, false]);
  });
});

describe("a mounted volume", () => {
  const mount = { name: "data", mountPath: "/data" };

  test("is kept with what is known of it, without what is empty or unknown to the API", () => {
    expect(read({ volumeMounts: [{ ...mount, readOnly: true, recursiveReadOnly: "Disabled" }] })).toEqual({
      parts: { volumeMounts: [{ ...mount, readOnly: true, recursiveReadOnly: "Disabled" }] },
      leftOut: [],
    });
    expect(read({ volumeMounts: [{ ...mount, readOnly: false, recursiveReadOnly: "", more: 1, volumeStatus: {} }] }).parts).toEqual({
      volumeMounts: [mount],
    });
    expect(
      read({ volumeMounts: [{ name: "data" }, { mountPath: "/data" }, { name: 5, mountPath: "/data" }, "data", mount] }).parts,
    ).toEqual({
      volumeMounts: [mount],
    });
  });

  test("of an image has the image's reference, unless that is longer than 256 bytes", () => {
    const ofImage = (imageRef: string): object => ({ volumeMounts: [{ ...mount, volumeStatus: { image: { imageRef } } }] });

    expect(read(ofImage("a".repeat(256)))).toEqual({ parts: ofImage("a".repeat(256)), leftOut: [] });
    expect(read(ofImage("")).parts).toEqual({ volumeMounts: [mount] });
    expect(read(ofImage("é".repeat(129)))).toEqual({
      parts: { volumeMounts: [mount] },
      leftOut: ["volumeMounts[0].volumeStatus.image.imageRef"],
    });
  });
});

test("fields of a wrong type are left out", () => {
  for (const value of [5, "text", [null], [[]], {}, true])
    expect(read({ allocatedResourcesStatus: value, volumeMounts: value, user: value }).parts).toEqual({});
});
