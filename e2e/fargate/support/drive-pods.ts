import type { Pod, ProviderPodStatus } from "@virtual-kubelet/core";
import type { ChooseScript } from "../../support/container-host/run-script.ts";
import { podOf, resolverOf } from "../../zun/support.ts";
import type { FakeTask } from "../fake/tasks/fake-task.ts";
import { openFargate, type OpenedFargate } from "./open-fargate.ts";

/** Drives pods of an {@link OpenedFargate}: time passes until a call has returned, or a pod is as it is waited for. */

const { signal } = new AbortController();

/** Opens the provider, and follows its pods. See {@link openFargate}. */
export async function openFollowed(script?: ChooseScript, pods: readonly Pod[] = [], changes: object = {}): Promise<OpenedFargate> {
  const fargate = await openFargate(script, pods, changes);
  fargate.provider.notifyPods?.((update) => void fargate.updates.push(update));
  return fargate;
}

/** A pod of one container that is never started again, with changes. */
export const webPod = (changes: object = {}): Pod =>
  podOf({ restartPolicy: "Never", containers: [{ name: "web", image: "nginx" }], ...changes });

/** Lets time pass until a call has returned. @returns its result, or its error */
export async function outcomeOf<T>({ clock }: OpenedFargate, call: Promise<T>): Promise<{ readonly value?: T; readonly error?: unknown }> {
  let outcome: { readonly value?: T; readonly error?: unknown } | undefined;
  void call.then(
    (value) => (outcome = { value }),
    (error: unknown) => (outcome = { error }),
  );
  await clock.runUntil(() => outcome !== undefined);
  return outcome ?? {};
}

/** Creates a pod. @returns the error; `undefined` if there was none */
export async function create(fargate: OpenedFargate, pod: Pod, provider: OpenedFargate["provider"] = fargate.provider): Promise<unknown> {
  return (await outcomeOf(fargate, provider.createPod(pod, resolverOf(pod), signal))).error;
}

/** Creates a pod, and waits until it runs. @returns its task */
export async function createRunning(fargate: OpenedFargate, pod: Pod): Promise<FakeTask> {
  const known = new Set(fargate.aws.tasks.all);
  const error = await create(fargate, pod);
  if (error !== undefined) throw error;
  await untilPhase(fargate, pod, "Running");
  const [task] = fargate.aws.tasks.all.filter((each) => !known.has(each));
  if (task === undefined) throw new Error("the pod has no task");
  return task;
}

/** UIDs of the pods that a provider lists, and whether the list is complete. */
export async function listed(
  fargate: OpenedFargate,
  provider: OpenedFargate["provider"] = fargate.provider,
): Promise<{ readonly uids: readonly string[]; readonly complete: boolean }> {
  const { value, error } = await outcomeOf(fargate, Promise.resolve(provider.getPods(signal)));
  if (value === undefined) throw error;
  return { uids: value.pods.map(({ ref }) => ref.uid), complete: value.complete };
}

/** Status that was last reported of a pod; `undefined` if there is none, or the pod is gone. */
export function statusOf({ updates }: OpenedFargate, pod: Pod): ProviderPodStatus | undefined {
  const last = updates.findLast(({ ref }) => ref.uid === pod.metadata?.uid);
  return last && "status" in last ? last.status : undefined;
}

/** Phase that was last reported of a pod; `gone` if it is gone. */
export function phaseOf(fargate: OpenedFargate, pod: Pod): string | undefined {
  const isKnown = fargate.updates.some(({ ref }) => ref.uid === pod.metadata?.uid);
  return isKnown ? (statusOf(fargate, pod)?.phase ?? "gone") : undefined;
}

/** Lets time pass until a pod has a phase. @returns how many milliseconds passed */
export const untilPhase = (fargate: OpenedFargate, pod: Pod, phase: string): Promise<number> =>
  fargate.clock.runUntil(() => phaseOf(fargate, pod) === phase, { withinMs: 900_000 });

/** Number of requests of each operation while time passes. */
export async function callsWithin({ aws, clock }: OpenedFargate, ms: number): Promise<Readonly<Record<string, number>>> {
  const before = new Map(aws.rates.counts);
  await clock.advance(ms);
  const counts = [...aws.rates.counts].map(([operation, count]) => [operation, count - (before.get(operation) ?? 0)] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}
