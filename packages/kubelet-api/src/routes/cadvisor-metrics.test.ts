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

test("values that were not measured are left out", () => {
  const families = cadvisorMetrics({ node: { nodeName: "n1", startTime: time }, pods: [{ podRef, startTime: time, containers: [] }] }, [
    pod,
  ]);

  expect(families.map(({ name }) => name)).toEqual(["container_start_time_seconds", "container_scrape_error"]);
});

const stamp = Date.parse(time);
const nodeLabels = { container: "", id: "/", image: "", name: "", namespace: "", pod: "" };
const podLabels = { ...nodeLabels, id: "/kubepods/podu1", namespace: "default", pod: "web" };
const mainLabels = { ...podLabels, container: "main", id: "/kubepods/podu1/main", image: "busybox" };

test("every value has its own metric family, with cAdvisor's name and help text", () => {
  const memory = { time, usageBytes: 1, workingSetBytes: 2, rssBytes: 3, pageFaults: 4, majorPageFaults: 5 };
  const cpu = { time, usageCoreNanoSeconds: 6_000_000_000 };
  const rootfs = { time, usedBytes: 7, capacityBytes: 8, inodesFree: 9, inodes: 10 };
  const network = { time, name: "eth0", rxBytes: 11, rxErrors: 12, txBytes: 13, txErrors: 14 };
  const containers = [{ name: "main", startTime: time, cpu, memory, rootfs, swap: { time, swapUsageBytes: 15 } }];

  const families = cadvisorMetrics(
    {
      node: { nodeName: "n1", startTime: "" },
      pods: [{ podRef, startTime: "", network, process_stats: { process_count: 16 }, cpu: { time }, containers }],
    },
    [pod],
  );

  const on = (labels: object, value: number, more: object = {}): object => ({ labels: { ...labels, ...more }, value, timestampMs: stamp });
  const device = { device: "" };
  const ofPod = { interface: "eth0" };
  expect(families.map(({ name, type, samples }) => [name, type, samples])).toEqual([
    ["container_cpu_usage_seconds_total", "counter", [on(mainLabels, 6, { cpu: "total" })]],
    ["container_memory_usage_bytes", "gauge", [on(mainLabels, 1)]],
    ["container_memory_working_set_bytes", "gauge", [on(mainLabels, 2)]],
    ["container_memory_rss", "gauge", [on(mainLabels, 3)]],
    ["container_memory_swap", "gauge", [on(mainLabels, 15)]],
    [
      "container_memory_failures_total",
      "counter",
      [
        on(mainLabels, 4, { failure_type: "pgfault", scope: "container" }),
        on(mainLabels, 5, { failure_type: "pgmajfault", scope: "container" }),
      ],
    ],
    ["container_start_time_seconds", "gauge", [{ labels: mainLabels, value: stamp / 1000 }]],
    ["container_last_seen", "gauge", [on(podLabels, stamp / 1000), on(mainLabels, stamp / 1000)]],
    ["container_fs_usage_bytes", "gauge", [on(mainLabels, 7, device)]],
    ["container_fs_limit_bytes", "gauge", [on(mainLabels, 8, device)]],
    ["container_fs_inodes_free", "gauge", [on(mainLabels, 9, device)]],
    ["container_fs_inodes_total", "gauge", [on(mainLabels, 10, device)]],
    ["container_network_receive_bytes_total", "counter", [on(podLabels, 11, ofPod)]],
    ["container_network_receive_errors_total", "counter", [on(podLabels, 12, ofPod)]],
    ["container_network_transmit_bytes_total", "counter", [on(podLabels, 13, ofPod)]],
    ["container_network_transmit_errors_total", "counter", [on(podLabels, 14, ofPod)]],
    ["container_processes", "gauge", [on(podLabels, 16)]],
    ["container_scrape_error", "gauge", [{ value: 0 }]],
  ]);
});

