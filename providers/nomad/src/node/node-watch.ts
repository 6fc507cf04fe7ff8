import { untilAborted, type Clock, type Logger, type NodeDescription } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { NomadClient } from "../api/nomad-client.ts";
import type { NomadNode } from "../api/types.ts";
import type { NomadConfig } from "../config.ts";
import { describeNode, mhzPerCoreOf, usableClients } from "./clients.ts";

/** What a {@link NodeWatch} needs. */
export interface NodeWatchDeps {
  readonly client: NomadClient;
  readonly config: NomadConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborts when it is to end. */
  readonly signal: AbortSignal;
  /** Addresses of clients have become known. */
  readonly onAddresses: () => void;
}

const refreshMs = 60_000;

/** What is known of Nomad's clients. */
export class NodeWatch {
  readonly #deps: NodeWatchDeps;
  #nodes: readonly NomadNode[] | undefined;
  #reading: Promise<void> | undefined;
  #watching: Promise<void> | undefined;

  constructor(deps: NodeWatchDeps) {
    this.#deps = deps;
  }

  /** Resolves when nothing is under way any more, after the signal has aborted. */
  get done(): Promise<unknown> {
    return Promise.all([this.#reading?.catch(() => {}), this.#watching]);
  }

  /** As last known. */
  get mhzPerCore(): number {
    const { config } = this.#deps;
    return mhzPerCoreOf(usableClients(this.#nodes ?? [], config), config);
  }

  async readMhzPerCore(signal: AbortSignal): Promise<number> {
    if (!this.#nodes && this.#deps.config.mhzPerCore === undefined) await untilAborted(this.#readOnce(), signal);
    return this.mhzPerCore;
  }

  async describe(signal: AbortSignal): Promise<NodeDescription> {
    await this.#read(signal);
    return describeNode(this.#nodes ?? [], this.#deps.config);
  }

  /** Address of a client; one that is not known is asked for, and told of later. */
  addressOf(id: string): string | undefined {
    const known = this.#nodes?.find((node) => node.ID === id)?.Address;
    if (known === undefined && !this.#deps.signal.aborted && !this.#reading) {
      this.#readOnce().then(
        () => this.#deps.onAddresses(),
        (error: unknown) => this.#deps.logger.debug({ err: messageOf(error) }, "the clients of Nomad cannot be listed"),
      );
    }
    return known;
  }

  /** Calls back when what the clients offer has changed. */
  listen(listener: () => void): void {
    this.#watching ??= this.#watch(listener);
  }

  async #watch(listener: () => void): Promise<void> {
    const { clock, config, logger, signal } = this.#deps;
    const described = (): string | undefined => this.#nodes && JSON.stringify(describeNode(this.#nodes, config));
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

  /** Many pods at once ask once. */
  #readOnce(): Promise<void> {
    this.#reading ??= this.#read(this.#deps.signal).finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #read(signal: AbortSignal): Promise<void> {
    this.#nodes = await this.#deps.client.listNodes(signal);
  }
}
