import type { AttachIO, Clock, ExecResult, Logger, Random } from "@virtual-kubelet/core";
import { isConflict, isNotFound, UnsupportedError } from "@virtual-kubelet/errdefs";
import {
  followSnapshots,
  SnapshotPollers,
  type LogSnapshot,
  type OutputState,
  type RemoteTarget,
  type SnapshotQuery,
  writeTo,
} from "@virtual-kubelet/remote-pods";
import type { ZunObject } from "../status/zun-object.ts";
import { readObjectId } from "../lifecycle/listed-object.ts";
import type { ZunApi } from "../zun/zun-api.ts";
import { attachStreams } from "./attach-streams.ts";
import { ExecRunner } from "./exec-runner.ts";
import type { SocketSettings } from "./terminal-socket.ts";

/** States in which a container may still write. Source: zun 18.0.0 zun/common/consts.py. */
const live: ReadonlySet<string> = new Set(["Creating", "Created", "Running", "Paused", "Restarting", "Rebuilding"]);

export interface PodAccessOptions {
  readonly api: ZunApi;
  readonly socket: SocketSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Output, commands and streams of a pod's only container: Zun gives no access to a capsule's. */
export class PodAccess implements AsyncDisposable {
  readonly #options: PodAccessOptions;
  readonly #exec: ExecRunner;
  readonly #pollers: SnapshotPollers;

  constructor(options: PodAccessOptions) {
    this.#options = options;
    this.#exec = new ExecRunner(options);
    this.#pollers = new SnapshotPollers(options);
  }

  /** As `RemoteBackend.logSnapshot`. */
  async logSnapshot(
    target: RemoteTarget<ZunObject>,
    container: string,
    { tailLines, sinceTime }: SnapshotQuery,
    signal: AbortSignal,
  ): Promise<LogSnapshot> {
    const uuid = containerIn(target, container, "logs");
    // Docker takes what is too old away before it counts lines, and a kubelet after.
    const tail = sinceTime === undefined ? tailLines : undefined;
    const since = Date.parse(sinceTime ?? "") / 1000;
    // Zun takes whole seconds.
    const sinceSeconds = Number.isInteger(since) ? since : undefined;
    const applied = [
      ...(sinceSeconds === undefined ? [] : (["sinceTime"] as const)),
      ...(tail === undefined ? [] : (["tailLines"] as const)),
    ];
    try {
      return { text: await this.#options.api.logs(uuid, { timestamps: true, sinceSeconds, tail }, signal), hasTimestamps: true, applied };
    } catch (error) {
      // It is being made, or starts again: there is nothing yet.
      if (isConflict(error)) return { text: "", hasTimestamps: true };
      throw error;
    }
  }

  /** As `ContainerAccess.runInContainer`. */
  async exec(
    target: RemoteTarget<ZunObject>,
    container: string,
    command: readonly string[],
    io: AttachIO,
    signal: AbortSignal,
  ): Promise<ExecResult> {
    return this.#exec.run({ uuid: containerIn(target, container, "exec"), command, io }, signal);
  }

  /** As `ContainerAccess.attachToContainer`. One without input is followed by its log, which Zun allows and its attach does not. */
  async attach(target: RemoteTarget<ZunObject>, container: string, io: AttachIO, signal: AbortSignal): Promise<void> {
    const { api, socket } = this.#options;
    const uuid = containerIn(target, container, "attach");
    if (target.remote?.interactive) return attachStreams(uuid, io, { api, socket }, signal);
    let state: OutputState = { isRunning: true };
    const source = {
      read: async (query: SnapshotQuery, reading: AbortSignal): Promise<LogSnapshot> => {
        state = { isRunning: await this.#isLive(uuid, reading) };
        return this.logSnapshot(target, container, query, reading);
      },
      state: () => state,
    };
    const options = { follow: true, previous: false, timestamps: false, tailLines: 0 };
    const { live: lines } = await followSnapshots(this.#pollers, target.id, source, options, signal);
    for await (const chunk of lines ?? []) await writeTo(io.stdout, String(chunk).replaceAll(/^\S+ /gm, ""), signal);
  }

  /** Ends the commands that run. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#exec[Symbol.asyncDispose]();
  }

  async #isLive(uuid: string, signal: AbortSignal): Promise<boolean> {
    try {
      return live.has((await this.#options.api.showContainer(uuid, signal)).status ?? "");
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }
}

/** UUID of the pod's only container. @throws UnsupportedError for a capsule's members */
function containerIn({ id }: RemoteTarget<ZunObject>, container: string, what: "logs" | "exec" | "attach"): string {
  const { kind, uuid } = readObjectId(id);
  if (kind === "capsule")
    throw new UnsupportedError(
      `${what} of container ${container}: a pod with several containers is a Zun capsule, and Zun gives no access to the containers of a capsule`,
    );
  return uuid;
}
