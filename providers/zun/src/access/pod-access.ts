import type { AttachIO, Clock, ContainerLogOptions, ContainerLogs, ExecResult, Logger, PodRef, Random } from "@virtual-kubelet/core";
import { isNotFound, NotFoundError, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { PodFinder } from "../lifecycle/pod-finder.ts";
import type { Observation } from "../status/observation.ts";
import type { PodRegistry } from "../status/pod-registry.ts";
import type { ZunApi } from "../zun/zun-api.ts";
import { attachStreams } from "./attach-streams.ts";
import { openLogs } from "./container-logs.ts";
import { ExecRunner } from "./exec-runner.ts";
import { writeTo } from "./stream-input.ts";
import type { SocketSettings } from "./terminal-socket.ts";

export interface PodAccessOptions {
  readonly api: ZunApi;
  readonly finder: PodFinder;
  readonly registry: PodRegistry;
  readonly socket: SocketSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Output, commands and streams of a pod's only container: Zun gives no access to a capsule's. */
export class PodAccess implements AsyncDisposable {
  readonly #options: PodAccessOptions;
  readonly #exec: ExecRunner;

  constructor(options: PodAccessOptions) {
    this.#options = options;
    this.#exec = new ExecRunner(options);
  }

  /** As `ContainerAccess.getContainerLogs`. */
  async logs(ref: PodRef, container: string, options: ContainerLogOptions, signal: AbortSignal): Promise<ContainerLogs> {
    const { uuid } = await this.#containerOf(ref, container, "logs", signal);
    if (options.previous)
      throw new NotFoundError(
        `read the logs of container ${container} before its last start: Zun keeps one log for all runs of a container`,
      );
    const { api, clock } = this.#options;
    return openLogs(uuid, options, { api, clock, status: (inner) => this.#statusOf(ref, inner) }, signal);
  }

  /** As `ContainerAccess.runInContainer`. */
  async run(ref: PodRef, container: string, command: readonly string[], io: AttachIO, signal: AbortSignal): Promise<ExecResult> {
    const { uuid } = await this.#containerOf(ref, container, "exec", signal);
    return this.#exec.run({ uuid, command, io }, signal);
  }

  /** As `ContainerAccess.attachToContainer`. One without input is followed by its log, which Zun allows and its attach does not. */
  async attach(ref: PodRef, container: string, io: AttachIO, signal: AbortSignal): Promise<void> {
    const { api, socket } = this.#options;
    const { uuid, interactive } = await this.#containerOf(ref, container, "attach", signal);
    if (interactive) return attachStreams(uuid, io, { api, socket }, signal);
    const logs = await this.logs(ref, container, { follow: true, previous: false, timestamps: false, tailLines: 0 }, signal);
    for await (const chunk of logs.live ?? []) await writeTo(io.stdout, String(chunk).replaceAll(/^\S+ /gm, ""), signal);
  }

  /** Ends the commands that run. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#exec[Symbol.asyncDispose]();
  }

  async #statusOf(ref: PodRef, signal: AbortSignal): Promise<string | undefined> {
    try {
      return (await this.#options.finder.find(ref, signal)).status;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** The pod's only container. @throws NotFoundError for another name; UnsupportedError for a capsule's members */
  async #containerOf(ref: PodRef, container: string, what: "logs" | "exec" | "attach", signal: AbortSignal): Promise<Observation> {
    const { registry, finder } = this.#options;
    const observed = registry.observed(ref.uid) ?? (await finder.find(ref, signal));
    const { containers, initContainers } = observed.labels;
    if (![...containers, ...initContainers].includes(container))
      throw new NotFoundError(`${what} of container ${container}: pod ${ref.namespace}/${ref.name} has only ${containers.join(", ")}`);
    if (observed.kind === "capsule")
      throw new UnsupportedError(
        `${what} of container ${container}: a pod with several containers is a Zun capsule, and Zun gives no access to the containers of a capsule`,
      );
    return observed;
  }
}
