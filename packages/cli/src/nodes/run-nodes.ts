import type { Clock } from "@virtual-kubelet/clock";
import { IdentityHeldError, NodeHeldError, type VirtualNodeHealth } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { Logger } from "@virtual-kubelet/kube-client";
import { exitCodes } from "../exit-codes.ts";
import { ConfigError } from "../program-error.ts";

/** The used part of {@link "@virtual-kubelet/core"!VirtualNode}. */
export interface RunnableNode {
  readonly ready: Promise<void>;
  readonly health: Pick<VirtualNodeHealth, "ready" | "standingBy">;
  run(signal: AbortSignal, options: { readonly shutdownTimeoutMs: number }): Promise<void>;
}

export interface RunNodesOptions {
  readonly nodes: readonly { readonly name: string; readonly node: RunnableNode }[];
  /** Stops all nodes gracefully. */
  readonly signal: AbortSignal;
  /** Timeout until all nodes are ready, in milliseconds; 0 disables it. Time during which a node stands by does not count. */
  readonly startupTimeoutMs: number;
  readonly shutdownTimeoutMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How often it is looked whether a node stands by, in milliseconds. */
const standbyLookMs = 1_000;

/** Additional time that the program waits for the nodes to stop. */
const stopSlackMs = 5_000;

/**
 * Runs nodes until the signal aborts or one of them fails. Then all of them stop, because a program with only some of its nodes could go
 * unnoticed.
 *
 * @returns exit code; errors have been logged
 */
export async function runNodes(options: RunNodesOptions): Promise<number> {
  const { nodes, signal, startupTimeoutMs, shutdownTimeoutMs, clock, logger } = options;
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  let exitCode = exitCodes.ok.code;
  const fail = (code: number, error: unknown, message: string, fields: Record<string, unknown> = {}): void => {
    if (exitCode === exitCodes.ok.code) exitCode = code;
    logger.error({ ...fields, err: error }, message);
    failed.abort(error);
  };

  const running = nodes.map(async ({ name, node }) => {
    try {
      await node.run(stop, { shutdownTimeoutMs });
      if (!stop.aborted) fail(exitCodes.failure.code, new Error("it ended unexpectedly"), "node failed", { node: name });
    } catch (error) {
      if (stop.aborted && error === stop.reason) return;
      const [code, message] = outcomeOf(error);
      fail(code, error, message, { node: name });
    }
  });
  const allReady = Promise.all(nodes.map(({ node }) => node.ready)).then(
    () => true,
    () => false,
  );
  const started = new AbortController();
  if (startupTimeoutMs > 0) {
    limitStartup(options, AbortSignal.any([started.signal, stop])).then(
      () => {
        const error = new Error(`not ready within ${startupTimeoutMs / 1000} s`);
        fail(exitCodes.unavailable.code, error, "start-up timed out; see --startup-timeout");
      },
      () => {},
    );
  }
  void allReady.then((isReady) => {
    started.abort();
    if (isReady) logger.info({ nodes: nodes.length }, "ready");
  });

  const stopped = Promise.all(running);
  await Promise.race([stopped, aborted(stop)]);
  logger.info({ reason: messageOf(stop.reason) }, "stopping");
  if (await endsWithin(stopped, shutdownTimeoutMs + stopSlackMs, clock)) return exitCode;
  logger.error({ shutdownTimeoutMs }, "nodes did not stop in time; exiting without them");
  return exitCode === exitCodes.ok.code ? exitCodes.failure.code : exitCode;
}

/**
 * Resolves when the start has lasted too long. While all nodes that are not ready stand by, the time stands still: a copy can stand by for
 * weeks, and must then be able to take over.
 */
async function limitStartup({ nodes, startupTimeoutMs, clock }: RunNodesOptions, signal: AbortSignal): Promise<void> {
  let leftMs = startupTimeoutMs;
  while (leftMs > 0) {
    const stepMs = Math.min(standbyLookMs, leftMs);
    await clock.sleep(stepMs, signal);
    if (nodes.some(({ node: { health } }) => !health.ready && !health.standingBy)) leftMs -= stepMs;
  }
}

function outcomeOf(error: unknown): readonly [code: number, message: string] {
  if (error instanceof IdentityHeldError) return [exitCodes.config.code, "another instance has this one's identity"];
  if (error instanceof NodeHeldError) return [exitCodes.config.code, "another instance runs the node"];
  if (error instanceof ConfigError) return [error.exitCode, "the provider rejects its settings"];
  return [exitCodes.failure.code, "node failed"];
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

async function endsWithin(work: Promise<unknown>, limitMs: number, clock: Clock): Promise<boolean> {
  const expired = Promise.withResolvers<boolean>();
  using _timer = clock.setTimer(limitMs, () => expired.resolve(false));
  return await Promise.race([work.then(() => true), expired.promise]);
}
