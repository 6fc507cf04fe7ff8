import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import type { PodPreparation } from "../worker/preparation.ts";

/**
 * A preparation that asks again, for each sandbox and each start of a container, whether the pod may have it. A pod may have
 * changed since it was let in, while no program ran, too; what it may not have waits, and the rest of the pod goes on.
 *
 * @param check - as `PodRuntimeProviderOptions.checkPod`
 * @param checkPorts - throws for a pod whose ports of the node are not free yet
 */
export function checkedPreparation(
  preparation: PodPreparation,
  check: (pod: DeepReadonly<Pod>) => void,
  checkPorts: (pod: DeepReadonly<Pod>) => void,
): PodPreparation {
  return {
    async sandbox(state, attempt, signal) {
      check(withOnly(state.desired.pod, undefined));
      checkPorts(state.desired.pod);
      return preparation.sandbox(state, attempt, signal);
    },
    async container(start, signal) {
      check(withOnly(start.state.desired.pod, start.desired.name));
      return preparation.container(start, signal);
    },
    limits: (pod, container) => preparation.limits(pod, container),
    credentials: (pod, image, signal) => preparation.credentials(pod, image, signal),
  };
}

/** The pod with what one of its containers asks for; of the others the names stay, so that it is found at its place. */
function withOnly(pod: DeepReadonly<Pod>, name: string | undefined): DeepReadonly<Pod> {
  const { spec } = pod;
  if (!spec) return pod;
  const only = <C extends DeepReadonly<Container>>(containers: readonly C[] | undefined): readonly (C | { readonly name: string })[] =>
    (containers ?? []).map((container) => (container.name === name ? container : { name: container.name }));
  return {
    ...pod,
    spec: {
      ...spec,
      initContainers: only(spec.initContainers),
      containers: only(spec.containers),
      ephemeralContainers: only(spec.ephemeralContainers),
    },
  };
}
