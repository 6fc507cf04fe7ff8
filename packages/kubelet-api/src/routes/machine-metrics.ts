import type { MachineStats, MetricFamily } from "@virtual-kubelet/core";

/**
 * Description of the machine, with cAdvisor's metric names.
 *
 * Source: cadvisor v0.56.2 metrics/prometheus_machine.go, and collectVersionInfo of metrics/prometheus.go. The cAdvisor version is empty,
 * because this is not cAdvisor.
 */
export function machineMetrics(machine: MachineStats): readonly MetricFamily[] {
  const labels = { machine_id: machine.machineID, system_uuid: machine.systemUUID, boot_id: machine.bootID };
  const timestampMs = Date.parse(machine.time);
  const gauge = (name: string, help: string, value: number | undefined): readonly MetricFamily[] =>
    value === undefined ? [] : [{ name, help, type: "gauge", samples: [{ labels, value, timestampMs }] }];
  const version = {
    kernelVersion: machine.kernelVersion,
    osVersion: machine.osVersion,
    dockerVersion: "",
    cadvisorVersion: "",
    cadvisorRevision: "",
  };
  return [
    ...gauge("machine_cpu_cores", "Number of logical CPU cores.", machine.cores),
    ...gauge("machine_cpu_physical_cores", "Number of physical CPU cores.", machine.physicalCores),
    ...gauge("machine_cpu_sockets", "Number of CPU sockets.", machine.sockets),
    ...gauge("machine_memory_bytes", "Amount of memory installed on the machine.", machine.memoryBytes),
    ...gauge("machine_swap_bytes", "Amount of swap memory available on the machine.", machine.swapBytes),
    {
      name: "machine_scrape_error",
      help: "1 if there was an error while getting machine metrics, 0 otherwise.",
      type: "gauge",
      samples: [{ value: 0 }],
    },
    {
      name: "cadvisor_version_info",
      help: "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.",
      type: "gauge",
      samples: [{ labels: version, value: 1 }],
    },
  ];
}
