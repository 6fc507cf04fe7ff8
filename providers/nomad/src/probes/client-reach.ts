import { SingleFlight, withDeadline } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { NomadClient } from "../api/nomad-client.ts";
import type { Allocation } from "../api/types.ts";

/** How long a client may take to answer, in milliseconds. */
const answerMs = 5_000;

/** Tells a container that fails from a client that is away: nothing is known of a container whose client Nomad does not reach. */
export class ClientReach {
  readonly #clock: Clock;
  readonly #calls = new SingleFlight<void>();

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  /** Asks the allocation's client, once for all who ask at the same time. @throws if it does not answer */
  check(nomad: Pick<NomadClient, "stats">, { ID, NodeID }: Pick<Allocation, "ID" | "NodeID">, signal: AbortSignal): Promise<void> {
    const deadline = { clock: this.#clock, timeoutMs: answerMs, what: `measure allocation ${ID}` };
    return this.#calls.run(NodeID, (inner) => withDeadline(deadline, inner, async (limit) => void (await nomad.stats(ID, limit))), signal);
  }
}
