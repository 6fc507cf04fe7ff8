import { untilAborted } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { Logger, NodeDescription } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { NomadClient } from "../api/nomad-client.ts";
import type { NomadNode } from "../api/types.ts";
import type { NomadConfig } from "../config.ts";
import type { ClientFacts } from "../job/settings.ts";
import { Architectures } from "./architectures.ts";
import { describeNode, mhzPerCoreOf, usableClients } from "./clients.ts";

export interface NodeWatchOptions {
  readonly client: NomadClient;
  readonly config: NomadConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborts to stop the watch. */
  readonly signal: AbortSignal;
  /** Called when addresses of clients have become known. */
  readonly onAddresses: () => void;
}

const refreshMs = 60_000;

/** Keeps the known state of Nomad's clients. */
export class NodeWatch {
  readonly #options: NodeWatchOptions;
  readonly #architectures: Architectures;
  #nodes: readonly NomadNode[] | undefined;
  #memoryOversubscription = false;
  #reading: Promise<void> | undefined;
  #watching: Promise<void> | undefined;

  constructor(options: NodeWatchOptions) {
    this.#options = options;
    this.#architectures = new Architectures(options);
  }

  /** Resolves when all work has ended after the signal was aborted. */
  get done(): Promise<unknown> {
    return Promise.all([this.#reading?.catch(() => {}), this.#watching]);
  }

  /** Last known MHz of one CPU. */
  get mhzPerCore(): number {
    const { config } = this.#options;
    return mhzPerCoreOf(usableClients(this.#nodes ?? [], config), config);
  }

  /** Reads the facts about clients that jobs depend on. Asks the clients only once, and not if the configuration has all facts. */
  async readFacts(signal: AbortSignal): Promise<ClientFacts> {
    const { mhzPerCore, reserve } = this.#options.config;
    if (!this.#nodes && (mhzPerCore === undefined || reserve.memory === "auto")) await untilAborted(this.#readOnce(), signal);
    return { mhzPerCore: this.mhzPerCore, memoryOversubscription: this.#memoryOversubscription };
  }

  async describe(signal: AbortSignal): Promise<NodeDescription> {
    await this.#read(signal);
    return this.#describe();
  }

  /** Address of a client. An unknown address is requested in the background and announced by `onAddresses`. */
  addressOf(id: string): string | undefined {
    const known = this.#nodes?.find((node) => node.ID === id)?.Address;
    if (known === undefined && !this.#options.signal.aborted && !this.#reading) {
      this.#readOnce().then(
        () => this.#options.onAddresses(),
        (error: unknown) => this.#options.logger.debug({ err: messageOf(error) }, "the clients of Nomad cannot be listed"),
      );
    }
    return known;
  }

  /** Calls back when what the clients offer has changed. */
  listen(listener: () => void): void {
    this.#watching ??= this.#watch(listener);
  }

  async #watch(listener: () => void): Promise<void> {
    const { clock, logger, signal } = this.#options;
    const described = (): string | undefined => this.#nodes && JSON.stringify(this.#describe());
    while (!signal.aborted) {
      await clock.sleep(refreshMs, signal).catch(() => {});
      if (signal.aborted) return;
      const before = described();
      try {
        await this.#read(signal);
        if (described() !== before) listener();
      } catch (error) {
        logger.debug({ err: messageOf(error) }, "the clients of Nomad cannot be listed");
      }
    }
  }

  /** Reads once for many simultaneous pods. */
  #readOnce(): Promise<void> {
    this.#reading ??= this.#read(this.#options.signal).finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  #describe(): NodeDescription {
    return describeNode(this.#nodes ?? [], this.#options.config, this.#architectures);
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { client, config } = this.#options;
    const nodes = await client.listNodes(signal);
    await this.#architectures.read(usableClients(nodes, config), signal);
    if (config.reserve.memory === "auto") await this.#readOversubscription(signal);
    this.#nodes = nodes;
  }

  /** Counts as off without the right to read it: then the limit is reserved. */
  async #readOversubscription(signal: AbortSignal): Promise<void> {
    const { client, config, logger } = this.#options;
    try {
      this.#memoryOversubscription = await client.readMemoryOversubscription(config.nodePool ?? "default", signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#memoryOversubscription = false;
      logger.debug({ err: messageOf(error) }, "memory limits are reserved instead of requests");
    }
  }
}
