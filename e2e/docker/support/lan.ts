import { systemClock } from "@virtual-kubelet/clock";
import { eventually, startProcess, startReaper, type Reaper } from "@virtual-kubelet/testing";
import { execFileSync } from "node:child_process";
import { readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A command and its arguments. */
export type Words = readonly [string, ...string[]];

/** The environment of this process, with the folders in which Debian keeps ip and iptables. */
export const systemEnvironment: Readonly<Record<string, string | undefined>> = {
  ...process.env,
  PATH: `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin`,
};

/** A network namespace that a process holds. */
export class NetworkNamespace {
  readonly #pid: number;

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** As `ip link … netns` takes it. */
  get id(): string {
    return String(this.#pid);
  }

  /** The command in this namespace. Files and processes are those of the caller. */
  inside(words: readonly string[]): Words {
    return ["nsenter", `--net=${this.#path}`, ...words];
  }

  /** Runs a shell's script in it, which has to succeed. @returns what it printed */
  run(script: string): string {
    const [program, ...args] = this.inside(["sh", "-euc", script]);
    return execFileSync(program, args, { encoding: "utf8", env: { ...systemEnvironment } });
  }

  /** Removes firewall rules and bridges: a kernel that starts has none. */
  forgetRules(): void {
    const tables = ["nat", "filter", "mangle", "raw"].map((table) => `$each -t ${table} -F; $each -t ${table} -X`);
    const policies = ["INPUT", "FORWARD", "OUTPUT"].map((chain) => `$each -P ${chain} ACCEPT`);
    this.run(`for each in iptables ip6tables; do ${[...tables, ...policies].join("; ")}; done`);
    this.run("for each in $(ip -o link show type bridge | cut -d: -f2); do ip link delete $each; done");
  }

  /** Whether it is another one than this process's. */
  get isApart(): boolean {
    return readlinkSync(this.#path) !== readlinkSync("/proc/self/ns/net");
  }

  get #path(): string {
    return `/proc/${this.#pid}/ns/net`;
  }
}

/** Number of the level's own namespace on every network. */
const levelNumber = 1;

interface LanParts {
  readonly id: number;
  readonly directory: string;
  readonly reaper: Reaper;
  readonly resources: AsyncDisposableStack;
}

/**
 * A network of the tests' own: network namespaces that a switch connects with each other and with the level's namespace, with IPv4 and
 * IPv6. Disposing it ends them all.
 */
export class Lan implements AsyncDisposable {
  readonly #parts: LanParts;
  readonly #hub: NetworkNamespace;

  private constructor(parts: LanParts, hub: NetworkNamespace) {
    this.#parts = parts;
    this.#hub = hub;
  }

  /** @param id - 1 to 255; files that run at once need different ones */
  static async start(id: number): Promise<Lan> {
    await using resources = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), "vk-lan-"));
    resources.defer(() => rm(directory, { recursive: true, force: true }));
    const reaper = resources.use(startReaper());
    const parts = { id, directory, reaper, resources };
    const hub = await holdNamespace("switch", parts);
    // Whatever the level's kernel settings are: a switch asks no firewall.
    hub.run("ip link add lan type bridge; ip link set lan up; for each in /proc/sys/net/bridge/bridge-nf-call-*; do echo 0 >$each; done");
    const lan = new Lan({ ...parts, resources: resources.move() }, hub);
    lan.#connect(levelNumber, new NetworkNamespace(process.pid), `lan${id}`);
    return lan;
  }

  /** IPv4 address of whoever has this number; 1 is the level's namespace. */
  address(number: number = levelNumber): string {
    return `198.18.${this.#parts.id}.${number}`;
  }

  /** IPv6 address of whoever has this number. */
  addressV6(number: number = levelNumber): string {
    return `fd00:${this.#parts.id}::${number}`;
  }

  /** A machine on it, with the network interface `eth0`; all that it does not know goes to the level's namespace. */
  async join(number: number): Promise<NetworkNamespace> {
    const machine = await holdNamespace(`machine-${number}`, this.#parts);
    this.#connect(number, machine, "eth0");
    machine.run(`ip route add default via ${this.address()}; ip -6 route add default via ${this.addressV6()}`);
    // As with a kernel that starts. The engine that turns it on drops, by default, what is to be forwarded.
    machine.run("echo 0 >/proc/sys/net/ipv4/ip_forward");
    return machine;
  }

  #connect(number: number, namespace: NetworkNamespace, device: string): void {
    const port = `port${number}`;
    this.#hub.run(
      `ip link add ${port} type veth peer name ${device} netns ${namespace.id}; ip link set ${port} master lan; ip link set ${port} up`,
    );
    const addresses = [`${this.address(number)}/24`, `${this.addressV6(number)}/64`];
    namespace.run(
      `ip link set lo up; ip link set ${device} up; ${addresses.map((each) => `ip address add ${each} dev ${device} ${each.includes(":") ? "nodad" : ""}`).join("; ")}`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.resources.disposeAsync();
  }
}

async function holdNamespace(name: string, { directory, reaper, resources }: LanParts): Promise<NetworkNamespace> {
  const command = { name, program: "unshare", args: ["--net", "sleep", "infinity"], environment: { ...systemEnvironment } };
  const holder = resources.use(await startProcess({ ...command, logFile: join(directory, name) }, { reaper, clock: systemClock }));
  const namespace = new NetworkNamespace(holder.pid);
  await eventually(
    () => {
      if (!namespace.isApart) throw new Error("it is still the caller's");
    },
    { timeoutMs: 60_000, describe: `a network namespace for ${name}` },
  );
  return namespace;
}
