import { systemClock } from "@virtual-kubelet/clock";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { NodeStatsReader, type FullStatsSummary } from "../../packages/metrics/src/index.ts";
import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { replaceRegion } from "../../tools/marked-region.ts";
import { controlGroupOf } from "./support/control-groups.ts";
import { sharedApi } from "./support/docker-engine.ts";
import { EmbeddedNode, patienceMs } from "./support/embedded-node.ts";
import { compareFigures, figureTable } from "./support/figure-table.ts";
import { readFigures, type ReadPod } from "./support/kernel-figures.ts";

const api = sharedApi();
const { signal } = new AbortController();
const page = join(import.meta.dirname, "../../docs/guides/docker.md");
const cgroupParent = `${controlGroupOf(inject("dockerHost"))}/figures`;

/** Maximum relative error of figures, because the kernel updates some of them in batches per CPU. */
const tolerance = 0.05;

let node: EmbeddedNode;

beforeAll(async () => {
  node = await EmbeddedNode.start("figures", api, { cgroupParent });
});

afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

/** Script that uses more CPU than its limit, and writes to its layer, its log, its volume and the network. */
const busy = `
head -c 3000000 /dev/zero > /tmp/layer; head -c 5000000 /dev/zero > /data/volume
seq 1 20000
wget -q -O - http://127.0.0.1:8080/nothing
echo all is written
while :; do :; done`;

test("figures of a pod under load agree with control groups, /proc and the engine", async () => {
  await node.create("web", {
    volumes: [{ name: "data", emptyDir: {} }],
    containers: [
      {
        name: "busy",
        image: "busybox:1.37",
        command: ["sh", "-c", busy],
        resources: { limits: { cpu: "200m", memory: "64Mi" } },
        volumeMounts: [{ name: "data", mountPath: "/data" }],
      },
      { name: "server", image: "busybox:1.37", command: ["httpd", "-f", "-p", "8080"] },
    ],
  });
  await node.running("web");
  const pod = await node.pod("web");
  // A request from outside causes traffic on the pod's interface.
  await fetch(`http://${pod.status?.podIP}:8080/`).catch(() => undefined);
  const read = await readPodOf(pod);
  // Sizes on disk that are measured while the container still writes would be kept for a minute. The last lines may be of the other stream.
  await eventually(
    async () => expect((await api.ask("GET", `/containers/${read.containerId}/logs?stdout=1&tail=9`)).body).toContain("all is written"),
    { timeoutMs: patienceMs },
  );
  const reader = new NodeStatsReader({
    nodeName: node.name,
    clock: systemClock,
    getStatsSummary: (inner) => node.access.getStatsSummary(inner),
  });
  // Sizes on disk are measured in the background.
  const isComplete = ({ node: { runtime }, pods: [shown] }: FullStatsSummary): boolean =>
    shown?.volume !== undefined &&
    runtime?.imageFs?.usedBytes !== undefined &&
    shown.containers.every(({ rootfs }) => rootfs !== undefined) &&
    (shown.containers[0]?.rootfs?.usedBytes ?? 0) >= 3_000_000;

  const { summary, before, after } = await eventually(
    async () => {
      const first = await readFigures(api, read);
      const measured = await reader.read(signal);
      const second = await readFigures(api, read);
      expect(isComplete(measured)).toBe(true);
      const ageMs = Date.now() - Date.parse(measured.pods[0]?.containers[0]?.cpu?.time ?? "");
      expect(ageMs, "a measurement between the two readings, none that was kept").toBeLessThan(5_000);
      expect(measured.pods[0]?.volume?.[0]?.usedBytes).toBeGreaterThan(4_000_000);
      return { summary: measured, before: first, after: second };
    },
    { timeoutMs: patienceMs, intervalMs: 2_000, describe: "all figures of the pod" },
  );

  const figures = compareFigures(summary, before, after);
  if (process.env["VK_TEST_WRITE_FIGURES"] === "1")
    await writeFile(page, replaceRegion(await readFile(page, "utf8"), "figures", figureTable(figures)));
  expect(figures.length).toBeGreaterThanOrEqual(40);
  expect(
    figures.filter(({ error }) => !(error <= tolerance)).map(({ name, before: low, value, after: high }) => ({ name, low, value, high })),
  ).toEqual([]);
});

test("a pod's CPU time keeps growing when one of its containers is replaced", async () => {
  await node.create("replaced", { containers: [{ name: "busy", image: "busybox:1.37", command: ["sh", "-c", "while :; do :; done"] }] });
  const { containerID = "" } = await node.running("replaced");
  const reader = new NodeStatsReader({
    nodeName: node.name,
    clock: systemClock,
    getStatsSummary: (inner) => node.access.getStatsSummary(inner),
  });
  const measure = async (): Promise<{ readonly pod: number; readonly container: number }> => {
    const pod = (await reader.read(signal)).pods.find(({ podRef }) => podRef.name === "replaced");
    return { pod: pod?.cpu?.usageCoreNanoSeconds ?? 0, container: pod?.containers[0]?.cpu?.usageCoreNanoSeconds ?? 0 };
  };
  const patience = { timeoutMs: patienceMs, intervalMs: 1_000 };
  const before = await eventually(async () => {
    const measured = await measure();
    expect(measured.container).toBeGreaterThan(2e9);
    return measured;
  }, patience);

  await api.ask("POST", `/containers/${containerID.replace("docker://", "")}/kill`);
  await node.running("replaced", 1);

  // The counter of the new container starts at 0.
  const after = await eventually(async () => {
    const measured = await measure();
    expect(measured.container).not.toBe(before.container);
    return measured;
  }, patience);
  expect(after.pod).toBeGreaterThan(before.pod);
  expect(after.pod).toBeGreaterThan(after.container + 2e9);
});

async function readPodOf(pod: Awaited<ReturnType<EmbeddedNode["pod"]>>): Promise<ReadPod> {
  const idOf = (name: string): string =>
    pod.status?.containerStatuses?.find((status) => status.name === name)?.containerID?.replace("docker://", "") ?? "";
  const inspected = (await api.json("GET", `/containers/${idOf("busy")}/json`)) as {
    readonly HostConfig: { readonly CgroupParent: string };
    readonly Mounts: readonly { readonly Source: string; readonly Destination: string }[];
  };
  const volume = inspected.Mounts.find(({ Destination }) => Destination === "/data")?.Source ?? "";
  return {
    containerId: idOf("busy"),
    otherId: idOf("server"),
    path: inspected.HostConfig.CgroupParent,
    prefix: cgroupParent,
    volume,
    rootDirectory: volume,
  };
}
