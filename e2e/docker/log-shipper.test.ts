import { resources } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { mkdtempSync, rmSync } from "node:fs";
import { readdir, readFile, readlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { sharedApi } from "./support/docker-engine.ts";
import { EmbeddedNode, patienceMs } from "./support/embedded-node.ts";
import { startCollector, type ShippedLine } from "./support/collector.ts";

const api = sharedApi();
const never = new AbortController().signal;

/**
 * Lines per round. With the engine's overhead one round is smaller than {@link maxSize} and two rounds are larger, so the shipper finds a
 * log before its rotation.
 */
const linesOfRound = 60;
const maxSize = "20k";

/** Script that writes a round of lines for each file that the test creates, and ends after the fourth round. */
const writer = `
for round in 1 2 3 4; do
  until [ -e /go/$round ]; do usleep 50000; done
  n=0; while [ $n -lt ${linesOfRound} ]; do echo "round $round line $n ${"x".repeat(80)}"; n=$((n+1)); done
  echo "end of round $round" >&2
done
rm /go/*
exit 3`;

function linesOf(round: number): string[] {
  return Array.from({ length: linesOfRound }, (_, line) => `round ${round} line ${line} ${"x".repeat(80)}`);
}

test("a log shipper with its stock configuration receives each line of the pods exactly once, across rotations and a restart", async () => {
  const go = mkdtempSync(join(tmpdir(), "vk-log-writer-"));
  const logs = mkdtempSync(join(tmpdir(), "vk-logs-"));
  await using cleanup = new AsyncDisposableStack();
  for (const folder of [go, logs]) cleanup.defer(() => rmSync(folder, { recursive: true, force: true }));
  const more = { policy: { hostPaths: [go] }, log: { folder: logs, links: true, maxSize, maxFiles: 5 } };
  await using node = await EmbeddedNode.start(`vk-shipper-${process.pid}`, api, more);
  await using shipper = await startCollector(logs);
  const { metadata } = await node.create("writer", {
    volumes: [{ name: "go", hostPath: { path: go } }],
    containers: [
      {
        name: "main",
        image: "busybox:1.37",
        imagePullPolicy: "Never",
        command: ["sh", "-c", writer],
        volumeMounts: [{ name: "go", mountPath: "/go" }],
      },
    ],
  });
  const of = (restarts: number): Omit<ShippedLine, "text" | "time"> => ({
    namespace: "default",
    pod: "writer",
    uid: metadata?.uid ?? "",
    container: "main",
    restarts: String(restarts),
    stream: "stdout",
  });

  /** Triggers a round, and waits until all lines so far are shipped. */
  const round = async (start: number, number: number): Promise<void> => {
    await writeFile(join(go, String(number)), "");
    const isOfStart = ({ restarts }: ShippedLine): boolean => restarts === String(start);
    const expected = Array.from({ length: number }, (_, index) => linesOf(index + 1)).flat();
    await eventually(
      async () => {
        const shipped = (await shipper.lines()).filter(isOfStart);
        expect(shipped.filter(({ stream }) => stream === "stdout").map(({ text }) => text)).toEqual(expected);
        expect(
          shipped
            .filter(({ stream }) => stream === "stderr")
            .map(({ text }) => text)
            .at(-1),
        ).toBe(`end of round ${number}`);
      },
      { timeoutMs: patienceMs, intervalMs: 200, describe: `round ${number} of start ${start} is shipped` },
    );
  };

  await node.running("writer");
  for (const number of [1, 2, 3, 4]) await round(0, number);
  await node.running("writer", 1);
  await round(1, 1);

  const shipped = await shipper.lines();
  const names = shipped.filter(({ stream }) => stream === "stdout").map(({ text: _, time: __, ...source }) => source);
  expect(new Set(names.map((name) => JSON.stringify(name)))).toEqual(new Set([of(0), of(1)].map((name) => JSON.stringify(name))));
  // The times are those of the lines, not of their shipping.
  expect(shipped.every(({ time }) => BigInt(time) > 0n)).toBe(true);

  const [first = "", second = ""] = (await readdir(join(logs, "containers"))).toSorted();
  expect([first, second]).toEqual([
    expect.stringMatching(/^writer_default_main-[0-9a-f]{64}\.log$/),
    expect.stringMatching(/^writer_default_main-/),
  ]);
  const targets = await Promise.all([first, second].map((name) => readlink(join(logs, "containers", name))));
  const podFolder = join(logs, "pods", `default_writer_${metadata?.uid ?? ""}`);
  expect(targets.toSorted()).toEqual([0, 1].map((start) => join(podFolder, "main", `${start}.log`)));
  // The log of the first start was rotated, so the link points to the newest file. Docker keeps the earlier files, podman does not.
  const file = await readlink(join(podFolder, "main", "0.log"));
  const rotated = (await readdir(dirname(file))).filter((name) => name.startsWith(`${basename(file)}.`)).length;
  expect(rotated > 0).toBe(file.endsWith("-json.log"));
  // The engine determines the order of the two streams.
  expect(await readFile(join(podFolder, "main", "0.log"), "utf8")).toContain("round 4");

  await node.client.delete(resources.pods, { namespace: "default", name: "writer" }, {}, { signal: never });
  await eventually(
    async () => {
      expect(await readdir(join(logs, "pods"))).toEqual([]);
      expect(await readdir(join(logs, "containers"))).toEqual([]);
    },
    { timeoutMs: patienceMs, describe: "the links are gone with the pod" },
  );
});
