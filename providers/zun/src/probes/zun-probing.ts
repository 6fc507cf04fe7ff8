import type { AttachIO, Clock, ExecResult } from "@virtual-kubelet/core";
import { isConflict, messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import type { FailedContainer } from "@virtual-kubelet/pod-runtime/probes";
import type { RemoteProbing, RemoteTarget } from "@virtual-kubelet/remote-pods";
import { toCommandLine } from "@virtual-kubelet/remote-pods";
import { longestStopSeconds } from "../lifecycle/end-step.ts";
import { readObjectId } from "../lifecycle/listed-object.ts";
import type { ZunObject } from "../status/zun-object.ts";
import type { ZunApi } from "../zun/zun-api.ts";

export interface ZunProbingOptions {
  readonly api: Pick<ZunApi, "execute" | "showContainer" | "rebootContainer" | "stopContainer">;
  readonly clock: Clock;
}

/** Commands of probes, and restarts of containers whose probes fail. */
export class ZunProbing implements RemoteProbing<ZunObject> {
  readonly #options: ZunProbingOptions;
  /** When Zun accepted the last restart of an object, by id. */
  readonly #rebootedAtMs = new Map<string, number>();

  constructor(options: ZunProbingOptions) {
    this.#options = options;
  }

  /** All probes: Zun has none, and those that cannot be run are refused with the pod. */
  runs(): boolean {
    return true;
  }

  /** Time at which Zun accepted the last restart of an object, in milliseconds since the epoch. */
  rebootedAtMs(id: string): number | undefined {
    return this.#rebootedAtMs.get(id);
  }

  /** Forgets an object that is gone. */
  forget(id: string): void {
    this.#rebootedAtMs.delete(id);
  }

  /** Zun runs the command to its end, and tells its output and exit code. */
  async exec(
    { id }: RemoteTarget<ZunObject>,
    _container: string,
    command: readonly string[],
    { stdout }: AttachIO,
    signal: AbortSignal,
  ): Promise<ExecResult> {
    const { uuid } = readObjectId(id);
    try {
      const { output, exit_code: exitCode } = await this.#options.api.execute(uuid, { command: toCommandLine(command), run: true }, signal);
      if (typeof exitCode !== "number") throw new UnavailableError("run a probe's command: Zun reports no exit code");
      stdout?.write(Buffer.from(output ?? ""));
      return { exitCode };
    } catch (error) {
      // Zun's own limit has passed. Source: zun 18.0.0 zun/container/docker/driver.py (`execute_run`).
      if (!isConflict(error) || !/timeout on executing/i.test(messageOf(error))) throw error;
      stdout?.write(Buffer.from("the command took longer than Zun lets it"));
      return { exitCode: 1 };
    }
  }

  /** A container is shown as its host says; a capsule comes from Zun's database, which confirms nothing. */
  async confirm({ id }: RemoteTarget<ZunObject>, signal: AbortSignal): Promise<void> {
    const { kind, uuid } = readObjectId(id);
    if (kind === "container") await this.#options.api.showContainer(uuid, signal);
  }

  /** Has Zun restart the container, or stop it for good. */
  async endContainer(
    { id, remote }: RemoteTarget<ZunObject>,
    { name, graceSeconds: wanted, isRestarted }: FailedContainer,
    signal: AbortSignal,
  ): Promise<void> {
    const { api, clock } = this.#options;
    const { uuid } = readObjectId(id);
    if (remote?.status !== "Running")
      throw new UnavailableError(`end container ${name}: Zun says ${remote?.status}, and ends only what is Running`);
    const graceSeconds = Math.min(wanted, longestStopSeconds);
    if (!isRestarted) return api.stopContainer(uuid, graceSeconds, signal);
    await api.rebootContainer(uuid, graceSeconds, signal);
    this.#rebootedAtMs.set(id, clock.now());
  }
}
