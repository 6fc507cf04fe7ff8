import { VirtualClock } from "@virtual-kubelet/clock";
import { noMetrics } from "@virtual-kubelet/kube-client";
import { NodeAccess } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { FakeApi } from "../test-support/fake-api.ts";
import { serveNode } from "./serve-node.ts";

const access = new NodeAccess({ nodeName: "n1", providerName: "mock", metrics: noMetrics });
const health = {
  ready: false,
  standingBy: false,
  providerUp: false,
  lastContactAgeMs: undefined,
  leaseAgeMs: undefined,
  pendingPods: 0,
  knownPods: 0,
};

test("a node that announces no port cannot be served, and the error says what to set", async () => {
  const node = { access, health, node: undefined, kubeletPort: 0 };

  await expect(serveNode(node, { client: new FakeApi().client, clock: new VirtualClock() })).rejects.toThrow(
    "serve node n1: its kubeletPort is 0, so nobody would call; set node.kubeletPort, such as 10250",
  );
});
