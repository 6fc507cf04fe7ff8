import type { ContainerStatus, DeepReadonly, Pod } from "@virtual-kubelet/kube-client";

/** Why containers without a status wait. */
export interface Waiting {
  readonly reason: string;
  readonly message?: string | undefined;
}

/**
 * Returns a status for each container: a far pod has none before its kubelet has seen it, and until then its containers wait.
 *
 * @param containers - of the spec
 */
export function everyContainer(
  containers: DeepReadonly<NonNullable<Pod["spec"]>["containers"]> | undefined,
  statuses: readonly DeepReadonly<ContainerStatus>[] | undefined,
  waiting: Waiting,
): readonly DeepReadonly<ContainerStatus>[] | undefined {
  if (!containers?.length) return statuses;
  const missing = containers.filter(({ name }) => !statuses?.some((status) => status.name === name));
  if (missing.length === 0) return statuses;
  return [
    ...(statuses ?? []),
    ...missing.map(({ name, image = "" }): DeepReadonly<ContainerStatus> => ({
      name,
      image,
      imageID: "",
      ready: false,
      started: false,
      restartCount: 0,
      state: { waiting },
      lastState: {},
    })),
  ];
}
