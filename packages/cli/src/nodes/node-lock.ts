import type { Clock } from "@virtual-kubelet/clock";
import { makeDirectory } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { Logger } from "@virtual-kubelet/kube-client";
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { askDecision, askPid, Claim, claimsIn, removeUnfinished, type ClaimFolder } from "./node-claim.ts";
import { ConfigError } from "../program-error.ts";

/** Longest node name that is part of a file's name as it stands. */
const maxNameLength = 40;

/** How long a program that stands by waits between two tries, in milliseconds. */
const standbyMs = 1_000;

/** What {@link lockNode} needs. */
export interface NodeLockOptions {
  readonly nodeName: string;
  /** Where the node's certificates are; made if it is not there. */
  readonly directory: string;
  /** Said to whoever comes second. */
  readonly pid: number;
  /** Wait for the first program to end instead of refusing. */
  readonly standby: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Holds a node against a second program on this host: two copies with one identity would take the node's Lease from each other in turn
 * for as long as something restarts them. The lock is a socket that the program listens on, so it ends with the process, however
 * that ends. Where none can be made the program goes on, since its Lease still says who holds the node.
 *
 * @returns what lets go of the node
 * @throws ConfigError if a living program has it, and this one does not stand by
 */
export async function lockNode(options: NodeLockOptions): Promise<AsyncDisposable> {
  const { nodeName, directory, standby, clock, logger, signal } = options;
  for (let isFirst = true; ; isFirst = false) {
    const outcome = await tryLock(options);
    if (outcome.kind === "locked") return outcome.lock;
    if (outcome.kind === "impossible") {
      logger.warn(
        { node: nodeName, err: messageOf(outcome.error) },
        "a second program on this host would not be noticed at once: no lock can be made beside the certificates",
      );
      return { [Symbol.asyncDispose]: () => Promise.resolve() };
    }
    const holder = `process ${outcome.holder}`;
    if (!standby)
      throw new ConfigError(
        `node ${nodeName}: ${holder} on this host runs it already (${join(directory, claimPrefix(nodeName))}*); ` +
          "stop that one, give this one another --nodename, or, where it is a node of another cluster, another --cert-dir",
      );
    if (isFirst) logger.info({ node: nodeName, holder }, "another program on this host runs the node; standing by");
    await clock.sleep(standbyMs, signal);
  }
}

/** The process id of the program on this host that runs the node, as far as it says; `undefined` if none does, or it cannot be told. */
export async function lockHolder(options: Pick<NodeLockOptions, "directory" | "nodeName" | "clock">): Promise<string | undefined> {
  const { directory, nodeName, clock } = options;
  try {
    await using handle = await open(directory);
    const folder: ClaimFolder = { directory, handle, prefix: claimPrefix(nodeName), clock };
    for (const name of await claimsIn(folder)) {
      const answer = await askDecision(folder, name);
      if (answer?.isHeld) return answer.pid;
    }
    return undefined;
  } catch {
    return undefined;
  }
}

type Outcome =
  | { readonly kind: "locked"; readonly lock: AsyncDisposable }
  /** `holder` is its process id, as far as it says. */
  | { readonly kind: "held"; readonly holder: string }
  | { readonly kind: "impossible"; readonly error: unknown };

async function tryLock({ directory, nodeName, pid, clock }: NodeLockOptions): Promise<Outcome> {
  await using acquired = new AsyncDisposableStack();
  try {
    await makeDirectory(directory, 0o700);
    const handle = acquired.use(await open(directory));
    const folder: ClaimFolder = { directory, handle, prefix: claimPrefix(nodeName), clock };
    const claim = acquired.use(await Claim.make(folder, pid));
    const holder = await strongerThan(claim, folder);
    if (holder !== undefined) return { kind: "held", holder };
    claim.hold();
    await removeUnfinished(folder);
    return { kind: "locked", lock: acquired.move() };
  } catch (error) {
    return { kind: "impossible", error };
  }
}

/**
 * Waits until a claim wins or loses. It wins once no other is left. It loses to one that holds the node, and to one whose name comes
 * first; one whose name comes later loses to this one, unless it holds the node already. Each claim is seen by all others before it
 * looks at them, so of two that decide at the same time at least one sees the other.
 *
 * @returns the process id of the program that has the node; `undefined` if the claim wins
 */
async function strongerThan(claim: Claim, folder: ClaimFolder): Promise<string | undefined> {
  for (const name of await claimsIn(folder)) {
    if (name === claim.name) continue;
    if (name < claim.name) {
      const pid = await askPid(folder, name);
      if (pid !== undefined) return pid;
    } else {
      const answer = await askDecision(folder, name);
      if (answer?.isHeld) return answer.pid;
    }
  }
  return undefined;
}

function claimPrefix(nodeName: string): string {
  const name = nodeName.length <= maxNameLength ? nodeName : createHash("sha256").update(nodeName).digest("hex").slice(0, maxNameLength);
  return `${name}.lock.`;
}
