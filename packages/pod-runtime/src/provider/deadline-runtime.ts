import { withDeadline } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";
import type { CallDeadlines } from "./provider-options.ts";

/**
 * Ends calls of a runtime with DeadlineExceededError after their deadline, even if the runtime ignores its signal. Such a call may have
 * taken effect.
 *
 * @returns the whole runtime; logs, exec, attach, port-forward, events and pulls have no deadline
 */
export function withDeadlines(runtime: ContainerRuntime, clock: Clock, deadlines: CallDeadlines = {}): ContainerRuntime {
  const { pingMs = 5_000, readMs = 60_000, changeMs = 120_000, startMs = 240_000, stopMs = 30_000 } = deadlines;
  const within = <T>(what: string, ms: number, signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    withDeadline({ what: `${runtime.name}: ${what}`, timeoutMs: ms, clock }, signal, call);
  const network = runtime.network?.bind(runtime);
  const ping = runtime.ping?.bind(runtime);
  return {
    name: runtime.name,
    canMountImages: runtime.canMountImages,
    ...(ping && { ping: (signal) => within("ping", pingMs, signal, ping) }),
    createSandbox: (spec, signal) => within("create a sandbox", changeMs, signal, (inner) => runtime.createSandbox(spec, inner)),
    stopSandbox: (id, signal) => within(`stop sandbox ${id}`, changeMs, signal, (inner) => runtime.stopSandbox(id, inner)),
    removeSandbox: (id, signal) => within(`remove sandbox ${id}`, changeMs, signal, (inner) => runtime.removeSandbox(id, inner)),
    createContainer: (sandboxId, spec, signal) =>
      within("create a container", changeMs, signal, (inner) => runtime.createContainer(sandboxId, spec, inner)),
    startContainer: (id, signal) => within(`start container ${id}`, startMs, signal, (inner) => runtime.startContainer(id, inner)),
    stopContainer: (id, options, signal) =>
      within(`stop container ${id}`, options.graceMs + stopMs, signal, (inner) => runtime.stopContainer(id, options, inner)),
    killContainer: (id, signal) => within(`kill container ${id}`, stopMs, signal, (inner) => runtime.killContainer(id, inner)),
    removeContainer: (id, signal) => within(`remove container ${id}`, changeMs, signal, (inner) => runtime.removeContainer(id, inner)),
    resizeContainer: (id, limits, signal) =>
      within(`resize container ${id}`, changeMs, signal, (inner) => runtime.resizeContainer(id, limits, inner)),
    list: (labels, signal) => within("list", readMs, signal, (inner) => runtime.list(labels, inner)),
    inspectContainer: (id, signal) => within(`inspect container ${id}`, readMs, signal, (inner) => runtime.inspectContainer(id, inner)),
    inspectSandbox: (id, signal) => within(`inspect sandbox ${id}`, readMs, signal, (inner) => runtime.inspectSandbox(id, inner)),
    inspectImage: (image, signal) => within(`inspect image ${image}`, readMs, signal, (inner) => runtime.inspectImage(image, inner)),
    stats: (id, signal) => within(`measure container ${id}`, readMs, signal, (inner) => runtime.stats(id, inner)),
    ...(network && { network: (id, signal) => within(`measure sandbox ${id}`, readMs, signal, (inner) => network(id, inner)) }),
    events: (signal) => runtime.events(signal),
    pullImage: (image, credentials, signal) => runtime.pullImage(image, credentials, signal),
    exec: (id, command, io, signal) => runtime.exec(id, command, io, signal),
    attach: (id, io, signal) => runtime.attach(id, io, signal),
    logs: (id, options, signal) => runtime.logs(id, options, signal),
    portForward: (id, port, stream, signal) => runtime.portForward(id, port, stream, signal),
  };
}
