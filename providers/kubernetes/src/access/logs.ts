import { LinkedSignal } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { ContainerLogOptions, ContainerLogs } from "@virtual-kubelet/core";
import type { FarConnection } from "../far/far-cluster.ts";
import { explainRefusal } from "./far-refusal.ts";
import { subresourcePath, type FarTarget } from "./far-target.ts";

/**
 * Longest wait for the far cluster to accept a followed log. Kubelets send nothing, not even the head of their answer, before the first
 * line of the log, while a refusal comes at once.
 *
 * Source: kubernetes v1.36.3 pkg/kubelet/server/server.go, getContainerLogs.
 */
const acceptMs = 1_000;

/**
 * Reads the log of a far container. The far kubelet applies the options; like each API server before it, it knows `sinceTime` in whole
 * seconds.
 *
 * @throws NotFoundError; InvalidInputError for a container that has not started; see {@link explainRefusal}; `signal.reason`
 */
export async function readFarLogs(
  { connection, clock, target }: { readonly connection: FarConnection; readonly clock: Clock; readonly target: FarTarget },
  container: string,
  options: ContainerLogOptions,
  signal: AbortSignal,
): Promise<ContainerLogs> {
  signal.throwIfAborted();
  const { follow, previous, timestamps, sinceTime, tailLines, limitBytes } = options;
  const path = subresourcePath(target, "log", { container, follow, previous, timestamps, sinceTime, tailLines, limitBytes });
  const linked = new LinkedSignal(signal);
  const answer = connection.stream(path, linked.signal).catch((error: unknown) => {
    linked[Symbol.dispose]();
    signal.throwIfAborted();
    throw explainRefusal(error, target, "log");
  });
  // Who reads the log gets the error.
  answer.catch(() => {});
  await (follow ? Promise.race([answer, waited(clock, answer, signal)]) : answer);
  return { data: bodyOf(answer, linked), timestamps, applied: ["sinceTime", "tailLines", "limitBytes"] };
}

/** Resolves after {@link acceptMs}, or with the answer. */
async function waited(clock: Clock, answer: Promise<unknown>, signal: AbortSignal): Promise<void> {
  using linked = new LinkedSignal(signal);
  const onAnswer = (): void => linked.abort(undefined);
  answer.then(onAnswer, onAnswer);
  await clock.sleep(acceptMs, linked.signal).catch(() => {});
  signal.throwIfAborted();
}

/** The answer's body. Not a generator, because leaving it must abort a request that has no answer yet. */
function bodyOf(answer: ReturnType<FarConnection["stream"]>, linked: LinkedSignal): AsyncIterable<Uint8Array> {
  let chunks: AsyncIterator<Uint8Array> | undefined;
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        chunks ??= (await answer).body[Symbol.asyncIterator]();
        const next = await chunks.next();
        if (next.done === true) linked[Symbol.dispose]();
        return next;
      },
      async return() {
        linked.abort(new Error("the log is no longer read"));
        linked[Symbol.dispose]();
        await chunks?.return?.();
        return { done: true, value: undefined };
      },
    }),
  };
}
