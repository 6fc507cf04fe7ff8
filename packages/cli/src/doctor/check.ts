import type { Facts, NodeFacts } from "./facts.ts";
import type { Judgement } from "./finding.ts";

/** A check of the whole program. It changes nothing. */
export interface ProgramCheck {
  /** Stable name, such as `cluster.clock`. The part before the dot is its group. */
  readonly name: string;
  /** @throws SkippedError if it cannot be made; other errors are findings */
  run(facts: Facts, signal: AbortSignal): Promise<readonly Judgement[]>;
}

/** A check of one node. It changes nothing. */
export interface NodeCheck {
  /** Stable name, such as `node.ready`. */
  readonly name: string;
  /** @throws SkippedError if it cannot be made; other errors are findings */
  run(node: NodeFacts, signal: AbortSignal): Promise<readonly Judgement[]>;
}
