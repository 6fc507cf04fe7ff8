import { LinkedSignal } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import { isTerminalPhase, type AttachIO } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Logger, Pod } from "@virtual-kubelet/kube-client";
import { acceptRemoteCommand, type RemoteCommandResult, type RemoteCommandSession, type StreamingLimits } from "@virtual-kubelet/streaming";
import type { Duplex } from "node:stream";
import { containerStatus } from "../logs/log-availability.ts";
import { findContainer, requirePod, type FoundPod, type SpecContainer } from "../routes/pod-lookup.ts";
import type { Handler, KubeletRequest } from "../routes/route.ts";
import type { NodeDirectory } from "../routes/served-node.ts";
import { taken } from "../server/answer.ts";
import { Refusal } from "../server/refusal.ts";
import { attachInput } from "./attach-input.ts";
import { audited, beginAudit, type AuditOptions } from "./audit.ts";
import { noResizes } from "./no-resizes.ts";
import { parseRemoteCommandQuery, type RemoteCommandQuery } from "./remote-command-query.ts";
import { requireUpgrade } from "./require-upgrade.ts";
import type { StreamBudgets } from "./stream-budgets.ts";
import type { StreamSlot, StreamSlots } from "./stream-slots.ts";

export interface StreamRoutesOptions {
  readonly directory: NodeDirectory;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly slots: StreamSlots;
  readonly budgets: StreamBudgets;
  readonly limits: StreamingLimits;
  readonly audit?: AuditOptions | undefined;
}

/** The container that a request addresses. */
interface Target {
  readonly found: FoundPod;
  readonly container: SpecContainer;
  readonly query: RemoteCommandQuery;
}

/** `/exec`: runs a command in a container. */
export function execRoute(options: StreamRoutesOptions): Handler {
  return (request) => {
    const query = parseRemoteCommandQuery(request.query);
    const record = beginAudit(request, { verb: "exec", command: query.command }, options);
    return audited(record, async () => {
      if (query.command.length === 0) throw new Refusal(400, "you must specify the command to run");
      const found = requirePod(request, options.directory);
      const target = { query, found, container: requireRunning(request, found, (name) => `container not found (${JSON.stringify(name)})`) };
      return stream(request, options, (session, signal) => runCommand(target, session, signal));
    });
  };
}

/** `/attach`: connects to the streams of a container's main process. The container's spec determines whether it has a terminal. */
export function attachRoute(options: StreamRoutesOptions): Handler {
  return (request) => {
    const query = parseRemoteCommandQuery(request.query);
    return audited(beginAudit(request, { verb: "attach" }, options), async () => {
      const found = requirePod(request, options.directory);
      const { name: pod, namespace } = found.ref;
      const target = {
        query,
        found,
        container: requireRunning(request, found, (name) => `container ${name} not found in pod ${pod}_${namespace}`),
      };
      return stream(request, options, (session, signal) => attach(target, session, signal));
    });
  };
}

/**
 * The container that the path names. Like a kubelet's runtime, this finds only containers that may be running: one that certainly is not is
 * refused, and whether a restarted container runs by now is left to the provider.
 *
 * @throws Refusal 500
 */
export function requireRunning(
  { params }: KubeletRequest,
  { pod }: { readonly pod: DeepReadonly<Pod> },
  missing: (name: string) => string,
): SpecContainer {
  const name = params["container"] ?? "";
  const container = findContainer(pod, name);
  const status = containerStatus(pod, name);
  const isOver = isTerminalPhase(pod.status?.phase);
  const neverRan = status?.state?.waiting !== undefined && status.lastState?.terminated === undefined;
  if (container && !isOver && !neverRan) return container;
  throw new Refusal(500, missing(name));
}

/** Takes over the connection, runs the command on it, and sends the client exactly one result. */
async function stream(
  request: KubeletRequest,
  options: StreamRoutesOptions,
  work: (session: RemoteCommandSession, signal: AbortSignal) => Promise<RemoteCommandResult>,
): Promise<{ readonly result: string; readonly value: typeof taken }> {
  const upgrade = requireUpgrade(request);
  using slot = options.slots.take(request, { isLog: false });
  const { stdin, stdout, stderr, tty } = parseRemoteCommandQuery(request.query);
  const { clock, limits, budgets } = options;
  using _cut = cutOffWhenEvicted(slot, upgrade.socket, clock);
  let session: RemoteCommandSession;
  try {
    session = await acceptRemoteCommand(upgrade, {
      stdin,
      stdout,
      stderr,
      tty,
      clock,
      limits,
      share: budgets.shareOf(request, { isForward: false }),
    });
  } catch (error) {
    // The client already has its response.
    return { result: `not started: ${messageOf(error)}`, value: taken };
  }
  await using _closed = session;
  slot.follow(() => session.lastActiveMs);
  using linked = new LinkedSignal(session.signal, request.signal, slot.signal);
  const result = await work(session, linked.signal);
  const hasGone = linked.signal.aborted;
  await session.finish(result);
  return { result: hasGone ? `ended early: ${messageOf(linked.signal.reason)}` : resultText(result), value: taken };
}

/** Time for the client of an evicted stream to read the rest of it and the reason for its end. */
const evictionMs = 5_000;

/** Closes the connection of an evicted stream, even if the provider or the client does not react, or the stream has not started. */
function cutOffWhenEvicted({ signal }: StreamSlot, socket: Duplex, clock: Clock): Disposable {
  let timer: Disposable | undefined;
  const onEvicted = (): void => void (timer = clock.setTimer(evictionMs, () => socket.destroy()));
  signal.addEventListener("abort", onEvicted, { once: true });
  return {
    [Symbol.dispose]: () => {
      signal.removeEventListener("abort", onEvicted);
      timer?.[Symbol.dispose]();
    },
  };
}

async function runCommand(
  { found, container, query }: Target,
  session: RemoteCommandSession,
  signal: AbortSignal,
): Promise<RemoteCommandResult> {
  const { stdin, stdout, stderr, tty, resizes } = session;
  const io: AttachIO = { stdin, stdout, stderr, tty, resizes };
  try {
    const { exitCode } = await found.node.access.runInContainer(found.ref, container.name, query.command, io, signal);
    if (Number.isInteger(exitCode) && exitCode >= 0 && exitCode <= 255) return { exitCode };
    return { error: `error executing command in container: the provider says it exited with ${exitCode}` };
  } catch (error) {
    return { error: `error executing command in container: ${messageOf(error)}` };
  }
}

async function attach({ found, container }: Target, session: RemoteCommandSession, signal: AbortSignal): Promise<RemoteCommandResult> {
  const tty = container.tty ?? false;
  const { stdout, resizes } = session;
  using input = session.stdin && attachInput(session.stdin, { once: container.stdinOnce ?? false });
  const io: AttachIO = {
    stdin: input?.stream,
    stdout,
    stderr: tty ? undefined : session.stderr,
    tty,
    resizes: tty ? resizes : noResizes(),
  };
  try {
    await found.node.access.attachToContainer(found.ref, container.name, io, signal);
    return { exitCode: 0 };
  } catch (error) {
    return { error: `error attaching to container: ${messageOf(error)}` };
  }
}

function resultText(result: RemoteCommandResult): string {
  return "error" in result ? result.error : `exit code ${result.exitCode}`;
}
