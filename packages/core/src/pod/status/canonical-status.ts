import type { ContainerState, ContainerStatus, DeepReadonly } from "@virtual-kubelet/kube-client";
import { formatQuantity, isQualifiedName, tryParseQuantity } from "@virtual-kubelet/kubernetes";
import { toSeconds } from "../../api-server/api-time.ts";
import { containerStatusParts, readEach, type SpecifiedContainer } from "./container-status-parts.ts";
import { statusText } from "./status-text.ts";

/**
 * Returns a container status in the API server's own form, so that a comparison with the server's answer finds no false
 * differences: whole seconds, canonical quantities, no empty fields, at most one state, no unknown fields. Values that the API server
 * would refuse are left out.
 *
 * @param messageBytes - maximum length of a message, in bytes
 */
export function canonicalContainerStatus(
  status: Partial<DeepReadonly<ContainerStatus>> & { readonly name: string },
  messageBytes: number,
  spec: SpecifiedContainer,
): ContainerStatus {
  return {
    name: status.name,
    image: statusText(status.image) ?? "",
    imageID: statusText(status.imageID) ?? "",
    containerID: statusText(status.containerID),
    ready: status.ready === true,
    started: typeof status.started === "boolean" ? status.started : undefined,
    restartCount: Math.max(0, toInt32(status.restartCount) ?? 0),
    state: stateOrWaiting(canonicalState(status.state, messageBytes)),
    lastState: { terminated: canonicalState(status.lastState, messageBytes).terminated },
    resources: canonicalResources(status.resources),
    allocatedResources: canonicalQuantities(status.allocatedResources),
    ...containerStatusParts(status, spec, () => undefined),
    stopSignal: statusText(status.stopSignal),
  };
}

/** Exit code of a container that has ended; 137, a failure, if it is not reported. */
export function exitCodeOf({ exitCode }: { readonly exitCode?: unknown }): number {
  return toInt32(exitCode) ?? 137;
}

/** Returns the effective state: terminated before running before waiting; empty if none is reported. */
export function canonicalState(state: DeepReadonly<ContainerState> | null | undefined, messageBytes: number): ContainerState {
  const { terminated, running, waiting } = state ?? {};
  if (terminated) {
    const exitCode = exitCodeOf(terminated);
    return {
      terminated: {
        exitCode,
        signal: toInt32(terminated.signal) || undefined,
        reason: statusText(terminated.reason) ?? (exitCode === 0 ? "Completed" : "Error"),
        message: statusText(terminated.message, messageBytes),
        startedAt: toSeconds(terminated.startedAt),
        finishedAt: toSeconds(terminated.finishedAt),
        containerID: statusText(terminated.containerID),
      },
    };
  }
  if (running) return { running: { startedAt: toSeconds(running.startedAt) } };
  if (waiting) return { waiting: { reason: statusText(waiting.reason), message: statusText(waiting.message, messageBytes) } };
  return {};
}

/** The API treats a status without a state as waiting. */
function stateOrWaiting(state: ContainerState): ContainerState {
  return state.terminated || state.running || state.waiting ? state : { waiting: {} };
}

/**
 * Returns resources as the API server writes them; `undefined` if they are not reported. Empty resources are kept, because they show
 * the API server that the node supports resizes.
 */
export function canonicalResources(resources: DeepReadonly<ContainerStatus>["resources"]): ContainerStatus["resources"] {
  if (!resources) return undefined;
  const limits = canonicalQuantities(resources.limits);
  const requests = canonicalQuantities(resources.requests);
  const claims = readEach(resources.claims, (claim) => {
    const name = statusText(claim["name"]);
    return name === undefined ? undefined : { name, request: statusText(claim["request"]) };
  });
  return { limits, requests, claims };
}

/** Returns quantities in Kubernetes' canonical form, without malformed ones and malformed names; `undefined` if none remains. */
export function canonicalQuantities(
  quantities: Readonly<Record<string, string | undefined>> | undefined,
): Record<string, string> | undefined {
  const entries = Object.entries(quantities ?? {}).flatMap(([name, text]) => {
    const quantity = tryParseQuantity(text);
    return quantity && isQualifiedName(name) ? [[name, formatQuantity(quantity)] as const] : [];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

function toInt32(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value | 0 : undefined;
}
