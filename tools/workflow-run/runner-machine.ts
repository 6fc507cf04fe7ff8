import { startReaper } from "@virtual-kubelet/testing";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { findGo } from "../go-module.ts";
import { problemOf } from "../network-namespace.ts";

/** The user whose steps the service runs; may use sudo without a password. */
export const runnerUser = { name: "runner", id: 1001, home: "/home/runner" } as const;

/** How a command is run on a machine. */
export interface MachineCommand {
  readonly user: "root" | "runner";
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Called with output as it arrives. */
  readonly output: (text: string) => void;
}

const controlGroups = "/sys/fs/cgroup";

/** The search path of a machine's users. */
export const machinePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Folder of the runner's downloads, which jobs share here; each job of the service downloads its own. */
const downloads = { folder: "/home/downloads", links: [".npm", ".local/share/pnpm", ".cache/pnpm", ".cache/pip"] } as const;

/**
 * Imitations of the machine that GitHub gives a job of `runs-on: ubuntu-latest`, made of this one: each has this machine's programs in
 * namespaces of its own and under layers of its own, so that nothing that happens in it is seen here.
 *
 * As there: an ordinary user with sudo that asks for no password, to whom unshare refuses user namespaces; dockerd, but not the package
 * docker-registry; a containerd of the system's that runs; a configuration of Docker's that names a cgroup parent. Unlike there: this machine's
 * distribution, kernel and versions of programs, no systemd, no AppArmor, and no Docker engine that runs.
 */
export class RunnerMachines implements AsyncDisposable {
  readonly #folder: string;
  readonly #reaper: ReturnType<typeof startReaper>;
  #made = 0;