test("the node has its own values, with traffic for each of its interfaces", () => {
  const network = { time, name: "eth0", rxBytes: 1, interfaces: [{ name: "eth1", rxBytes: 2 }, { rxBytes: 3 }, { name: "eth3" }] };
  const memory = { time: "2026-03-01T10:00:00.900Z", usageBytes: 4 };

  const families = cadvisorMetrics({ node: { nodeName: "n1", startTime: time, network, memory }, pods: [] }, []);

  const samples = new Map(families.map((family) => [family.name, family.samples]));
  expect(samples.get("container_network_receive_bytes_total")).toEqual([
    { labels: { ...nodeLabels, interface: "eth1" }, value: 2, timestampMs: stamp },
    { labels: { ...nodeLabels, interface: "" }, value: 3, timestampMs: stamp },
  ]);
  expect(samples.get("container_last_seen")).toEqual([{ labels: nodeLabels, value: stamp / 1000, timestampMs: stamp + 900 }]);
  expect(samples.get("container_start_time_seconds")).toEqual([{ labels: nodeLabels, value: stamp / 1000 }]);
});

test("an unreadable timestamp is left out, and so is a start time of 1970", () => {
  const families = cadvisorMetrics(
    { node: { nodeName: "n1", startTime: "1970-01-01T00:00:00Z", cpu: { time: "soon", usageCoreNanoSeconds: 0 } }, pods: [] },
    [],
  );

  expect(families.map(({ name, samples }) => [name, samples])).toEqual([
    ["container_cpu_usage_seconds_total", [{ labels: { ...nodeLabels, cpu: "total" }, value: 0 }]],
    ["container_scrape_error", [{ value: 0 }]],
  ]);
});

test("a container of a pod that the node does not know has only its name", () => {
  const containers = [{ name: "main", startTime: time }];

  const [family] = cadvisorMetrics({ node: { nodeName: "n1", startTime: "" }, pods: [{ podRef, startTime: "", containers }] }, []);

  expect(family?.samples).toEqual([{ labels: { ...mainLabels, image: "" }, value: stamp / 1000 }]);
});

test("an incomplete summary sets the scrape error", () => {
  const families = cadvisorMetrics({ node: { nodeName: "n1", startTime: "" }, pods: [], incomplete: "the measurement is in progress" }, []);

  expect(families).toMatchObject([{ name: "container_scrape_error", samples: [{ value: 1 }] }]);
});

/** Values of a control group, all different. */
const cgroup = {
  time,
  path: "/vkpods/burstable/podu1/abc",
  cpuUserNanoSeconds: 1e9,
  cpuSystemNanoSeconds: 2e9,
  cpuPeriods: 3,
  cpuThrottledPeriods: 4,
  cpuThrottledNanoSeconds: 5e9,
  memoryCacheBytes: 6,
  memoryMappedFileBytes: 7,
  memoryKernelBytes: 8,
  memoryMaxUsageBytes: 9,
  memoryActiveFileBytes: 10,
  memoryInactiveFileBytes: 11,
  memoryLimitHits: 12,
  oomKills: 13,
  processes: 14,
  threads: 15,
  disks: [{ device: "/dev/sda", readBytes: 16, writtenBytes: 17, reads: 18, writes: 19 }],
  cpuShares: 20,
  cpuPeriodMicros: 100_000,
  cpuQuotaMicros: 21,
  memoryLimitBytes: 22,
};
const psi = { full: { total: 1e6, avg10: 0, avg60: 0, avg300: 0 }, some: { total: 2e6, avg10: 0, avg60: 0, avg300: 0 } };

/** Values of the families that have samples, by name. */
function valuesOf(summary: Parameters<typeof cadvisorMetrics>[0]): Readonly<Record<string, unknown>> {
  const families = cadvisorMetrics(summary, [pod]);
  return Object.fromEntries(families.map(({ name, samples }) => [name, samples.map(({ value }) => value)]));
}

