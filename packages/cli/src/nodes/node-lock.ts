import type { Clock } from "@virtual-kubelet/clock";
import { makeDirectory } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { Logger } from "@virtual-kubelet/kube-client";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { askDecision, askPid, Claim, claimsIn, removeUnfinished, type ClaimFolder } from "./node-claim.ts";
import { socketPrefix } from "./socket-folder.ts";
import { ConfigError } from "../program-error.ts";

/** Interval at which a standby program tries again, in milliseconds. */
const standbyMs = 1_000;

export interface NodeLockOptions {
  readonly nodeName: string;
  /** Folder of the node's certificates; created if missing. */
  readonly directory: string;
  /** Reported to other programs that want the node. */
  readonly pid: number;
  /** Wait for the holder to end instead of failing. */
  readonly standby: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Returns the message of the error, of a program such as `process 4711` that has the lock. Default: it runs the node. */
  readonly describeHeld?: ((holder: string) => string) | undefined;
  /** Called with a description of the program that this one waits for, and with `undefined` when it no longer waits. */
  readonly onWait?: ((holder: string | undefined) => void) | undefined;
}

/**
 * Locks a node against a second program on this host. Two copies with the same identity would otherwise take the node's Lease from each
 * other for as long as they are restarted. The lock is a socket that the program listens on, so it ends with the process. If it cannot be
 * created, the program continues, because the Lease still determines the holder.
 *
 * @returns disposable that releases the lock
 * @throws ConfigError if a running program holds the node and this one does not stand by
 */
export async function lockNode(options: NodeLockOptions): Promise<AsyncDisposable> {
  const { nodeName, directory, standby, clock, logger, signal } = options;
  for (let isFirst = true; ; isFirst = false) {
    const outcome = await tryLock(options);
    if (outcome.kind !== "held") options.onWait?.(undefined);
    if (outcome.kind === "locked") return outcome.lock;
    if (outcome.kind === "impossible") {
      logger.warn(
        { node: nodeName, err: messageOf(outcome.error) },
        "the node cannot be locked against a second program on this host: no lock can be created beside the certificates",
      );
      return { [Symbol.asyncDispose]: () => Promise.resolve() };
    }
    const holder = `process ${outcome.holder}`;
    if (!standby)
      throw new ConfigError(
        options.describeHeld?.(holder) ??
          `node ${nodeName}: ${holder} on this host is already running it (${join(directory, socketPrefix(nodeName, "lock"))}*); ` +
            "stop that one, or give this one another --nodename, or another --cert-dir if it is a node of another cluster",
      );
    options.onWait?.(holder);
    if (isFirst) logger.info({ node: nodeName, holder }, "another program on this host runs the node; standing by");
    await clock.sleep(standbyMs, signal);
  }
}

/** Process ID of the program on this host that runs the node; `undefined` if there is none or that cannot be determined. */
export async function lockHolder(options: Pick<NodeLockOptions, "directory" | "nodeName" | "clock">): Promise<string | undefined> {
  const { directory, nodeName, clock } = options;
  try {
    await using handle = await open(directory);
    const folder: ClaimFolder = { directory, handle, prefix: socketPrefix(nodeName, "lock"), clock };
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
  /** `holder` is the process ID that the program reports. */
  | { readonly kind: "held"; readonly holder: string }
  | { readonly kind: "impossible"; readonly error: unknown };

async function tryLock({ directory, nodeName, pid, clock }: NodeLockOptions): Promise<Outcome> {
  await using acquired = new AsyncDisposableStack();
  try {
    await makeDirectory(directory, 0o700);
    const handle = acquired.use(await open(directory));
    const folder: ClaimFolder = { directory, handle, prefix: socketPrefix(nodeName, "lock"), clock };
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
 * Waits until a claim wins or loses. It wins when no other claim is left. It loses to one that holds the node, and to one whose name sorts
 * before its own; one whose name sorts after it loses, unless it already holds the node. A claim is visible before its program looks at the
 * others, so of two simultaneous ones at least one sees the other.
 *
 * @returns process ID of the program that has the node; `undefined` if the claim wins
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
