import { instanceOf } from "../pod/container-life.ts";
import type { PodEffect } from "../pod/pod-effect.ts";
import type { PodState } from "../pod/pod-state.ts";
import type { RuntimeContainer, RuntimeInventory, RuntimeSandbox } from "../runtime/container-runtime.ts";
import { tryAttempt, tryContainerIdentity } from "../runtime/labels.ts";

/**
 * Containers and sandboxes of earlier attempts that can be removed. The last two attempts of each container that have ended are kept for
 * their logs, with their sandboxes, and so is the newest sandbox. Objects that a call in progress may use are never included.
 */
export function leftovers(state: PodState, { sandboxes, containers }: RuntimeInventory): readonly PodEffect[] {
  const kept = keptContainers(state);
  const isLeft = (container: RuntimeContainer): boolean =>
    (!kept.has(container.id) && isOld(container, state)) || isHomeless(container, sandboxes, state);
  const goesWhole = sandboxes.filter(
    (sandbox) => isOldSandbox(sandbox, state) && containers.every((held) => held.sandboxId !== sandbox.id || !kept.has(held.id)),
  );
  const runsOn = sandboxes.filter(
    (sandbox) => !goesWhole.includes(sandbox) && isOldSandbox(sandbox, state) && containers.some((held) => isRunningIn(sandbox, held)),
  );
  return [
    ...runsOn.map(({ id }): PodEffect => ({ kind: "stopSandbox", sandboxId: id })),
    ...goesWhole.map(({ id }): PodEffect => ({ kind: "removeSandbox", sandboxId: id })),
    ...containers
      .filter((container) => isLeft(container) && !goesWhole.some(({ id }) => id === container.sandboxId))
      .map(({ id }): PodEffect => ({ kind: "removeContainer", id })),
  ];
}

function isRunningIn({ id }: RuntimeSandbox, { sandboxId, state }: RuntimeContainer): boolean {
  return sandboxId === id && state.kind === "running";
}

/** Whether a container that counts as ended still runs in a sandbox that is gone. */
function isHomeless(
  { id, sandboxId, labels, state: { kind } }: RuntimeContainer,
  sandboxes: readonly RuntimeSandbox[],
  state: PodState,
): boolean {
  const record = state.containers.get(tryContainerIdentity(labels)?.container ?? "");
  const isEnded = record !== undefined && [record.lastTermination?.id, record.previousTermination?.id].includes(id);
  return kind === "running" && isEnded && sandboxes.every((sandbox) => sandbox.id !== sandboxId);
}

function keptContainers({ containers }: PodState): ReadonlySet<string> {
  const records = [...containers.values()];
  return new Set(
    records.flatMap(({ life, lastTermination, previousTermination }) =>
      [instanceOf(life)?.id, lastTermination?.id, previousTermination?.id].filter((id) => id !== undefined),
    ),
  );
}

function isOld({ labels }: RuntimeContainer, { containers }: PodState): boolean {
  const identity = tryContainerIdentity(labels);
  const record = identity && containers.get(identity.container);
  // The newest attempt may be starting, and a failed start continues with its container.
  return identity !== undefined && record !== undefined && identity.attempt < record.attempt;
}

function isOldSandbox({ id, labels, isReady }: RuntimeSandbox, { stage, sandboxAttempt }: PodState): boolean {
  const attempt = tryAttempt(labels);
  const isCurrent = "sandboxId" in stage && stage.sandboxId === id;
  if (attempt === undefined || isCurrent) return false;
  // While a sandbox is up, no other is being created. Without one, the newest is kept for the logs of its containers.
  return stage.kind === "up" || (attempt < sandboxAttempt && !isReady);
}
