import { clusterTest } from "@virtual-kubelet/embedded-apiserver/vitest";
import { createKubeClient } from "@virtual-kubelet/kube-client";
import { StatusWrites } from "../support/status-writes.ts";

const test = clusterTest({ listen: false });

test("the status of a pod is accepted and needs no second patch, for arbitrary reports in any order", async ({ cluster }) => {
  await new StatusWrites(createKubeClient(cluster.transport()), "default").writeArbitrary();
});
