import { expect, test } from "vitest";
import { podOf } from "../zun/support.ts";
import { openAci } from "./support/open-aci.ts";

test("without the realtime-metrics extension a pod's figures are Azure Monitor's, which are read once a minute", async () => {
  const script = (): object => ({ usage: { cpuNanosecondsPerSecond: 250_000_000, memoryBytes: 5_000 } });
  await using aci = await openAci({ config: { azureMonitorMetrics: true }, script });
  const pod = podOf({ containers: ["a", "b"].map((name) => ({ name, image: "nginx" })) });
  await aci.create(pod);
  await aci.untilPhase(pod, "Running");
  await aci.clock.advance(10_000);
  const { signal } = new AbortController();
  const figures = async (): Promise<unknown> => {
    const summary = aci.provider.getStatsSummary?.(signal);
    const result = await aci.settle(Promise.resolve(summary));
    if (result.status === "rejected") throw result.reason;
    return result.value?.pods.map(({ podRef, containers }) => [
      podRef.uid,
      containers.map(({ name, cpu, memory }) => [name, cpu?.usageNanoCores, memory?.workingSetBytes]),
    ]);
  };
  const wanted = [
    [
      pod.metadata?.uid,
      [
        ["a", 250_000_000, 5_000],
        ["b", 250_000_000, 5_000],
      ],
    ],
  ];
  const readings = (): number => aci.azure.count("metrics");

  expect([await figures(), readings()]).toEqual([wanted, 1]);
  expect([await figures(), readings()]).toEqual([wanted, 1]);
  await aci.clock.advance(60_000);
  expect([await figures(), readings()]).toEqual([wanted, 2]);
});
