import type { Reaper } from "@virtual-kubelet/testing";
import { randomBytes, randomUUID } from "node:crypto";
import { ApiFault } from "./api-fault.ts";
import { ContainerProcess, type ProcessPlan } from "./container-process.ts";

/** Body of a request, which Zun's schema has accepted. */
export interface ContainerBody {
  readonly name?: string;
  readonly image: string;
  readonly command?: readonly string[] | null;
  readonly entrypoint?: readonly string[] | null;
  readonly environment?: Readonly<Record<string, string>> | null;
  readonly labels?: Readonly<Record<string, string>> | null;
  readonly interactive?: boolean;
  readonly tty?: boolean;
  readonly restart_policy?: { readonly Name: string } | null;
  readonly mounts?: readonly { readonly type?: string; readonly source?: string; readonly destination: string }[] | null;
}

/** A prepared command for a terminal. */
export interface FakeExec {
  readonly token: string;
  readonly command: readonly string[];
}

/** Zun's text for an interval. Source: zun 18.0.0 zun/container/docker/driver.py (`format_status_detail`). */
function since(ms: number): string {
  const seconds = Math.floor((Date.now() - ms) / 1000);
  if (seconds < 1) return "None";
  return seconds < 60 ? `${seconds} seconds` : `${Math.floor(seconds / 60)} mins`;
}

/**
 * A container as zun-compute runs it on Docker: a database row, Docker's state, and a lock that serializes actions. The row lags behind
 * Docker until it is refreshed. Source: zun 18.0.0 zun/compute/manager.py and zun/container/docker/driver.py; not recorded, because
 * zun-compute does not run here.
 */
export class FakeContainer {
  readonly uuid: string = randomUUID();
  readonly createdMs: number = Date.now();
  readonly body: ContainerBody;
  readonly address: string;
  readonly port: string;
  status = "Creating";
  statusReason: string | null = null;
  statusDetail: string | null = null;
  taskState: string | null = null;
  isGone = false;
  readonly execs: Map<string, FakeExec> = new Map<string, FakeExec>();
  attachToken = "";
  #process: ContainerProcess | undefined;
  #restarts = true;
  #lock: Promise<void> = Promise.resolve();
  readonly #reaper: Reaper;

  constructor(
    body: ContainerBody,
    { reaper, address, port }: { readonly reaper: Reaper; readonly address: string; readonly port: string },
  ) {
    this.body = body;
    this.#reaper = reaper;
    this.address = address;
    this.port = port;
  }

  /** The running or most recent process. */
  get process(): ContainerProcess | undefined {
    return this.#process;
  }

  /** Creates and starts the container, as the compute host does after the API has responded. */
  begin(): void {
    this.#do(null, async () => {
      this.taskState = "image_pulling";
      await tick();
      this.taskState = "container_creating";
      this.status = "Created";
      await tick();
      this.#start();
      this.status = "Running";
    });
  }

  /** Refreshes the row like `show`, except during an action. */
  refresh(): void {
    if (this.taskState !== null) return;
    const process = this.#process;
    if (!process) return;
    if (process.ended) {
      this.status = "Stopped";
      this.statusDetail = `Exited(${process.ended.exitCode}) ${since(process.ended.atMs)} ago `;
    } else {
      this.status = "Running";
      this.statusDetail = `Up ${since(process.startedMs)}`;
    }
  }

  /** Refreshes only the status, like the periodic sync. */
  sync(): void {
    if (!this.#process) return;
    this.status = this.#process.ended ? "Stopped" : "Running";
  }

  /** `docker stop`. */
  stop(timeoutMs: number): void {
    this.#do("container_stopping", async () => {
      await this.#end(timeoutMs);
      this.status = "Stopped";
    });
  }

  /**
   * `docker restart`. The API sets the status before the compute host receives the request. Source: zun 18.0.0
   * zun/api/controllers/v1/containers.py (`reboot`).
   */
  reboot(timeoutMs: number): void {
    this.status = "Restarting";
    this.#do("container_rebooting", async () => {
      await this.#end(timeoutMs);
      this.#process?.remove();
      this.#restarts = true;
      this.#start();
      this.status = "Running";
    });
  }

  /** `docker kill`: Zun sets the status Stopped at once, for any signal. */
  kill(signal: NodeJS.Signals): void {
    this.#do("container_killing", async () => {
      this.#restarts = false;
      this.#process?.signal(signal);
      if (signal === "SIGKILL") await this.#process?.exited;
      this.status = "Stopped";
    });
  }

  /** `docker rm`, which refuses a running container. */
  remove(stopFirst: boolean): void {
    if (stopFirst && this.status === "Running") this.stop(10_000);
    this.#do("container_deleting", async () => {
      if (this.#process && !this.#process.ended) {
        this.status = "Error";
        this.statusReason = "You cannot remove a running container. Stop the container before attempting removal or force remove";
        return;
      }
      await tick();
      this.#process?.remove();
      this.isGone = true;
    });
  }

  /** Simulates the loss of the container with its host, possibly during its creation. */
  async lose(): Promise<void> {
    this.isGone = true;
    this.#restarts = false;
    this.#process?.signal("SIGKILL");
    await this.#process?.exited;
    this.#process?.remove();
  }

  /** Prepares a command. */
  createExec(command: readonly string[]): { readonly execId: string; readonly token: string } {
    const execId = randomBytes(32).toString("hex");
    const token = randomUUID();
    this.execs.set(execId, { token, command });
    return { execId, token };
  }

  /** The running process. @throws ApiFault if there is none */
  running(): ContainerProcess {
    if (!this.#process || this.#process.ended) throw new ApiFault(409, "container.conflict", "the container does not run");
    return this.#process;
  }

  /** Runs one action at a time. Source: `@utils.synchronized(container.uuid)`. */
  #do(taskState: string | null, action: () => Promise<void>): void {
    this.#lock = this.#lock.then(async () => {
      if (this.isGone) return;
      this.taskState = taskState;
      try {
        await action();
      } finally {
        this.taskState = null;
      }
    });
  }

  async #end(timeoutMs: number): Promise<void> {
    this.#restarts = false;
    const process = this.#process;
    if (!process || process.ended) return;
    process.signal("SIGTERM");
    const timer = setTimeout(() => process.signal("SIGKILL"), timeoutMs);
    await process.exited;
    clearTimeout(timer);
  }

  #start(): void {
    if (this.isGone) return;
    const { command, entrypoint, environment, interactive = false, mounts } = this.body;
    const plan: ProcessPlan = {
      command: [...(entrypoint ?? []), ...(command ?? [])],
      env: environment ?? {},
      hasInput: interactive,
      files: (mounts ?? [])
        .filter(({ type }) => type === "bind")
        .map(({ source = "", destination }) => ({ path: destination, content: Buffer.from(source, "base64") })),
    };
    const process = new ContainerProcess(plan, this.#reaper);
    this.#process = process;
    void process.exited.then((exitCode) => {
      const policy = this.body.restart_policy?.Name ?? "no";
      if (this.#restarts && !this.isGone && (policy === "always" || (policy === "on-failure" && exitCode !== 0))) {
        setTimeout(() => {
          if (this.#restarts) this.#start();
        }, 300).unref();
      }
    });
  }
}

function tick(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 10));
}
