// Records what a real systemd answers to the commands of a node with the systemd driver, for the tests of packages/pod-runtime:
//   node tools/record-systemd/record.ts
// As root, on a machine with systemd's programs, util-linux and coreutils. See cage.sh, which keeps systemd from changing the machine.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../workspace.ts";

type Commands = readonly (readonly string[])[];

/** An answer of systemctl, and what holds after it. */
interface Answer {
  /** Arguments of systemctl; `@boot`, `@process` and `@end` are those of cage.sh. */
  readonly command: readonly string[];
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Paths of the cgroups of slices, except systemd's own. */
  readonly cgroups: readonly string[];
  /** Properties of the slice that the command names, as `systemctl show` prints them. */
  readonly shown?: Readonly<Record<string, string>>;
}

const slice = "vkpods-burstable-podu1.slice";
const boot: Commands = [["@boot"], ["show", "--property=Version"]];
const removal: Commands = [
  ["start", slice],
  ["stop", slice],
  ["revert", slice],
];

function set(name: string, ...properties: readonly string[]): readonly string[] {
  return ["set-property", "--runtime", name, ...properties];
}

/** A pod of 455 m CPU and 100 MiB that becomes one of 800 m and 50 MiB, and ends without a container. */
const pod = {
  1: [
    ...boot,
    set("vkpods.slice", "CPUShares=4096"),
    set("vkpods-burstable.slice", "CPUShares=2"),
    set(slice, "CPUShares=233", "CPUQuota=46%", "MemoryLimit=104857600"),
    set("vkpods-burstable.slice", "CPUShares=233"),
    set(slice, "CPUShares=409", "CPUQuota=80%"),
    set("vkpods-burstable.slice", "CPUShares=409"),
    set(slice, "CPUShares=409", "CPUQuota=80%", "MemoryLimit=52428800"),
    set("vkpods-burstable.slice", "CPUShares=409"),
    ...removal,
    set("vkpods-burstable.slice", "CPUShares=2"),
  ],
  2: [
    ...boot,
    set("vkpods.slice", "CPUWeight=157"),
    set("vkpods-burstable.slice", "CPUWeight=1"),
    set(slice, "CPUWeight=9", "CPUQuota=46%", "MemoryMax=104857600"),
    set("vkpods-burstable.slice", "CPUWeight=9"),
    set(slice, "CPUWeight=16", "CPUQuota=80%"),
    set("vkpods-burstable.slice", "CPUWeight=16"),
    set(slice, "CPUWeight=16", "CPUQuota=80%", "MemoryMax=52428800"),
    set("vkpods-burstable.slice", "CPUWeight=16"),
    ...removal,
    set("vkpods-burstable.slice", "CPUWeight=1"),
  ],
} as const satisfies Record<1 | 2, Commands>;

const scenarios: readonly { readonly name: string; readonly version: 1 | 2; readonly commands: Commands }[] = [
  { name: "not booted", version: 2, commands: [["show", "--property=Version"]] },
  { name: "a pod on version 1", version: 1, commands: pod[1] },
  { name: "a pod on version 2", version: 2, commands: pod[2] },
  {
    name: "a pod with a process",
    version: 2,
    commands: [...pod[2].slice(0, 6), ["@process", slice], ["@end"], ...removal, set("vkpods-burstable.slice", "CPUWeight=1")],
  },
  {
    name: "all pods together",
    version: 2,
    commands: [...boot, set("vkpods.slice", "CPUWeight=79", "MemoryMax=524288000", "TasksMax=30000")],
  },
  {
    name: "all pods together on version 1",
    version: 1,
    commands: [...boot, set("vkpods.slice", "CPUShares=2048", "MemoryLimit=524288000", "TasksMax=30000")],
  },
  {
    name: "stopped without being started",
    version: 2,
    commands: [...boot, set(slice, "MemoryMax=4096"), ["stop", slice], ["revert", slice]],
  },
  { name: "stopped with a process", version: 2, commands: [...boot, ["@process", slice], ["stop", slice]] },
  { name: "unknown", version: 2, commands: [...boot, ...removal] },
  {
    name: "reloaded",
    version: 2,
    commands: [...boot, set(slice, "MemoryMax=4096"), ["daemon-reload"], ["start", slice], ["daemon-reload"]],
  },
  {
    name: "values",
    version: 2,
    commands: [
      ...boot,
      ...[
        ["CPUShares=1"],
        ["CPUShares=2"],
        ["CPUShares=262144"],
        ["CPUShares=262145"],
        ["CPUWeight=0"],
        ["CPUWeight=1"],
        ["CPUWeight=10000"],
        ["CPUWeight=10001"],
        ["CPUQuota=0%"],
        ["CPUQuota=1%"],
        ["CPUQuota=25600%"],
        ["MemoryLimit=0"],
        ["MemoryLimit=1"],
        ["MemoryMax=0"],
        ["MemoryMax=1"],
        ["MemoryMax=9007199254740991"],
        ["TasksMax=0"],
        ["TasksMax=1"],
        ["CPUWeight=7", "MemoryMax=0"],
        ["Nonsense=1"],
      ].map((properties) => set(slice, ...properties)),
    ],
  },
  {
    name: "names",
    version: 2,
    commands: [
      ...boot,
      ...["a:b.slice", "a_b.slice", "a.b-c.slice", "a--b.slice", "a@.slice", "a@b.slice"].map((name) => set(name, "CPUWeight=7")),
    ],
  },
];

function record(version: 1 | 2, commands: Commands): readonly Answer[] {
  const input = commands.map((command) => `${command.join("\t")}\n`).join("");
  const cage = join(root, "tools/record-systemd/cage.sh");
  const { status, stdout, stderr } = spawnSync("bash", [cage, String(version)], { input, encoding: "utf8" });
  const lines = stdout.trimEnd().split("\n");
  if (status !== 0 || lines.length !== commands.length) throw new Error(`${cage}: exit code ${String(status)}: ${stderr}`);
  return commands.map((command, index) => {
    const [exitCode, ...more] = (lines[index] ?? "").split("\t");
    const [out = "", err = "", cgroups = "", shown = ""] = more.map((text) => Buffer.from(text, "base64").toString("utf8"));
    return {
      command,
      exitCode: Number(exitCode),
      stdout: out,
      stderr: err,
      cgroups: linesOf(cgroups)
        .map((path) => path.replace(version === 1 ? /^\.\/systemd/ : /^\./, ""))
        .filter((path) => path !== "/app.slice"),
      ...(shown !== "" && { shown: Object.fromEntries(linesOf(shown).map((line) => line.split("=") as [string, string])) }),
    };
  });
}

function linesOf(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}

const answers = Object.fromEntries(scenarios.map(({ name, version, commands }) => [name, record(version, commands)]));
const systemd = answers["unknown"]?.[1]?.stdout.trim().replace("Version=", "");
const manager = "systemd --user, as root without capabilities; no controllers of cgroups";
writeFileSync(
  join(root, "packages/pod-runtime/src/test-support/fixtures/systemd.json"),
  `${JSON.stringify({ systemd, manager, answers }, null, 2)}\n`,
);
