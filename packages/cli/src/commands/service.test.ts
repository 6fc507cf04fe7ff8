import { VirtualClock } from "@virtual-kubelet/clock";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseFlags } from "../command-line/flag-parser.ts";
import type { CommandResult, Machine } from "../service/machine.ts";
import { decodeWords, replaceVariables } from "../test-support/systemd-syntax.ts";
import { testContext, type TestContext } from "../test-support/test-context.ts";
import { execute } from "./service.ts";

const unitFile = "/etc/systemd/system/virtual-kubelet-vk-1.service";
const environmentFile = "/etc/virtual-kubelet/virtual-kubelet-vk-1.env";
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk service-"));
  const contexts = [{ name: "x", context: { cluster: "c", user: "u" } }];
  const clusters = [{ name: "c", cluster: { server: "https://192.0.2.1:6443" } }];
  const users = [{ name: "u", user: { token: "secret" } }];
  await writeFile(join(folder, "kubeconfig"), JSON.stringify({ clusters, contexts, users, "current-context": "x" }));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A machine with systemd, whose files are in memory. */
class FakeMachine implements Machine {
  readonly files = new Map<string, string>();
  readonly modes = new Map<string, number>();
  readonly commands: string[] = [];
  hasSystemd = true;
  answer: (command: string) => CommandResult = () => ({ code: 0, output: "active" });

  async exists(path: string): Promise<boolean> {
    return path === "/run/systemd/system" || path === "/run/user/1000/systemd" ? this.hasSystemd : this.files.has(path);
  }

  async read(path: string): Promise<string | undefined> {
    return this.files.get(path);
  }

  async write(path: string, text: string, mode: number): Promise<void> {
    this.files.set(path, text);
    this.modes.set(path, mode);
  }

  async remove(path: string): Promise<void> {
    this.files.delete(path);
  }

  async run(program: string, args: readonly string[]): Promise<CommandResult> {
    const command = [program, ...args].join(" ");
    this.commands.push(command);
    return this.answer(command);
  }
}

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Given {
  readonly machine?: FakeMachine;
  readonly env?: Readonly<Record<string, string>>;
  readonly isRoot?: boolean;
  readonly program?: string;
}

async function service(words: readonly string[], given: Given = {}): Promise<Run> {
  const clock = new VirtualClock();
  const { isRoot = true, env = {}, machine = new FakeMachine() } = given;
  const base = testContext(clock, { cwd: folder, homeDir: folder, env });
  const invocation = { ...base.invocation, program: given.program ?? base.invocation.program };
  const context: TestContext = { ...base, isRoot, invocation };
  const running = execute(parseFlags("service", words), context, machine);
  const ended = running.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([ended, clock.advance(1_000).then(() => false)])));
  return { code: await running, out: context.stdout.text, err: context.stderr.text };
}

const flags = ["--provider=mock", "--nodename=vk-1", "--kubeconfig", "kubeconfig", "--kubelet-port=0", "--health-addr=off"];

function commandOf(unit: string): string[] {
  const line = unit.split("\n").find((each) => each.startsWith("ExecStart=")) ?? "";
  const [path = "", ...args] = decodeWords(line.slice("ExecStart=".length));
  return [path, ...args.map(replaceVariables)];
}

test("print writes the unit for the flags of a run, with absolute paths", async () => {
  const { code, out, err } = await service(["print", ...flags, "--disable-taint", "--label", "a=b"], { isRoot: false });

  expect(code).toBe(0);
  expect(err).toBe("");
  expect(commandOf(out)).toEqual([
    "/usr/bin/node",
    "/usr/bin/virtual-kubelet",
    "run",
    "--provider=mock",
    "--nodename=vk-1",
    `--kubeconfig=${join(folder, "kubeconfig")}`,
    "--kubelet-port=0",
    "--health-addr=off",
    "--disable-taint",
    "--label=a=b",
  ]);
});

test("install writes the unit, enables and starts it, and says each step", async () => {
  const machine = new FakeMachine();

  const { out } = await service(["install", ...flags], { machine });

  expect(machine.files.get(unitFile)).toContain("[Service]");
  expect(machine.modes.get(unitFile)).toBe(0o644);
  expect(machine.commands).toEqual([
    "systemctl daemon-reload",
    "systemctl enable --now virtual-kubelet-vk-1.service",
    "systemctl is-active virtual-kubelet-vk-1.service",
  ]);
  expect(out.split("\n").slice(0, 4)).toEqual([
    `wrote ${unitFile}`,
    "ran systemctl daemon-reload",
    "ran systemctl enable --now virtual-kubelet-vk-1.service",
    "virtual-kubelet-vk-1.service runs",
  ]);
});

