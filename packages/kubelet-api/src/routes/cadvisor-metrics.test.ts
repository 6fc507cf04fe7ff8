import { renderMetrics } from "@virtual-kubelet/metrics";
import { expect, test } from "vitest";
import { fakePod } from "../test-support/fake-node.ts";
import { cadvisorMetrics } from "./cadvisor-metrics.ts";

const time = "2026-03-01T10:00:00Z";
const pod = fakePod();
const podRef = { namespace: "default", name: "web", uid: "u1" };

test("containers, pods and the node have cAdvisor's labels", () => {
  const running = pod.status?.containerStatuses?.map((status) => ({ ...status, containerID: "docker://abc" }));
  const text = renderMetrics(
    cadvisorMetrics(
      {
        node: { nodeName: "n1", startTime: time, cpu: { time, usageCoreNanoSeconds: 5_000_000_000 } },
        pods: [
          {
            podRef,
            startTime: time,
            network: { time, interfaces: [{ name: "eth0", rxBytes: 7, txBytes: 8 }] },
            process_stats: { process_count: 3 },
            containers: [
              {
                name: "main",
                startTime: time,
                cpu: { time, usageCoreNanoSeconds: 1_500_000_000 },
                memory: { time, workingSetBytes: 10, usageBytes: 20, pageFaults: 4 },
                rootfs: { time, usedBytes: 30 },
              },
            ],
          },
        ],
      },
      [{ ...pod, status: { ...pod.status, containerStatuses: running } }],
    ),
  );

  const main = 'container="main",%id="/kubepods/podu1/abc",image="busybox",%name="abc",namespace="default",pod="web"';
  const labels = (more = "", id = ""): string => main.replace("%", more).replace("%", id);
  for (const line of [
    `container_cpu_usage_seconds_total{${labels('cpu="total",')}} 1.5 1772359200000`,
    `container_memory_working_set_bytes{${labels()}} 10 1772359200000`,
    `container_fs_usage_bytes{${labels('device="",')}} 30 1772359200000`,
    `container_start_time_seconds{${labels()}} 1772359200`,
    'container_cpu_usage_seconds_total{container="",cpu="total",id="/",image="",name="",namespace="",pod=""} 5 1772359200000',
    'container_network_receive_bytes_total{container="",id="/kubepods/podu1",image="",interface="eth0",name="",namespace="default",pod="web"} 7 1772359200000',
    "container_scrape_error 0",
  ])
    expect(text).toContain(`${line}\n`);
});

test("what was not measured is left out", () => {
  const families = cadvisorMetrics({ node: { nodeName: "n1", startTime: time }, pods: [{ podRef, startTime: time, containers: [] }] }, [
    pod,
  ]);

  expect(families.map(({ name }) => name)).toEqual(["container_start_time_seconds", "container_scrape_error"]);
});
