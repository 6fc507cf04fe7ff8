import { eventually } from "@virtual-kubelet/testing";
import { mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { exitCodes } from "virtual-kubelet";
import { renderEnvironmentFile, renderUnit } from "../../packages/cli/src/service/service-unit.ts";
import { accountOf, printedRights } from "../embedded/support/printed-rights.ts";
import { ProgramRig } from "../embedded/support/program-rig.ts";
import { Program } from "../support/program.ts";
import { SystemdMachine } from "./support/systemd-machine.ts";

const ends = new AsyncDisposableStack();
let machine: SystemdMachine;

beforeAll(async () => {
  machine = ends.use(await SystemdMachine.start());
});
afterAll(() => ends.disposeAsync());

const name = "virtual-kubelet-vk-1";
const unitFile = `/etc/systemd/system/${name}.service`;
const settings = ["--provider=mock", "--nodename=vk-1", "--kubeconfig=/run/kubeconfig", "--health-addr=off"];

/** Runs `service` with the real program on the machine. */
async function service(rig: ProgramRig, ...words: readonly string[]): Promise<Program> {
  const program = new Program(["service", ...words], { cwd: rig.folder, prefix: machine.prefix });
  await program.exit;
  return program;
}

/** Waits for the unit to be in the state, with a process other than the given one. */
async function unitIs(state: string, otherThan: string = ""): Promise<Readonly<Record<string, string>>> {
  return await eventually(async () => {
    const shown = await machine.show(name);
    expect(shown).toMatchObject({ ActiveState: state });
    expect(shown["MainPID"]).not.toBe(otherThan);
    return shown;
  });
}

test("install runs the node under systemd with the printed rights alone; systemd restarts it after a crash but not after an invalid setting; stop is graceful; uninstall leaves only the state", async () => {
  await using rig = await ProgramRig.open(await printedRights(["--nodename", "vk-1"]));
  const kubeconfig = machine.path("/run/kubeconfig");
  await rig.server.writeKubeconfig(kubeconfig, accountOf("vk-1"));
  await using installed = await service(rig, "install", ...settings);

  expect(installed.stderr).toBe("");
  expect(installed.stdout).toContain(`wrote ${unitFile}\n`);
  expect(installed.stdout).toContain(`${name}.service runs\n`);
  expect(await installed.exit).toBe(0);
  await rig.nodeIsReady("vk-1");
  await rig.createPod("web", "vk-1");
  await rig.podIsRunning("web");
  expect(await machine.run("systemctl", "is-enabled", name)).toMatchObject({ stdout: "enabled\n" });
  const state = await stat(machine.path("/var/lib/virtual-kubelet"));
  expect(state.mode & 0o777).toBe(0o700);

  const first = await unitIs("active");
  await machine.run("systemctl", "kill", "--signal=KILL", name);
  const second = await unitIs("active", first["MainPID"]);
  expect(second).toMatchObject({ NRestarts: "1" });

  await using again = await service(rig, "install", ...settings);
  expect(again.stdout).toContain(`${unitFile} is up to date\n`);
  expect(await machine.show(name)).toMatchObject({ MainPID: second["MainPID"] });
  await using other = await service(rig, "install", ...settings, "--log-level", "debug");
  expect(await other.exit).toBe(exitCodes.failure.code);
  expect(other.stderr).toContain(`${unitFile}: exists with other content (an earlier service install wrote it with other settings)`);

  await machine.run("systemctl", "stop", name);
  expect(await unitIs("inactive")).toMatchObject({ Result: "success", ExecMainStatus: "0", ExecMainCode: "1" });

  await writeFile(kubeconfig, "{}");
  await machine.run("systemctl", "start", name);
  expect(await unitIs("failed")).toMatchObject({ ExecMainStatus: String(exitCodes.config.code), NRestarts: "0" });

  await using removed = await service(rig, "uninstall", "--nodename", "vk-1");
  expect(removed.stdout).toContain("stay in /var/lib/virtual-kubelet;");
  expect(await machine.show(name)).toMatchObject({ LoadState: "not-found", ActiveState: "inactive" });
  expect((await stat(machine.path("/var/lib/virtual-kubelet/vk-1"))).isDirectory()).toBe(true);
});

test("systemd accepts the units of all kinds of providers without a complaint", async () => {
  for (const provider of ["mock", "docker"]) {
    await machine.writeUnit(`verify-${provider}.service`, renderUnit(plan({ nodes: [{ name: "vk-1", provider, isBuiltIn: true }] })));

    expect(await machine.run("systemd-analyze", "verify", "--man=no", `/etc/systemd/system/verify-${provider}.service`)).toEqual({
      code: 0,
      stdout: "",
      stderr: "",
    });
  }
});

test("systemd passes on exactly the words and variables that were given", async () => {
  const folder = "/run/50 % $HOME ${PATH} é日🚀";
  await mkdir(machine.path(folder));
  const node = join(folder, "node");
  await symlink(process.execPath, machine.path(node));
  const written = "/run/written.json";
  const program = join(folder, `it's "mine".mjs`);
  const { argv, env } = { argv: "process.argv.slice(2)", env: "[process.env.A, process.env.B, process.cwd()]" };
  await writeFile(
    machine.path(program),
    `import fs from "node:fs"; fs.writeFileSync(${JSON.stringify(written)}, JSON.stringify([${argv}, ${env}]));`,
  );
  const odd = String.raw`a "b" 'c' \ \n \x41 %h %% $HOME ${"${HOME}"} $$ ; # é日🚀 ~ * ` + "`id`";
  const flags = [odd, ";", "", " ", "$X", "%n", "--a=\\", "a\u00A0b", "'", '"'];
  const unit = plan({
    invocation: { node, nodeFlags: [], program },
    carried: { flags, variables: [{ name: "A", value: odd }], secretVariables: [{ name: "B", value: odd }] },
    workingDirectory: folder,
  });
  await writeFile(machine.path("/etc/words.env"), renderEnvironmentFile(unit) ?? "", { mode: 0o600 });
  await machine.writeUnit("words.service", renderUnit(unit));

  const start = await machine.run("systemctl", "start", "words");
  expect(start).toMatchObject({ code: 0, stderr: "" });

  const found = await eventually(async () => JSON.parse(await readFile(machine.path(written), "utf8")) as unknown);
  expect(found).toEqual([
    ["run", ...flags],
    [odd, odd, folder],
  ]);
  await machine.run("systemctl", "stop", "words");
});

function plan(given: Partial<Parameters<typeof renderUnit>[0]>): Parameters<typeof renderUnit>[0] {
  return {
    target: { name: "words", scope: "system", unitFile: "/etc/systemd/system/words.service", environmentFile: "/etc/words.env" },
    invocation: { node: process.execPath, nodeFlags: [], program: "/usr/bin/virtual-kubelet" },
    carried: { flags: [], variables: [], secretVariables: [] },
    nodes: [{ name: "vk-1", provider: "mock", isBuiltIn: true }],
    workingDirectory: undefined,
    runAsUser: undefined,
    shutdownTimeoutMs: 30_000,
    ...given,
  };
}
