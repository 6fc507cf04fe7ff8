import { systemClock } from "@virtual-kubelet/clock";
import { eventually, startProcess, startReaper, type Reaper } from "@virtual-kubelet/testing";
import { execFileSync } from "node:child_process";
import { readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A command and its arguments. */
export type Words = readonly [string, ...string[]];

/** Environment of this process, whose PATH includes Debian's folders for ip and iptables. */
export const systemEnvironment: Readonly<Record<string, string | undefined>> = {
  ...process.env,
  PATH: `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin`,
};

/** The network namespace of a process. */
export class NetworkNamespace {
  readonly #pid: number;

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** Identifier for `ip link … netns`. */
  get id(): string {
    return String(this.#pid);
  }

  /** Command line that runs the command in this network namespace, with the caller's files and processes. */
  inside(words: readonly string[]): Words {
    return ["nsenter", `--net=${this.#path}`, ...words];
  }

  /** Runs a shell script in the namespace, which must succeed. @returns its output */
  run(script: string): string {
    const [program, ...args] = this.inside(["sh", "-euc", script]);
    return execFileSync(program, args, { encoding: "utf8", env: { ...systemEnvironment } });
  }

  /** Removes firewall rules and bridges, as a reboot of the kernel does. */
  forgetRules(): void {
    const tables = ["nat", "filter", "mangle", "raw"].map((table) => `$each -t ${table} -F; $each -t ${table} -X`);
    const policies = ["INPUT", "FORWARD", "OUTPUT"].map((chain) => `$each -P ${chain} ACCEPT`);
    this.run(`for each in iptables ip6tables; do ${[...tables, ...policies].join("; ")}; done`);
    this.run("for each in $(ip -o link show type bridge | cut -d: -f2); do ip link delete $each; done");
  }

  /** Whether the namespace differs from that of this process. */
  get isApart(): boolean {
    return readlinkSync(this.#path) !== readlinkSync("/proc/self/ns/net");
  }

  get #path(): string {
    return `/proc/${this.#pid}/ns/net`;
  }
}

/** Number of the level's namespace on every network. */
const levelNumber = 1;

interface LanParts {
  readonly id: number;
  readonly directory: string;
  readonly reaper: Reaper;
  readonly resources: AsyncDisposableStack;
}

/**
 * A private network: a switch connects network namespaces with each other and with the level's namespace, by IPv4 and IPv6. Disposing
 * removes them all.
 */
export class Lan implements AsyncDisposable {
  readonly #parts: LanParts;
  readonly #hub: NetworkNamespace;

  private constructor(parts: LanParts, hub: NetworkNamespace) {
    this.#parts = parts;
    this.#hub = hub;
  }

  /** @param id - 1 to 255; must be unique among concurrent files */
  static async start(id: number): Promise<Lan> {
    await using resources = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), "vk-lan-"));
    resources.defer(() => rm(directory, { recursive: true, force: true }));
    const reaper = resources.use(startReaper());
    const parts = { id, directory, reaper, resources };
    const hub = await holdNamespace("switch", parts);
    // The switch must bypass the firewall with any kernel settings of the level.
    hub.run("ip link add lan type bridge; ip link set lan up; for each in /proc/sys/net/bridge/bridge-nf-call-*; do echo 0 >$each; done");
    const lan = new Lan({ ...parts, resources: resources.move() }, hub);
    lan.#connect(levelNumber, new NetworkNamespace(process.pid), `lan${id}`);
    return lan;
  }

  /** IPv4 address of the machine with this number; 1 is the level's namespace. */
  address(number: number = levelNumber): string {
    return `198.18.${this.#parts.id}.${number}`;
  }

  /** IPv6 address of the machine with this number. */
  addressV6(number: number = levelNumber): string {
    return `fd00:${this.#parts.id}::${number}`;
  }

  /** Adds a machine with the network interface `eth0`, whose default route leads to the level's namespace. */
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
      if (!namespace.isApart) throw new Error(`process ${holder.pid} is still in the network namespace of the caller`);
    },
    { timeoutMs: 60_000, describe: `a network namespace for ${name}` },
  );
  return namespace;
}
