import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { hostMachine } from "./host-machine.ts";

const cpu = (processor: number, socket: number, core: number): string =>
  `processor\t: ${processor}\nmodel name\t: x\nphysical id\t: ${socket}\ncore id\t\t: ${core}\n`;

test("a machine has ids, cores on sockets, memory, swap and huge pages", async () => {
  await using folder = await tempFolder();
  const files = {
    "etc/machine-id": "m\n",
    "etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "sys/class/dmi/id/product_uuid": "s\n",
    "proc/sys/kernel/random/boot_id": "b\n",
    "proc/sys/kernel/osrelease": "6.1\n",
    "proc/sys/kernel/pid_max": "32768\n",
    "proc/sys/kernel/threads-max": "30000\n",
    "proc/cpuinfo": [cpu(0, 0, 0), cpu(1, 0, 0), cpu(2, 1, 0), cpu(3, 1, 0)].join("\n"),
    "proc/meminfo": "MemTotal:       16 kB\nSwapTotal:       8 kB\n",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "2\n",
    "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages": "0\n",
    "sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages": "1\n",
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder.path, path)), { recursive: true });
    await writeFile(join(folder.path, path), text);
  }

  expect(await hostMachine(folder.path)).toEqual({
    machineID: "m",
    systemUUID: "s",
    bootID: "b",
    kernelVersion: "6.1",
    osVersion: "Debian GNU/Linux 12 (bookworm)",
    cores: 4,
    physicalCores: 2,
    sockets: 2,
    memoryBytes: 16_384,
    swapBytes: 8192,
    hugePages: { "hugepages-1Gi": 0, "hugepages-2Mi": 4_194_304, "hugepages-64Ki": 65_536 },
    maxProcesses: 30_000,
  });
});

test("values that the machine does not report are empty or absent", async () => {
  await using folder = await tempFolder();

  expect(await hostMachine(folder.path)).toEqual({
    machineID: "",
    systemUUID: "",
    bootID: "",
    kernelVersion: "",
    osVersion: "",
    hugePages: {},
  });
});
