import type { ContainerStatus, DeepReadonly, Pod, PodCondition } from "@virtual-kubelet/kube-client";
import { isQualifiedName, isSidecar } from "@virtual-kubelet/kubernetes";
import { toSeconds } from "../../api-server/api-time.ts";
import { derivedConditionTypes, isOwnedCondition } from "./owned-status.ts";
import { isTerminalPhase, type PodPhase, type StatusByName } from "./pod-phase.ts";
import { statusText } from "./status-text.ts";

export interface PodConditionsInput {
  readonly pod: DeepReadonly<Pod>;
  readonly phase: PodPhase;
  readonly statuses: StatusByName;
  /** Whether the pod's sandbox exists: the pod has an address, or a container of it has been started. */
  readonly hasSandbox: boolean;
  /** Conditions that the provider or the controller asserts. Those that the core derives only explain a derived one of the same status. */
  readonly asserted: readonly DeepReadonly<PodCondition>[];
  /** Generation of the applied spec; absent if the API server does not count generations. */
  readonly observedGeneration: number | undefined;
  /** Current time in the API's format. */
  readonly now: string;
}

type ConditionVerdict = Pick<PodCondition, "status" | "reason" | "message">;

/**
 * Returns the pod's conditions: first those of other writers, then the asserted ones, then those that a kubelet derives from the container
 * statuses. A condition with an unchanged status keeps its transition time, unless the provider knows it.
 * Source: kubernetes v1.36.3 pkg/kubelet/status/generate.go.
 */
export function podConditions(input: PodConditionsInput): PodCondition[] {
  const { pod, statuses, phase, hasSandbox } = input;
  const others = otherConditions(input);
  const containersReady = containersReadyVerdict(pod, statuses, phase);
  const derive = (type: string, { status, reason, message }: ConditionVerdict): void => {
    const condition = withHistory({ type, status, reason, message }, input, input.observedGeneration);
    derived.push(explained(condition, input));
  };
  const derived: PodCondition[] = [];
  derive("PodReadyToStartContainers", verdictOf(hasSandbox && !isTerminalPhase(phase)));
  derive("Initialized", initializedVerdict(pod, statuses, phase));
  derive("Ready", readyVerdict(pod, containersReady, { others, asserted: input.asserted }));
  derive("ContainersReady", containersReady);
  derive("PodScheduled", verdictOf(true));
  return [...others, ...derived];
}

/** Returns the derived condition with what the provider reports about the same status: time, and reason with message. */
function explained(derived: PodCondition, { asserted }: PodConditionsInput): PodCondition {
  if (derived.type === "PodScheduled") return derived;
  const claim = asserted.findLast(({ type, status }) => type === derived.type && status === derived.status);
  if (!claim) return derived;
  const reason = statusText(claim.reason);
  return {
    ...derived,
    ...(reason !== undefined && { reason, message: statusText(claim.message) }),
    lastTransitionTime: toSeconds(claim.lastTransitionTime) ?? derived.lastTransitionTime,
  };
}

/** Returns the stored conditions of other writers, with asserted ones in their place or after them. */
function otherConditions(input: PodConditionsInput): PodCondition[] {
  const asserted = new Map(input.asserted.filter(isWritable).map((condition) => [condition.type, condition]));
  const stored = (input.pod.status?.conditions ?? []).filter(({ type }) => asserted.has(type) || !isOwnedCondition(type));
  const added = [...asserted.values()].filter(({ type }) => !stored.some((condition) => condition.type === type));
  return [...stored, ...added].map((condition) => {
    const claim = asserted.get(condition.type);
    return claim ? assertedCondition(claim, input) : { ...condition };
  });
}

/** Returns the stored conditions that the core neither derives nor asserts. */
export function foreignConditions(pod: DeepReadonly<Pod>): PodCondition[] {
  return (pod.status?.conditions ?? []).filter(({ type }) => !isOwnedCondition(type)).map((condition) => ({ ...condition }));
}

function assertedCondition(condition: DeepReadonly<PodCondition>, input: PodConditionsInput): PodCondition {
  const { type, status, reason, message } = condition;
  const generation = isOwnedCondition(type) ? input.observedGeneration : condition.observedGeneration;
  const own = { type, status, reason: statusText(reason), message: statusText(message), lastTransitionTime: condition.lastTransitionTime };
  return withHistory(own, input, generation);
}

