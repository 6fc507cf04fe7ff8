import type { Logger } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { NomadClient } from "../api/nomad-client.ts";
import type { NomadNode } from "../api/types.ts";

export interface ArchitecturesOptions {
  readonly client: Pick<NomadClient, "listNodesWith">;
  readonly logger: Logger;
}

/** Architectures of images and nodes, in Go's words, the usual ones first. */
const known = ["amd64", "arm64", "arm", "riscv64", "ppc64le", "s390x", "386"] as const;

/**
 * The processor architectures of clients. Nomad's lists do not show them, but can be filtered by them, so that clients that are all alike
 * cost one list more. No client is asked about twice, because none changes its architecture.
 */
export class Architectures {
  readonly #options: ArchitecturesOptions;
  /** By the client's ID; `undefined` for one that is of none that is known. */
  readonly #byId = new Map<string, string | undefined>();

  constructor(options: ArchitecturesOptions) {
    this.#options = options;
  }

  of({ ID }: Pick<NomadNode, "ID">): string | undefined {
    return this.#byId.get(ID);
  }

  /** Asks about the clients that are new. Without an answer it is asked again the next time. */
  async read(clients: readonly NomadNode[], signal: AbortSignal): Promise<void> {
    let open = clients.filter(({ ID }) => !this.#byId.has(ID));
    try {
      for (const architecture of known) {
        if (open.length === 0) return;
        const ids = await this.#options.client.listNodesWith("cpu.arch", architecture, signal);
        for (const { ID } of open) if (ids.has(ID)) this.#byId.set(ID, architecture);
        open = open.filter(({ ID }) => !ids.has(ID));
      }
      for (const { ID } of open) this.#byId.set(ID, undefined);
    } catch (error) {
      signal.throwIfAborted();
      this.#options.logger.debug({ err: messageOf(error) }, "the architectures of Nomad's clients cannot be read");
    }
  }
}