test("install writes what print shows", async () => {
  const machine = new FakeMachine();
  await service(["install", ...flags], { machine });

  expect(machine.files.get(unitFile)).toBe((await service(["print", ...flags])).out);
});

test("a second install changes no file and restarts nothing", async () => {
  const machine = new FakeMachine();
  await service(["install", ...flags], { machine });
  machine.commands.length = 0;

  const { out } = await service(["install", ...flags], { machine });

  expect(out).toContain(`${unitFile} is up to date\n`);
  expect(machine.commands).not.toContainEqual(expect.stringContaining("restart"));
});

test("--no-start enables the unit only", async () => {
  const machine = new FakeMachine();

  const { out } = await service(["install", "--no-start", ...flags], { machine });

  expect(machine.commands).toEqual(["systemctl daemon-reload", "systemctl enable virtual-kubelet-vk-1.service"]);
  expect(out).toContain("systemctl start virtual-kubelet-vk-1\n");
});

test("a unit with other content is kept, unless --force replaces and restarts it", async () => {
  const machine = new FakeMachine();
  machine.files.set(unitFile, "[Service]\n");

  await expect(service(["install", ...flags], { machine })).rejects.toThrow(
    `${unitFile}: exists with other content (this program did not write it); --force replaces it`,
  );
  expect(machine.files.get(unitFile)).toBe("[Service]\n");
  expect(machine.commands).toEqual([]);

  await service(["install", "--force", ...flags], { machine });
  expect(machine.files.get(unitFile)).toContain("ExecStart=");
  expect(machine.commands).toContain("systemctl restart virtual-kubelet-vk-1.service");
});

test("variables that set settings are in the unit, and those that may be secret in a file for root alone", async () => {
  const machine = new FakeMachine();
  const env = {
    KUBECONFIG: join(folder, "kubeconfig"),
    VKUBELET_LOG_LEVEL: "warn",
    HTTPS_PROXY: "http://me:pa$$@192.0.2.9:3128",
    UNRELATED: "x",
  };

  await service(["install", "--provider=mock", "--nodename=vk-1", "--kubelet-port=0", "--health-addr=off"], { machine, env });

  const unit = machine.files.get(unitFile) ?? "";
  expect(unit).toContain(`Environment="KUBECONFIG=${join(folder, "kubeconfig")}"\n`);
  expect(unit).toContain('Environment="VKUBELET_LOG_LEVEL=warn"\n');
  expect(unit).toContain(`EnvironmentFile=${environmentFile}\n`);
  expect(unit).not.toMatch(/HTTPS_PROXY|UNRELATED|pa\$/);
  expect(machine.files.get(environmentFile)).toContain('HTTPS_PROXY="http://me:pa\\$\\$@192.0.2.9:3128"\n');
  expect(machine.modes.get(environmentFile)).toBe(0o600);
});

test("relative paths in variables are made absolute", async () => {
  const env = { KUBECONFIG: "a:/etc/b", VKUBELET_CERT_DIR: "~/pki", NODE_EXTRA_CA_CERTS: "ca.pem" };
  const { out } = await service(["print", "--provider=mock"], { env });

  expect(out).toContain(`Environment="KUBECONFIG=${join(folder, "a")}:/etc/b"\n`);
  expect(out).toContain(`Environment="VKUBELET_CERT_DIR=${join(folder, "pki")}"\n`);
  expect(out).toContain(`Environment="NODE_EXTRA_CA_CERTS=${join(folder, "ca.pem")}"\n`);
});

test("a changed secret alone needs --force, too", async () => {
  const machine = new FakeMachine();
  await service(["install", ...flags], { machine, env: { HTTPS_PROXY: "http://192.0.2.9" } });

  await expect(service(["install", ...flags], { machine, env: { HTTPS_PROXY: "http://192.0.2.8" } })).rejects.toThrow(
    `${environmentFile}: exists with other content (an earlier service install wrote it with other settings)`,
  );
});

test("print names variables that may be secret, and does not show them", async () => {
  const { out, err } = await service(["print", ...flags], { env: { HTTPS_PROXY: "http://me:geheim@192.0.2.9" } });

  expect(err).toContain(`service install writes them to ${environmentFile}: HTTPS_PROXY\n`);
  expect(out + err).not.toContain("geheim");
});

test.each([
  ["who is not root", false, true, "needs root: use sudo, or --user"],
  ["a machine without systemd", true, false, "systemd does not run here: /run/systemd/system does not exist"],
])("install refuses %s before anything happens", async (_, isRoot, hasSystemd, expected) => {
  const machine = Object.assign(new FakeMachine(), { hasSystemd });

  await expect(service(["install", ...flags], { machine, isRoot })).rejects.toThrow(expected);
  expect(machine.files.size).toBe(0);
  expect(machine.commands).toEqual([]);
});

