import { expect, test } from "vitest";
import { networkStatsOf, tryParseStats } from "./engine-stats.ts";

const hostMemoryBytes = 25_276_510_208;
const counters = { rx_bytes: 1000, rx_packets: 9, rx_errors: 1, rx_dropped: 0, tx_bytes: 500, tx_packets: 4, tx_errors: 2, tx_dropped: 0 };

/** As Docker 20.10 answers on control groups of version 1. */
const v1 = {
  read: "2026-11-21T07:20:44.810891687Z",
  preread: "0001-01-01T00:00:00Z",
  cpu_stats: { cpu_usage: { total_usage: 31_000_000 }, online_cpus: 2 },
  memory_stats: {
    usage: 5_000_000,
    limit: hostMemoryBytes,
    stats: { inactive_file: 1, total_inactive_file: 1_000_000, total_rss: 300_000, total_pgfault: 700, total_pgmajfault: 3, anon: 5 },
  },
  networks: { eth0: counters },
  pids_stats: { current: 4 },
};

const v2 = {
  ...v1,
  memory_stats: { usage: 5_000_000, limit: 64_000_000, stats: { inactive_file: 1_500_000, anon: 200_000, pgfault: 70, pgmajfault: 1 } },
};

test("memory is read from version 1 of control groups; the host's whole memory is no limit", () => {
  expect(tryParseStats(v1, { hostMemoryBytes })?.memory).toEqual({
    usageBytes: 5_000_000,
    workingSetBytes: 4_000_000,
    availableBytes: undefined,
    rssBytes: 300_000,
    pageFaults: 700,
    majorPageFaults: 3,
  });
});

test("memory is read from version 2 of control groups; what a limit leaves is available", () => {
  expect(tryParseStats(v2, { hostMemoryBytes })?.memory).toEqual({
    usageBytes: 5_000_000,
    workingSetBytes: 3_500_000,
    availableBytes: 60_500_000,
    rssBytes: 200_000,
    pageFaults: 70,
    majorPageFaults: 1,
  });
});

test("a container that does not run is not measured", () => {
  const stopped = {
    ...v1,
    read: "0001-01-01T00:00:00Z",
    cpu_stats: { cpu_usage: { total_usage: 0 } },
    memory_stats: {},
    networks: undefined,
  };

  expect(tryParseStats(stopped, { hostMemoryBytes })).toBeUndefined();
  expect(tryParseStats({ ...v1, memory_stats: {} }, { hostMemoryBytes })).toBeUndefined();
});

test("traffic is that of the first interface, and of all; none on the host's network", () => {
  const stats = tryParseStats({ ...v1, networks: { net1: { ...counters, rx_bytes: 7 }, eth0: counters } }, { hostMemoryBytes });
  const onHost = tryParseStats({ ...v1, networks: undefined }, { hostMemoryBytes });

  expect(stats && networkStatsOf(stats)).toMatchObject({ name: "eth0", rxBytes: 1000, rxErrors: 1, txBytes: 500, txErrors: 2 });
  expect(stats && networkStatsOf(stats)?.interfaces).toHaveLength(2);
  expect(onHost && networkStatsOf(onHost)).toBeUndefined();
});
