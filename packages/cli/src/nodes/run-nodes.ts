import type { Clock } from "@virtual-kubelet/clock";
import { NodeHeldError } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { Logger } from "@virtual-kubelet/kube-client";
import { exitCodes } from "../exit-codes.ts";
import { ConfigError } from "../program-error.ts";

/** The part of a {@link "@virtual-kubelet/core"!VirtualNode} that is used here. */
export interface RunnableNode {
  readonly ready: Promise<void>;
  run(signal: AbortSignal, options: { readonly shutdownTimeoutMs: number }): Promise<void>;
}

/** What {@link runNodes} needs. */
export interface RunNodesOptions {
  readonly nodes: readonly { readonly name: string; readonly node: RunnableNode }[];
  /** Ends all of them gracefully. */
  readonly signal: AbortSignal;
  /** How long until all are ready, in milliseconds; 0 is for ever. */
  readonly startupTimeoutMs: number;
  readonly shutdownTimeoutMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How much longer than the nodes themselves the program waits for them to stop. */
const stopSlackMs = 5_000;

/**
 * Runs nodes until the signal, or until one of them fails: then all of them stop, for a program that is half there
 * would go unnoticed.
 *
 * @returns the exit code; what went wrong has been logged
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
      if (!stop.aborted) fail(exitCodes.failure.code, new Error("it ended by itself"), "node failed", { node: name });
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
  const timer =
    startupTimeoutMs === 0
      ? undefined
      : clock.setTimer(startupTimeoutMs, () => {
          fail(
            exitCodes.unavailable.code,
            new Error(`not ready within ${startupTimeoutMs / 1000} s`),
            "start-up timed out; see --startup-timeout",
          );
        });
  void allReady.then((isReady) => {
    timer?.[Symbol.dispose]();
    if (isReady) logger.info({ nodes: nodes.length }, "ready");
  });

  const stopped = Promise.all(running);
  await Promise.race([stopped, aborted(stop)]);
  logger.info({ reason: messageOf(stop.reason) }, "stopping");
  if (await endsWithin(stopped, shutdownTimeoutMs + stopSlackMs, clock)) return exitCode;
  logger.error({ shutdownTimeoutMs }, "nodes did not stop in time; leaving them");
  return exitCode === exitCodes.ok.code ? exitCodes.failure.code : exitCode;
}

function outcomeOf(error: unknown): readonly [code: number, message: string] {
  if (error instanceof NodeHeldError) return [exitCodes.config.code, "another instance runs the node"];
  if (error instanceof ConfigError) return [error.exitCode, "the provider refuses its settings"];
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