test.each([
  ["a wrong provider", ["--provider=dokcer"], '--provider: "dokcer"'],
  ["a kubeconfig that is not there", ["--kubeconfig=missing"], "missing"],
  ["a certificate that is not there", ["--kubelet-port=10250", "--tls-cert-file=a", "--tls-private-key-file=b"], "--tls-cert-file"],
  ["a line break", ["--label=a=b\nc"], ""],
])("install refuses %s before anything happens", async (_, more, expected) => {
  const machine = new FakeMachine();

  await expect(service(["install", ...flags, ...more], { machine })).rejects.toThrow(expected);
  expect(machine.files.size).toBe(0);
  expect(machine.commands).toEqual([]);
});

test("install says when the unit does not keep running", async () => {
  const machine = new FakeMachine();
  machine.answer = (command) => (command.includes("is-active") ? { code: 3, output: "activating" } : { code: 0, output: "" });

  await expect(service(["install", ...flags], { machine })).rejects.toThrow(
    "virtual-kubelet-vk-1.service is installed, but it does not run: activating; systemctl status virtual-kubelet-vk-1",
  );
});

test("install shows what systemctl says if it fails", async () => {
  const machine = new FakeMachine();
  machine.answer = () => ({ code: 1, output: "Access denied" });

  await expect(service(["install", ...flags], { machine })).rejects.toThrow("systemctl daemon-reload: exit code 1: Access denied");
});

test("uninstall removes what install wrote, and says where the certificates stay", async () => {
  const machine = new FakeMachine();
  await service(["install", ...flags], { machine, env: { HTTPS_PROXY: "http://192.0.2.9" } });
  machine.commands.length = 0;

  const { out } = await service(["uninstall", "--nodename=vk-1"], { machine });

  expect(machine.files.size).toBe(0);
  expect(machine.commands.slice(0, 2)).toEqual(["systemctl disable --now virtual-kubelet-vk-1.service", "systemctl daemon-reload"]);
  expect(out).toContain("stay in /var/lib/virtual-kubelet;");
});

test("uninstall keeps a unit that this program did not write", async () => {
  const machine = new FakeMachine();
  machine.files.set("/etc/systemd/system/sshd.service", "[Service]\n");

  await expect(service(["uninstall", "--name=sshd"], { machine })).rejects.toThrow("this program did not write it, so it stays");
  await expect(service(["uninstall", "--name=other"], { machine })).rejects.toThrow("does not exist, so there is nothing to uninstall");
  expect(machine.files.size).toBe(1);
  expect(machine.commands).toEqual([]);
});

test("--user writes a unit of the user's systemd", async () => {
  const machine = new FakeMachine();
  const env = { XDG_RUNTIME_DIR: "/run/user/1000" };

  const { out } = await service(["install", "--user", ...flags], { machine, env, isRoot: false });

  const unit = machine.files.get(join(folder, ".config/systemd/user/virtual-kubelet-vk-1.service")) ?? "";
  expect(unit).toContain("WantedBy=default.target\n");
  expect(unit).not.toMatch(/StateDirectory|network-online|ProtectKernel/);
  expect(machine.commands[0]).toBe("systemctl --user daemon-reload");
  expect(out).toContain("loginctl enable-linger");
});

test("--run-as-user needs a user that exists", async () => {
  const machine = new FakeMachine();
  machine.answer = () => ({ code: 1, output: "no such user" });

  await expect(service(["install", "--run-as-user=vk", ...flags], { machine })).rejects.toThrow('--run-as-user: "vk": expected a user');
  await expect(service(["print", "--run-as-user=vk", "--user", ...flags])).rejects.toThrow("cannot be used with --user");
  expect((await service(["print", "--run-as-user=vk", ...flags])).out).toContain("\nUser=vk\n");
});

test("a program in a cache is told to vanish", async () => {
  const program = "/root/.npm/_npx/0123/node_modules/.bin/virtual-kubelet";

  expect((await service(["print", ...flags], { program })).err).toContain(`the unit names ${program}, which may vanish`);
});

test.each([
  ["--name=a/b", '--name: "a/b": expected letters'],
  ["--dry-run", "service print shows the unit"],
])("%s is refused", async (flag, expected) => {
  await expect(service(["print", flag, ...flags])).rejects.toThrow(expected);
});

test("the node's default name and several nodes are in virtual-kubelet.service", async () => {
  const machine = new FakeMachine();
  await service(["install", "--provider=mock", "--kubeconfig=kubeconfig", "--kubelet-port=0", "--health-addr=off"], { machine });

  expect([...machine.files.keys()]).toEqual(["/etc/systemd/system/virtual-kubelet.service"]);
});
