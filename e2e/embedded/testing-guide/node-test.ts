import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import assert from "node:assert/strict";
import { test } from "node:test";

test("a cluster for one test", async () => {
  await using cluster = await startApiServer();
  assert.match(cluster.kubeconfig(), /certificate-authority-data/);
});
