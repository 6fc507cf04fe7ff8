import type {
  AttachIO,
  ContainerLogOptions,
  ContainerLogs,
  ContainerStats,
  ExecResult,
  FsStats,
  NetworkStats,
} from "@virtual-kubelet/core";
import { CgroupMeter, type ContainerRuntime } from "@virtual-kubelet/pod-runtime";
import type { Duplex } from "node:stream";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { attachContainer } from "./attach-container.ts";
import { containerLogs } from "./container-logs.ts";
import { execCommand } from "./exec-command.ts";
import { forwardPort } from "./forward-port.ts";
import { NamespaceDialers } from "./namespace-dialers.ts";
import { StatsReader } from "./stats-reader.ts";

/** The part of a {@link ContainerRuntime} that is streams and figures. Ids are the engine's. */
export class ContainerStreams
  implements Pick<ContainerRuntime, "exec" | "attach" | "logs" | "portForward" | "stats" | "network">, AsyncDisposable
{
  readonly #engine: DockerEngine;
  readonly #stats: StatsReader;
  readonly #dialers = new NamespaceDialers();

  /** @param labels - of the containers whose disk is measured; default: all containers */
  constructor(engine: DockerEngine, labels?: Readonly<Record<string, string>>) {
    this.#engine = engine;
    this.#stats = new StatsReader({ engine, meter: new CgroupMeter({ clock: engine.clock }), labels });
  }

  /** As {@link ContainerRuntime.exec}; see {@link execCommand}. */
  exec(id: string, command: readonly string[], io: AttachIO, signal: AbortSignal): Promise<ExecResult> {
    return execCommand(this.#engine, id, command, io, signal);
  }

  /** As {@link ContainerRuntime.attach}; see {@link attachContainer}. */
  attach(id: string, io: AttachIO, signal: AbortSignal): Promise<void> {
    return attachContainer(this.#engine, id, io, signal);
  }

  /** As {@link ContainerRuntime.logs}; see {@link containerLogs}. */
  logs(id: string, options: ContainerLogOptions, signal: AbortSignal): Promise<ContainerLogs> {
    return containerLogs(this.#engine, id, options, signal);
  }

  /** As {@link ContainerRuntime.portForward}; see {@link forwardPort}. */
  portForward(sandboxId: string, port: number, stream: Duplex, signal: AbortSignal): Promise<void> {
    return forwardPort({ engine: this.#engine, dialers: this.#dialers }, sandboxId, port, stream, signal);
  }

  /** As {@link ContainerRuntime.stats}. */
  stats(id: string, signal: AbortSignal): Promise<ContainerStats> {
    return this.#stats.container(id, signal);
  }

  /** As {@link ContainerRuntime.network}. */
  network(sandboxId: string, signal: AbortSignal): Promise<NetworkStats> {
    return this.#stats.network(sandboxId, signal);
  }

  /** Takes in what the engine has said of a container, so that it need not be asked again when the container is measured. */
  noteInspected(answer: unknown): void {
    this.#stats.noteInspected(answer);
  }

  /** What the engine's images take up, and the disk they are on, as last measured; `undefined` until they were. */
  imageFs(): FsStats | undefined {
    return this.#stats.images();
  }

  /** Ends what is being measured aside, and the processes that dial into pods. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#dialers[Symbol.dispose]();
    await this.#stats[Symbol.asyncDispose]();
  }
}