test("the values of a control group are shown, limits have no timestamp, and the group's path is the id", () => {
  const container = { name: "main", startTime: "", cpu: { time, psi }, memory: { time, psi }, io: { time, psi }, cgroup };
  const summary = { node: { nodeName: "n1", startTime: "" }, pods: [{ podRef, startTime: "", containers: [container] }] };

  expect(valuesOf(summary)).toEqual({
    container_last_seen: [stamp / 1000],
    container_cpu_user_seconds_total: [1],
    container_cpu_system_seconds_total: [2],
    container_cpu_cfs_periods_total: [3],
    container_cpu_cfs_throttled_periods_total: [4],
    container_cpu_cfs_throttled_seconds_total: [5],
    container_memory_cache: [6],
    container_memory_mapped_file: [7],
    container_memory_kernel_usage: [8],
    container_memory_max_usage_bytes: [9],
    container_memory_total_active_file_bytes: [10],
    container_memory_total_inactive_file_bytes: [11],
    container_memory_failcnt: [12],
    container_oom_events_total: [13],
    container_processes: [14],
    container_threads: [15],
    container_threads_max: [0],
    container_fs_reads_bytes_total: [16],
    container_fs_writes_bytes_total: [17],
    container_fs_reads_total: [18],
    container_fs_writes_total: [19],
    container_spec_cpu_shares: [20],
    container_spec_cpu_period: [100_000],
    container_spec_cpu_quota: [21],
    container_spec_memory_limit_bytes: [22],
    container_spec_memory_swap_limit_bytes: [0],
    container_spec_memory_reservation_limit_bytes: [0],
    container_pressure_cpu_stalled_seconds_total: [1],
    container_pressure_cpu_waiting_seconds_total: [2],
    container_pressure_memory_stalled_seconds_total: [1],
    container_pressure_memory_waiting_seconds_total: [2],
    container_pressure_io_stalled_seconds_total: [1],
    container_pressure_io_waiting_seconds_total: [2],
    container_scrape_error: [0],
  });
  const families = cadvisorMetrics(summary, [pod]);
  const of = (name: string): unknown => families.find((family) => family.name === name)?.samples[0];
  const labels = { ...mainLabels, id: cgroup.path };
  expect(of("container_spec_cpu_quota")).toEqual({ labels, value: 21 });
  expect(of("container_fs_reads_total")).toEqual({ labels: { ...labels, device: "/dev/sda" }, value: 18, timestampMs: stamp });
});

test("a container without a CPU quota has no throttling metrics", () => {
  const { cpuQuotaMicros: _, ...unlimited } = cgroup;
  const names = Object.keys(
    valuesOf({
      node: { nodeName: "n1", startTime: "" },
      pods: [{ podRef, startTime: "", containers: [{ name: "main", startTime: "", cgroup: unlimited }] }],
    }),
  );

  expect(names.filter((name) => /cfs|quota/.test(name))).toEqual([]);
  expect(names).toContain("container_spec_cpu_period");
});

test("packets are counted per interface", () => {
  const network = { time, name: "eth0", rxBytes: 1, rxPackets: 2, rxDropped: 3, txPackets: 4, txDropped: 5 };

  expect(valuesOf({ node: { nodeName: "n1", startTime: "", network }, pods: [] })).toMatchObject({
    container_network_receive_packets_total: [2],
    container_network_receive_packets_dropped_total: [3],
    container_network_transmit_packets_total: [4],
    container_network_transmit_packets_dropped_total: [5],
  });
});

test("the machine is shown with its IDs", () => {
  const ids = { machineID: "m", systemUUID: "s", bootID: "b" };
  const machine = {
    time,
    ...ids,
    kernelVersion: "6.1",
    osVersion: "Debian",
    cores: 4,
    physicalCores: 2,
    sockets: 1,
    memoryBytes: 7,
    swapBytes: 0,
  };

  const families = cadvisorMetrics({ node: { nodeName: "n1", startTime: "", machine }, pods: [] }, []);

  const labels = { machine_id: "m", system_uuid: "s", boot_id: "b" };
  const version = { kernelVersion: "6.1", osVersion: "Debian", dockerVersion: "", cadvisorVersion: "", cadvisorRevision: "" };
  expect(families.slice(1).map(({ name, samples }) => [name, samples])).toEqual([
    ["machine_cpu_cores", [{ labels, value: 4, timestampMs: stamp }]],
    ["machine_cpu_physical_cores", [{ labels, value: 2, timestampMs: stamp }]],
    ["machine_cpu_sockets", [{ labels, value: 1, timestampMs: stamp }]],
    ["machine_memory_bytes", [{ labels, value: 7, timestampMs: stamp }]],
    ["machine_swap_bytes", [{ labels, value: 0, timestampMs: stamp }]],
    ["machine_scrape_error", [{ value: 0 }]],
    ["cadvisor_version_info", [{ labels: version, value: 1 }]],
  ]);
});