/** Whether the API server accepts the condition; it refuses the whole status for one malformed condition. */
function isWritable({ type, status }: DeepReadonly<PodCondition>): boolean {
  if (derivedConditionTypes.includes(type)) return false;
  return isQualifiedName(type) && ["True", "False", "Unknown"].includes(status);
}

/** Returns the condition with the stored transition time if its status is unchanged, and a generation that never falls. */
function withHistory(condition: PodCondition, { pod, now }: PodConditionsInput, observedGeneration: number | undefined): PodCondition {
  const { type, status, reason, message, lastTransitionTime } = condition;
  const stored = storedCondition(pod, type);
  const since = stored?.status === status ? toSeconds(stored.lastTransitionTime) : undefined;
  return {
    type,
    status,
    reason,
    message,
    observedGeneration: latestGeneration(stored?.observedGeneration, observedGeneration),
    lastTransitionTime: since ?? toSeconds(lastTransitionTime) ?? now,
  };
}

/** Returns the higher generation, without values that are no generation; `undefined` if the server does not count generations. */
export function latestGeneration(stored: number | undefined, observed: number | undefined): number | undefined {
  const generations = [stored, observed].filter((value): value is number => Number.isSafeInteger(value));
  return Math.max(0, ...generations) || undefined;
}

function storedCondition(pod: DeepReadonly<Pod>, type: string): DeepReadonly<PodCondition> | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === type);
}

function verdictOf(holds: boolean): ConditionVerdict {
  return { status: holds ? "True" : "False" };
}

function initializedVerdict(pod: DeepReadonly<Pod>, statuses: StatusByName, phase: PodPhase): ConditionVerdict {
  if (phase === "Succeeded") return { status: "True", reason: "PodCompleted" };
  const hasStarted = pod.spec?.containers.some(({ name }) => isStarted(statuses.get(name))) ?? false;
  if (hasStarted) return { status: "True" };
  const incomplete = (pod.spec?.initContainers ?? []).filter((container) => {
    const status = statuses.get(container.name);
    return isSidecar(container) ? status?.started !== true : status?.ready !== true;
  });
  if (incomplete.length === 0) return { status: "True" };
  return { status: "False", reason: "ContainersNotInitialized", message: `containers with incomplete status: ${nameList(incomplete)}` };
}

function containersReadyVerdict(pod: DeepReadonly<Pod>, statuses: StatusByName, phase: PodPhase): ConditionVerdict {
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  const sidecars = (pod.spec?.initContainers ?? []).filter(isSidecar);
  const unready = [...sidecars, ...(pod.spec?.containers ?? [])].filter(({ name }) => statuses.get(name)?.ready !== true);
  if (unready.length === 0) return { status: "True" };
  return { status: "False", reason: "ContainersNotReady", message: `containers with unready status: ${nameList(unready)}` };
}

function readyVerdict(
  pod: DeepReadonly<Pod>,
  containersReady: ConditionVerdict,
  { others, asserted }: Pick<PodConditionsInput, "asserted"> & { readonly others: readonly PodCondition[] },
): ConditionVerdict {
  if (containersReady.status !== "True") return containersReady;
  const problems = (pod.spec?.readinessGates ?? []).flatMap(({ conditionType }) => {
    const gate = others.find(({ type }) => type === conditionType);
    if (!gate) return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`];
    return gate.status === "True" ? [] : [`the status of pod readiness gate "${conditionType}" is not "True", but ${gate.status}`];
  });
  if (problems.length > 0) return { status: "False", reason: "ReadinessGatesNotReady", message: problems.join(", ") };
  return { status: isWithoutNode(asserted) ? "False" : "True" };
}

/**
 * Whether the provider says of a pod that its containers are ready and it is not. So a node controller behind the provider leaves the pods of
 * a machine that no longer answers. Readiness gates are judged here.
 * Source: MarkPodsNotReady in kubernetes v1.36.3 pkg/controller/util/node/controller_utils.go.
 */
function isWithoutNode(asserted: PodConditionsInput["asserted"]): boolean {
  const [ready, containersReady] = ["Ready", "ContainersReady"].map((type) => asserted.findLast((condition) => condition.type === type));
  return ready?.status === "False" && ready.reason !== "ReadinessGatesNotReady" && containersReady?.status === "True";
}

function isStarted(status: DeepReadonly<ContainerStatus> | undefined): boolean {
  return status?.state?.running !== undefined || status?.state?.terminated !== undefined;
}

/** Returns the names as Go prints a slice. */
function nameList(containers: readonly { readonly name: string }[]): string {
  return `[${containers.map(({ name }) => name).join(" ")}]`;
}
