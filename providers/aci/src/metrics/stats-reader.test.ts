import { VirtualClock } from "@virtual-kubelet/clock";
import type { Logger } from "@virtual-kubelet/core";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { RemoteTarget } from "@virtual-kubelet/remote-pods";
import { expect, test } from "vitest";
import type { MonitorAnswer } from "../azure/container-groups.ts";
import { groupSchema, type ContainerGroup } from "../azure/group-schema.ts";
import type { RealTimeAnswer } from "./real-time.ts";
import { StatsReader } from "./stats-reader.ts";

const { signal } = new AbortController();
const startTime = "2026-11-21T10:00:00Z";
const startMs = Date.parse("2026-11-21T10:05:00Z");

function targetOf(name: string, { state = "Running", extension = false } = {}): RemoteTarget<ContainerGroup> {
  const remote = groupSchema.parse({
    id: `/subscriptions/sub-1/resourceGroups/pods/providers/Microsoft.ContainerInstance/containerGroups/${name}`,
    name,
    properties: {
      containers: [{ name: "main", properties: { instanceView: { currentState: { state: "Running", startTime } } } }],
      ipAddress: { ip: `address-of-${name}` },
      instanceView: { state },
      ...(extension && { extensions: [{ properties: { extensionType: "realtime-metrics" } }] }),
    },
  });
  const owner = { clusterId: "c-1", nodeName: "aci-1" };
  return { id: name, identity: { ref: { namespace: "shop", name, uid: name }, owner, attempt: 0 }, remote };
}

interface Fixture {
  readonly clock: VirtualClock;
  readonly asked: string[];
  /** Thrown by each reading while it is set. */
  failure: Error | undefined;
  read(...targets: readonly RemoteTarget<ContainerGroup>[]): ReturnType<StatsReader["read"]>;
}

function start({ usesMonitor = true } = {}): Fixture {
  const clock = new VirtualClock(startMs);
  const logger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => logger };
  const asked: string[] = [];
  const note = (what: string): void => {
    asked.push(what);
    if (fixture.failure) throw fixture.failure;
  };
  const reader = new StatsReader({
    groups: {
      async metrics({ name, span }): Promise<MonitorAnswer> {
        note(`${name} ${span}`);
        const series = [{ metadatavalues: [{ value: "main" }], data: [{ timeStamp: "2026-11-21T10:03:00Z", average: asked.length }] }];
        return { value: ["CpuUsage", "MemoryUsage"].map((value) => ({ name: { value }, timeseries: series })) };
      },
    },
    async readRealTime(address): Promise<RealTimeAnswer> {
      note(address);
      return { timestamp: clock.now() * 1e6, containers: [{ name: "main", cpu: { usageCoreNanoSeconds: 1 } }] };
    },
    usesMonitor,
    clock,
    logger,
  });
  const fixture: Fixture = { clock, asked, failure: undefined, read: (...targets) => reader.read(targets, signal) };
  return fixture;
}

const memoryOf = ({ pods }: Awaited<ReturnType<Fixture["read"]>>): unknown[] =>
  pods.map(({ containers }) => containers[0]?.memory?.workingSetBytes);

test("Azure Monitor is read for the last ten minutes, and once a minute", async () => {
  const fixture = start();
  expect(memoryOf(await fixture.read(targetOf("web")))).toEqual([1]);
  await fixture.clock.advance(59_000);
  expect(memoryOf(await fixture.read(targetOf("web")))).toEqual([1]);
  await fixture.clock.advance(1_000);
  expect(memoryOf(await fixture.read(targetOf("web")))).toEqual([2]);

  expect(fixture.asked[0]).toBe("web 2026-11-21T09:55:00.000Z/2026-11-21T10:05:00.000Z");
  expect(fixture.asked).toHaveLength(2);
});

test("a pod with the extension is measured by it, every five seconds", async () => {
  const fixture = start();
  const web = targetOf("web", { extension: true });
  await fixture.read(web);
  await fixture.clock.advance(5_000);
  const { pods } = await fixture.read(web);

  expect(fixture.asked).toEqual(["address-of-web", "address-of-web"]);
  expect(pods[0]?.containers[0]?.cpu).toEqual({ time: "2026-11-21T10:05:05.000Z", usageCoreNanoSeconds: 1 });
});

test("a pod that cannot be measured keeps its figures", async () => {
  const fixture = start();
  await fixture.read(targetOf("web"));
  fixture.failure = new UnavailableError("no answer");
  await fixture.clock.advance(60_000);

  expect(memoryOf(await fixture.read(targetOf("web")))).toEqual([1]);
  expect(fixture.asked).toHaveLength(2);
});

test("pods that do not run, and pods without the extension where Azure Monitor is not used, have no figures", async () => {
  expect((await start().read(targetOf("web", { state: "Succeeded" }))).pods).toEqual([]);
  expect((await start({ usesMonitor: false }).read(targetOf("web"))).pods).toEqual([]);
});

test("one scrape reads Azure Monitor for forty pods, and the next one for the others", async () => {
  const fixture = start();
  const targets = Array.from({ length: 50 }, (_, index) => targetOf(`pod-${index}`));
  const first = await fixture.read(...targets);
  const second = await fixture.read(...targets);

  expect([first.pods.length, second.pods.length]).toEqual([40, 50]);
  expect([first.incomplete, second.incomplete]).toEqual([expect.stringContaining("10 pods"), undefined]);
});
