import { eventually } from "@virtual-kubelet/testing";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sharedApi } from "./support/docker-engine.ts";
import { EmbeddedNode, patienceMs } from "./support/embedded-node.ts";
import { startPromtail, type PromtailLine } from "./support/promtail.ts";

const api = sharedApi();

test("Promtail finds the logs of a node's pods, across a restart of the container", async () => {
  const logs = mkdtempSync(join(tmpdir(), "vk-logs-"));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rmSync(logs, { recursive: true, force: true }));
  await using node = await EmbeddedNode.start(`vk-promtail-${process.pid}`, api, { log: { folder: logs, links: true } });
  await using promtail = await startPromtail(node.server, node.name, logs);
  // Promtail looks for new files every ten seconds, so the first start runs for longer. The second stays: a third would have its own file.
  const script = "echo out; echo err >&2; [ ! -e /once/over ] || exec sleep 3600; touch /once/over; sleep 30; exit 3";
  const volumeMounts = [{ name: "once", mountPath: "/once" }];
  const { metadata } = await node.create("writer", {
    volumes: [{ name: "once", emptyDir: {} }],
    containers: [{ name: "main", image: "busybox:1.37", imagePullPolicy: "Never", command: ["sh", "-c", script], volumeMounts }],
  });
  await node.running("writer", 1);

  const shipped = await eventually(
    async () => {
      const lines = await promtail.lines();
      expect(new Set(lines.map(({ labels }) => labels["filename"])).size, JSON.stringify(lines)).toBe(2);
      expect(lines).toHaveLength(4);
      return lines;
    },
    { timeoutMs: patienceMs, intervalMs: 500, describe: "the lines of both starts are shipped" },
  );

  const folder = `/var/log/pods/default_writer_${metadata?.uid ?? ""}/main`;
  const expected = [0, 1].flatMap((start) =>
    ["out", "err"].map((text) => ({
      labels: {
        container: "main",
        filename: `${folder}/${start}.log`,
        namespace: "default",
        node_name: node.name,
        pod: "writer",
        stream: text === "out" ? "stdout" : "stderr",
      },
      text,
    })),
  );
  expect(inOrder(shipped)).toMatchObject(inOrder(expected));
});

function inOrder(lines: readonly PromtailLine[]): PromtailLine[] {
  return lines.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
}
