import { eventually, startReaper } from "@virtual-kubelet/testing";
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Outcome of a command on the machine. */
export interface CommandOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Becomes systemd in own namespaces of mounts and control groups; the process is already the first of its namespace. What is written to /run,
 * /tmp, /etc and /var/lib is only in the memory of these namespaces, and all other files are read-only. systemd finds no units of the distribution,
 * some of which would change the real machine: one empties /tmp at each boot. $1 is the name of the control group.
 */
const boot = String.raw`
set -e
hierarchies=$(if [ -e /sys/fs/cgroup/cgroup.controllers ]; then echo .; else echo systemd unified; fi)
for each in $hierarchies; do mkdir "/sys/fs/cgroup/$each/$1"; echo 0 > "/sys/fs/cgroup/$each/$1/cgroup.procs"; done
exec unshare --cgroup --mount sh -ec '
  mount -t tmpfs tmpfs /mnt
  if [ "$0" = . ]; then mount -t cgroup2 cgroup2 /mnt; else
    mkdir /mnt/systemd /mnt/unified
    mount -t cgroup -o none,name=systemd cgroup /mnt/systemd
    mount -t cgroup2 cgroup2 /mnt/unified
  fi
  mount --rbind /mnt /sys/fs/cgroup
  mount -t tmpfs tmpfs /run
  mkdir -p /run/lock /run/systemd /run/etc/upper /run/etc/work
  mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/etc/upper,workdir=/run/etc/work /etc
  mount -t tmpfs tmpfs /etc/systemd/system
  mount -t tmpfs tmpfs /var/lib
  mount -t tmpfs tmpfs /tmp
  mount --bind /proc/sys /proc/sys
  mount -o remount,bind,ro /proc/sys
  mount -o remount,bind,ro /
  if touch /var/vk-systemd-probe 2>/dev/null; then echo "files of the machine are not protected" >&2; exit 1; fi
  for each in sysinit basic shutdown network-online multi-user; do
    printf "[Unit]\nDefaultDependencies=no\n" > "/etc/systemd/system/$each.target"
  done
  exec env -i container=other SYSTEMD_UNIT_PATH=/etc/systemd/system SYSTEMD_GENERATOR_PATH=/run/none SYSTEMD_ENVIRONMENT_GENERATOR_PATH=/run/none \
    /lib/systemd/systemd --system --unit=multi-user.target --show-status=no
' "$hierarchies"
`;

/** A machine whose first process is the real systemd, on the files of this one. It ends when it is disposed and when this process ends. */
export class SystemdMachine implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #pid: number;
  readonly #group: string;

  private constructor(child: ChildProcess, pid: number, group: string) {
    this.#child = child;
    this.#pid = pid;
    this.#group = group;
  }

  /** @throws Error if systemd does not start */
  static async start(): Promise<SystemdMachine> {
    const group = `vk-systemd-${randomUUID()}`;
    const args = ["--pid", "--ipc", "--uts", "--fork", "--mount", "--mount-proc", "--kill-child", "sh", "-c", boot, "sh", group];
    const child = spawn("unshare", args, { stdio: ["ignore", "ignore", "pipe"] });
    using reaper = startReaper();
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (said += text));
    if (child.pid === undefined) throw new Error("unshare is not installed");
    reaper.watch(child.pid);
    try {
      const pid = await eventually(async () => {
        if (child.exitCode !== null) throw new Error(`systemd ended: ${said}`);
        const [first] = (await readFile(`/proc/${child.pid}/task/${child.pid}/children`, "utf8")).split(" ");
        const { stdout } = await execute(["nsenter", "-t", String(first), "-m", "-p", "-C", "systemctl", "is-system-running"]);
        if (stdout.trim() !== "running") throw new Error(`systemd says ${JSON.stringify(stdout)} ${said}`);
        return Number(first);
      });
      reaper.forget(child.pid);
      const machine = new SystemdMachine(child, pid, group);
      const { LoadState: state } = await machine.show("systemd-tmpfiles-setup.service");
      if (state !== "not-found") {
        await machine[Symbol.asyncDispose]();
        throw new Error(`systemd would run the distribution's units on this machine: ${state}`);
      }
      return machine;
    } catch (error) {
      child.kill("SIGKILL");
      throw error;
    }
  }

  /** Words that run a command on the machine. */
  get prefix(): readonly string[] {
    return ["nsenter", "-t", String(this.#pid), "-m", "-p", "-C"];
  }

  /** Path from outside of a file of the machine. */
  path(path: string): string {
    return join(`/proc/${this.#pid}/root`, path);
  }

  async run(...command: readonly string[]): Promise<CommandOutcome> {
    return await execute([...this.prefix, ...command]);
  }

  /** Writes a unit's file, which systemd then knows. */
  async writeUnit(name: string, text: string): Promise<void> {
    await writeFile(this.path(`/etc/systemd/system/${name}`), text);
    await this.run("systemctl", "daemon-reload");
  }

  /** Properties of a unit. */
  async show(unit: string): Promise<Readonly<Record<string, string>>> {
    const { stdout } = await this.run("systemctl", "show", unit);
    return Object.fromEntries(
      stdout.split("\n").flatMap((line) => {
        const equals = line.indexOf("=");
        return equals < 0 ? [] : [[line.slice(0, equals), line.slice(equals + 1)]];
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "close");
    // The end of its first process ends the namespace.
    process.kill(this.#pid, "SIGKILL");
    await ended;
    for (const hierarchy of ["", "systemd", "unified"]) await removeGroup(join("/sys/fs/cgroup", hierarchy, this.#group));
  }
}

/** Removes a control group with those in it, if it exists. */
async function removeGroup(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => undefined);
  if (!entries) return;
  for (const entry of entries) if (entry.isDirectory()) await removeGroup(join(path, entry.name));
  await eventually(() => rmdir(path));
}

async function execute([program = "", ...args]: readonly string[]): Promise<CommandOutcome> {
  return await new Promise((resolve) => {
    execFile(program, args, { encoding: "utf8", timeout: 100_000 }, (error, stdout, stderr) => {
      resolve({ code: error ? (typeof error.code === "number" ? error.code : 1) : 0, stdout, stderr });
    });
  });
}
