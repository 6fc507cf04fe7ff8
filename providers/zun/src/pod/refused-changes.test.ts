import type { Pod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import type { ObservedMember, ZunObject } from "../status/zun-object.ts";
import { refuseChange } from "./refused-changes.ts";

function memberOf(image: string): ObservedMember {
  return { uuid: image, image, status: "Running", reason: "", detail: "", taskState: "" };
}

const observed: ZunObject = {
  kind: "capsule",
  uuid: "u",
  name: "web",
  labels: {
    ref: { namespace: "shop", name: "web", uid: "1" },
    owner: { clusterId: "c1", nodeName: "n1" },
    containers: ["web", "side"],
    initContainers: ["setup"],
    restartPolicy: "Always",
    ownsPorts: false,
    securityGroups: [],
    floatingIp: undefined,
    attempt: 0,
  },
  status: "Running",
  reason: "",
  taskState: "",
  detail: "",
  addresses: {},
  createdAt: undefined,
  members: [memberOf("nginx:1.29"), memberOf("registry.example.com:5000/team/side")],
  initMembers: [memberOf("docker.io/library/busybox:latest")],
  interactive: false,
};

function podWith(web: string, side: string, setup: string): Pod {
  return {
    spec: {
      containers: [
        { name: "web", image: web },
        { name: "side", image: side },
      ],
      initContainers: [{ name: "setup", image: setup }],
    },
  };
}

test("images that are the same, in whichever words, are no change", () => {
  const same = podWith("nginx:1.29", "registry.example.com:5000/team/side:latest", "busybox");
  expect(() => refuseChange(observed, same)).not.toThrow();
  expect(() => refuseChange({ ...observed, members: [], initMembers: [] }, podWith("other", "other", "other"))).not.toThrow();
});

test.each([
  ["spec.containers[0].image", podWith("nginx:1.30", "registry.example.com:5000/team/side", "busybox")],
  ["spec.containers[1].image", podWith("nginx:1.29", "registry.example.com:5000/team/side:2", "busybox")],
  ["spec.initContainers[0].image", podWith("nginx:1.29", "registry.example.com:5000/team/side", "busybox:1.37")],
])("another %s is refused by its name", (fieldPath, pod) => {
  expect(() => refuseChange(observed, pod)).toThrow(
    expect.objectContaining({ code: "VK_UNSUPPORTED", fieldPath, message: expect.stringContaining(`${fieldPath}: Zun cannot take`) }),
  );
});
