import { eventually } from "@virtual-kubelet/testing";
import { expect, test } from "vitest";
import { Cluster, podTimeout } from "./support/cluster.ts";

test("the far cluster's scheduler places a pod on its node, which runs it and answers its API server", async () => {
  using far = Cluster.far("direct");
  await using _namespace = await far.createNamespace();
  const command = ["sh", "-c", "echo started; sleep 3600"];
  await far.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "direct" },
    spec: { containers: [{ name: "main", image: "busybox:1.37", command }], terminationGracePeriodSeconds: 1 },
  });

  await far.say(`wait pod/direct --for=condition=Ready ${podTimeout}`);

  // A container is running before it has written its output.
  await eventually(async () => expect(await far.say("logs direct")).toBe("started\n"), { timeoutMs: 120_000, intervalMs: 300 });
  expect(await far.say("exec direct -- hostname")).toBe("direct\n");
});
