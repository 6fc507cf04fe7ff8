import { LinkedSignal } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { ContainerLogs } from "@virtual-kubelet/core";
import { codeOf, messageOf } from "@virtual-kubelet/errdefs";
import { SharedBudget } from "@virtual-kubelet/streaming";
import { logProblem } from "../logs/log-availability.ts";
import { applyLogOptions, missingTimes } from "../logs/log-body.ts";
import { parseLogQuery } from "../logs/log-query.ts";
import type { ContentAnswer } from "../server/answer.ts";
import { Refusal } from "../server/refusal.ts";
import { callerOf } from "../streams/stream-budgets.ts";
import type { StreamSlots } from "../streams/stream-slots.ts";
import { findContainer, type FoundPod } from "./pod-lookup.ts";
import { refusalOf } from "./provider-error.ts";
import type { Handler, KubeletRequest } from "./route.ts";
import type { NodeDirectory } from "./served-node.ts";

export interface ContainerLogsOptions {
  readonly directory: NodeDirectory;
  readonly clock: Clock;
  readonly slots: StreamSlots;
  /** Maximum bytes of one tail held in memory. */
  readonly maxTailBytes?: number | undefined;
}

/** Maximum bytes of all tails held in memory. A caller who exceeds its share has its log read twice. */
const maxSharedTailBytes = 64 * 1024 * 1024;

/** `/containerLogs`: a container's log. The response head is sent before the first byte, because a log may stay silent for long. */
export function containerLogsRoute({ directory, clock, slots, maxTailBytes }: ContainerLogsOptions): Handler {
  const tails = new SharedBudget(maxSharedTailBytes);
  return async (request): Promise<ContentAnswer> => {
    checkNames(request);
    const container = request.params["container"] ?? "";
    const options = parseLogQuery(request.query, clock.now());
    const { node, pod, ref } = requireLogs(request, directory);
    const problem = logProblem(pod, container, options);
    if (problem !== undefined) throw new Refusal(400, problem);

    const held = holdStream(slots, request);
    try {
      const open = (): Promise<ContainerLogs> => node.access.getContainerLogs(ref, container, options, held.signal);
      const logs = await open().catch((error: unknown) => {
        throw logRefusalOf(error);
      });
      const missing = missingTimes(logs, options);
      if (missing !== undefined)
        throw new Refusal(400, `container ${JSON.stringify(container)} in pod ${JSON.stringify(ref.name)}: ${missing}`);
      const tailShare = tails.share(callerOf(request));
      const body = touching(applyLogOptions(logs, options, { signal: held.signal, reopen: open, maxTailBytes, tailShare }), held);
      return {
        status: 200,
        headers: { "content-type": "text/plain; charset=utf-8" },
        body: withErrorText(body, request.signal),
        held,
        evicted: held.evicted,
        // Never compressed: kube-apiserver drops the last bytes of a compressed log that a client reads by WebSocket.
      };
    } catch (error) {
      held[Symbol.dispose]();
      throw error;
    }
  };
}

/** An open log with its stream slot. */
interface HeldLog extends Disposable {
  /** Aborts when the client disconnects, the slot is evicted, or this is disposed. */
  readonly signal: AbortSignal;
  /** {@link StreamSlot.signal} */
  readonly evicted: AbortSignal;
  /** {@link StreamSlot.touch} */
  touch(): void;
}

function holdStream(slots: StreamSlots, request: KubeletRequest): HeldLog {
  const slot = slots.take(request, { isLog: true });
  const linked = new LinkedSignal(request.signal, slot.signal);
  return {
    signal: linked.signal,
    evicted: slot.signal,
    touch: () => slot.touch(),
    [Symbol.dispose]: () => {
      using _slot = slot;
      using _linked = linked;
      linked.abort(new Error("the log request is over"));
    },
  };
}

/**
 * Response for a provider that has no log to show. kube-apiserver forwards the text of 400, 403 and 500, so problems of the container
 * become a 400, missing rights in the back end a 403, and its other problems a 500. Only a `retry-after` needs its own status.
 *
 * Source: kubernetes v1.36.3 staging/src/k8s.io/apimachinery/pkg/api/errors/errors.go, NewGenericServerResponse.
 */
function logRefusalOf(error: unknown): Refusal {
  const refusal = refusalOf(error);
  const code = codeOf(error);
  if (error instanceof Refusal || refusal.headers["retry-after"] !== undefined) return refusal;
  const isContainers = code === "VK_NOT_FOUND" || code === "VK_UNSUPPORTED" || code === "VK_INVALID_INPUT";
  return new Refusal(isContainers ? 400 : code === "VK_FORBIDDEN" ? 403 : 500, messageOf(error), { cause: error });
}

async function* touching(body: AsyncIterable<Uint8Array>, held: HeldLog): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of body) {
    held.touch();
    yield chunk;
  }
}

/** The log, followed by the text of an error: the status has already been sent. A kubelet does the same. */
async function* withErrorText(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* body;
  } catch (error) {
    if (!signal.aborted) yield Buffer.from(`${messageOf(error)}\n`);
  }
}

/** @throws Refusal 400 for an empty path segment. Source: kubernetes v1.36.3 pkg/kubelet/server/server.go. */
function checkNames({ params }: KubeletRequest): void {
  if (params["pod"] === "") throw new Refusal(400, '{"message": "Missing podID."}');
  if (params["container"] === "") throw new Refusal(400, '{"message": "Missing container name."}');
  if (params["namespace"] === "") throw new Refusal(400, '{"message": "Missing podNamespace."}');
}

/** @throws Refusal 404, worded as a kubelet does for logs */
function requireLogs({ params, node }: KubeletRequest, directory: NodeDirectory): FoundPod {
  const { namespace = "", pod: name = "", container = "" } = params;
  const located = directory.findPod(namespace, name, node);
  const uid = located?.pod.metadata?.uid;
  if (!located || uid === undefined) throw new Refusal(404, `pod ${JSON.stringify(name)} does not exist`);
  if (!findContainer(located.pod, container))
    throw new Refusal(404, `container ${JSON.stringify(container)} not found in pod ${JSON.stringify(name)}`);
  return { ...located, ref: { namespace, name, uid } };
}
