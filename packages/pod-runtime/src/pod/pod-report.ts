import type { ContainerState, ContainerStatus, ProviderPodStatus } from "@virtual-kubelet/core";
import { rfc3339 } from "@virtual-kubelet/kube-client";
import { instanceOf, isLive, newContainer, type ContainerRecord, type Termination } from "./container-life.ts";
import type { ContainerRole, PlannedContainer } from "./pod-plan.ts";
import type { PodState } from "./pod-state.ts";

/**
 * What a provider reports of the pod. The phase is left to core, but for a pod that was made to fail and has ended.
 *
 * @param scheme - of container ids, such as `docker`
 */
export function podReport(state: PodState, scheme: string): ProviderPodStatus {
  const { stage, ending, plan } = state;
  const isOver = ending?.why === "failed" && [...state.containers.values()].every(({ life }) => !isLive(life));
  const ips = stage.kind === "up" ? stage.ips : [];
  const list = (...roles: ContainerRole[]): readonly ContainerStatus[] =>
    plan.containers.filter(({ role }) => roles.includes(role)).map((planned) => containerStatus(state, planned, scheme));
  return {
    ...(isOver ? { phase: "Failed", reason: ending.reason, message: ending.message } : {}),
    podIP: ips[0],
    podIPs: ips.map((ip) => ({ ip })),
    initContainerStatuses: list("init", "sidecar"),
    containerStatuses: list("main"),
    ephemeralContainerStatuses: list("ephemeral"),
  };
}

function containerStatus(state: PodState, planned: PlannedContainer, scheme: string): ContainerStatus {
  const record = state.containers.get(planned.name) ?? newContainer;
  const { life } = record;
  const shown = shownState(state, record, scheme);
  const last = shown.terminated ? record.previousTermination : record.lastTermination;
  const isShown = shown.running !== undefined && "isReady" in life;
  const id = shown.running ? instanceOf(life)?.id : record.lastTermination?.id;
  return {
    name: planned.name,
    image: record.image?.name ?? planned.container.image ?? "",
    imageID: record.image?.id ?? "",
    containerID: id === undefined ? undefined : `${scheme}://${id}`,
    restartCount: restartCount(record),
    ready: isShown ? life.isReady : planned.role === "init" && record.isInitialized,
    started: isShown && life.isStarted,
    state: shown,
    lastState: last ? { terminated: terminated(last, scheme) } : {},
  };
}

/** A start that has not come through yet counts for nothing. */
function restartCount({ life, attempt }: ContainerRecord): number {
  return Math.max(0, life.kind === "starting" || life.kind === "postStart" ? attempt - 1 : attempt);
}

/** A container is not shown as running before its postStart hook is through, as with a kubelet. */
function shownState(state: PodState, record: ContainerRecord, scheme: string): ContainerState {
  const { life, lastTermination } = record;
  if ("isReady" in life) return { running: { startedAt: rfc3339(life.instance.startedAtMs) } };
  if (life.kind === "waiting") return { waiting: { reason: life.reason, message: life.message } };
  if (lastTermination) return { terminated: terminated(lastTermination, scheme) };
  const hasInit = (state.plan.pod.spec?.initContainers?.length ?? 0) > 0;
  return { waiting: { reason: hasInit ? "PodInitializing" : "ContainerCreating" } };
}

function terminated(termination: Termination, scheme: string): NonNullable<ContainerState["terminated"]> {
  const { exitCode, reason, message, startedAtMs, finishedAtMs, id } = termination;
  return {
    exitCode,
    reason,
    message,
    startedAt: startedAtMs === undefined ? undefined : rfc3339(startedAtMs),
    finishedAt: rfc3339(finishedAtMs),
    containerID: id === undefined ? undefined : `${scheme}://${id}`,
  };
}