  private constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), "vk-runner-machines-"));
    this.#reaper = startReaper(this.#folder);
    for (const name of ["image", "home"]) mkdirSync(join(this.#folder, name));
    for (const link of downloads.links) mkdirOfRunner(this.#outside(join(downloads.folder, link)), this.#outside("/home"));
  }

  /** Prepares what the machines have in common. @throws Error with what went wrong */
  static async prepare(): Promise<RunnerMachines> {
    const machines = new RunnerMachines();
    try {
      await using image = await machines.#boot({ isImage: true });
      const { code, output } = await image.runToEnd(["sh", "-ec", imageScript, "sh", findGo(process.env) ?? ""], { user: "root" });
      if (code !== 0) throw new Error(`cannot prepare a machine like the service's: ${output}`);
    } catch (error) {
      await machines[Symbol.asyncDispose]();
      throw error;
    }
    return machines;
  }

  /** A new machine with an empty home. Only one at a time: they share the folder of homes. */
  async start(): Promise<RunnerMachine> {
    const home = this.#outside(runnerUser.home);
    rmSync(home, { recursive: true, force: true });
    mkdirOfRunner(home, this.#outside("/home"), 0o750);
    for (const link of downloads.links) {
      mkdirOfRunner(dirname(join(home, link)), home);
      symlinkSync(join(downloads.folder, link), join(home, link));
    }
    return await this.#boot({ isImage: false });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    this.#reaper[Symbol.dispose]();
  }

  async #boot({ isImage }: { readonly isImage: boolean }): Promise<RunnerMachine> {
    const own = join(this.#folder, isImage ? "image" : `machine-${(this.#made += 1)}`);
    mkdirSync(own, { recursive: true });
    const args = ["--mount", "--pid", "--fork", "--kill-child", "bash", "-c", bootScript, "bash", own];
    const process = spawn("unshare", [...args, isImage ? "" : join(this.#folder, "image"), this.#outside("/home")], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    if (process.pid !== undefined) this.#reaper.watch(process.pid);
    const machine = new RunnerMachine(process, own, (path) => this.#outside(path));
    for await (const line of createInterface(process.stdout)) {
      const [, pid] = /^ready (\d+)$/.exec(line) ?? [];
      if (pid === undefined) continue;
      machine.pid = Number(pid);
      return machine;
    }
    await machine[Symbol.asyncDispose]();
    throw new Error("a machine like the service's does not start; what it said is above");
  }

  #outside(path: string): string {
    return join(this.#folder, path);
  }
}

/** A machine that {@link RunnerMachines} made. Disposing it ends all its processes and removes its layers. */
export class RunnerMachine implements AsyncDisposable {
  /** Process id of the machine's first process, in the outer namespace. */
  pid = 0;
  readonly #process: ChildProcess;
  readonly #layers: string;
  readonly #outside: (path: string) => string;

  constructor(process: ChildProcess, layers: string, outside: (path: string) => string) {
    this.#process = process;
    this.#layers = layers;
    this.#outside = outside;
  }

  /** Outer path of a file of the machine; only for files below `/home`. */
  outside(path: string): string {
    return this.#outside(path);
  }

  /** Runs a command and waits for its end. @returns its exit code; 1 where a signal ended it */
  async run(command: readonly string[], { user, cwd, env, output }: MachineCommand): Promise<number> {
    const { id } = runnerUser;
    const become = user === "root" ? [] : ["chroot", `--userspec=${id}:${id}`, `--groups=${id},adm,docker`, "/"];
    const enter = ["--target", String(this.pid), "--mount", "--pid", "--wd=/", ...become, "env", `--chdir=${cwd}`];
    const child = spawn("nsenter", [...enter, ...command], { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", output);
    const [code] = (await once(child, "close")) as [number | null];
    return code ?? 1;
  }

  /** Runs a short command in `/`, and collects its output. */
  async runToEnd(
    command: readonly string[],
    { user, env = {} }: { readonly user: MachineCommand["user"]; readonly env?: Readonly<Record<string, string>> },
  ): Promise<{ readonly code: number; readonly output: string }> {
    let output = "";
    const home = user === "root" ? "/root" : runnerUser.home;
    const options = { user, cwd: "/", env: { PATH: machinePath, HOME: home, ...env }, output: (text: string) => (output += text) };
    return { code: await this.run(command, options), output };
  }

  /** Ends all of its processes at once. */
  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const closed = once(this.#process, "close");
    this.#process.kill("SIGKILL");
    await closed;
    this.#removeControlGroups();
  }

  /** Removes control groups of test engines that were killed; their names are those of the engines' folders. */
  #removeControlGroups(): void {
    for (const engine of globSync("tmp/vk-docker-*", { cwd: this.#layers }))
      for (const group of globSync(`{,*/}${basename(engine)}{,/**}`, { cwd: controlGroups, withFileTypes: true }).reverse())
        if (group.isDirectory()) spawnSync("rmdir", [join(group.parentPath, group.name)], { stdio: "ignore" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    if (!this.#layers.endsWith("/image")) await rm(this.#layers, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** Reason why no such machine can be created here; `undefined` if one can. */
export function missingRunnerMachine(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "an imitation of the service's machine takes Linux and root";
  const overlay =
    'd=$(mktemp -d) && mount -t tmpfs tmpfs "$d" && mkdir "$d/u" "$d/w" "$d/r" && mount -t overlay o -o "lowerdir=/etc,upperdir=$d/u,workdir=$d/w" "$d/r"';
  const why = problemOf(["unshare", "--mount", "--pid", "--fork", "sh", "-c", `${overlay}; e=$?; umount -l "$d"; rmdir "$d"; exit $e`]);
  return why === undefined ? undefined : `no namespaces with layers can be made (${why}); they take CAP_SYS_ADMIN and overlayfs`;
}

/** Makes a folder and those above it, up to `top`, which belong to the runner. */
function mkdirOfRunner(path: string, top: string, mode = 0o755): void {
  if (path === top) return;
  mkdirOfRunner(dirname(path), top);
  if (mkdirSync(path, { recursive: true, mode }) !== undefined) chownSync(path, runnerUser.id, runnerUser.id);
}

/**
 * Makes the machine's file system and keeps its namespaces: `$1` is the folder for its layers, `$2` the image's or nothing, `$3` its homes.
 * It ends with its input.
 */
const bootScript = `
set -e
read -r pid _ </proc/self/stat
root=$1/root
mkdir -p "$root" "$1/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root"
for entry in /*; do
  name=\${entry#/}
  case $name in
    usr|etc|var|opt|srv|bin|sbin|lib*)
      if [ -L "$entry" ]; then cp -a "$entry" "$root/$name"; continue; fi
      mkdir -p "$1/upper/$name" "$1/work/$name" "$root/$name"
      lower=$entry
      [ -z "$2" ] || lower=$2/upper/$name:$entry
      mount -t overlay overlay -o "lowerdir=$lower,upperdir=$1/upper/$name,workdir=$1/work/$name" "$root/$name" ;;
    dev|sys) mkdir "$root/$name"; mount --rbind "$entry" "$root/$name" ;;
  esac
done
mkdir "$root/proc" "$root/run" "$root/tmp" "$root/home" "$root/root"
chmod 700 "$root/root"
mkdir "$root/run/lock"
mount -t proc proc "$root/proc"
chmod 1777 "$1/tmp"
mount --bind "$1/tmp" "$root/tmp"
mount --bind "$3" "$root/home"
if [ -L /etc/resolv.conf ]; then rm -f "$root/etc/resolv.conf"; cp /etc/resolv.conf "$root/etc/resolv.conf"; fi
cd "$root"
mkdir .machine
pivot_root . .machine
umount --lazy /.machine
rmdir /.machine
echo "ready $pid"
while read -r _; do :; done
`;

/** As on Ubuntu, where AppArmor refuses user namespaces to ordinary users. */
const unshare = `#!/bin/sh
[ "$(id -u)" = 0 ] || for word; do
  case $word in
    --user*|--map-*|-U*|-r) echo "unshare: write failed /proc/self/uid_map: Operation not permitted" >&2; exit 1 ;;
    -*) ;;
    *) break ;;
  esac
done
exec unshare.distrib "$@"
`;

/** Sets up the service's image from this machine's programs; `$1` is Go's path. */
const imageScript = `
export DEBIAN_FRONTEND=noninteractive
rm -f /var/lib/man-db/auto-update
printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d
chmod +x /usr/sbin/policy-rc.d
command -v sudo >/dev/null || { apt-get update -qq; apt-get install -y -qq --no-install-recommends sudo; }
if dpkg --status docker-registry >/dev/null 2>&1; then dpkg --purge docker-registry; fi
rm /usr/sbin/policy-rc.d
command -v go >/dev/null || [ -z "$1" ] || ln -s "$1" /usr/bin/go
groupadd --force docker
groupadd --gid ${runnerUser.id} --non-unique ${runnerUser.name}
useradd --uid ${runnerUser.id} --gid ${runnerUser.id} --non-unique --no-create-home --home-dir ${runnerUser.home} --shell /bin/bash --groups adm,docker ${runnerUser.name}
echo '${runnerUser.name} ALL=(ALL) NOPASSWD:ALL' >/etc/sudoers.d/${runnerUser.name}
chmod 440 /etc/sudoers.d/${runnerUser.name}
mv /usr/bin/unshare /usr/bin/unshare.distrib
cat >/usr/bin/unshare <<'UNSHARE'
${unshare}UNSHARE
chmod 755 /usr/bin/unshare
mkdir -p /opt/hostedtoolcache /etc/docker
chmod 777 /opt/hostedtoolcache
echo '{"exec-opts": ["native.cgroupdriver=cgroupfs"], "cgroup-parent": "/actions_job"}' >/etc/docker/daemon.json
`;
