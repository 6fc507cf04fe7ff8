import { SingleFlight } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
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
    return this.#calls.run(NodeID, (inner) => this.#ask(nomad, ID, inner), signal);
  }

  async #ask(nomad: Pick<NomadClient, "stats">, allocation: string, signal: AbortSignal): Promise<void> {
    const late = new AbortController();
    const reason = new UnavailableError(`measure allocation ${allocation}: no answer within ${answerMs} ms`);
    using _timer = this.#clock.setTimer(answerMs, () => late.abort(reason));
    await nomad.stats(allocation, AbortSignal.any([signal, late.signal]));
  }
}
