import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import type { PodPreparation } from "../worker/preparation.ts";

/**
 * Checks the pod again before each sandbox and each start of a container, because a pod can change after its admission, also while no
 * program runs. A refused sandbox or container waits; the rest of the pod continues.
 *
 * @param check - as `PodRuntimeProviderOptions.checkPod`
 * @param checkPorts - throws if the node's ports that the pod asks for are still in use
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

/** The pod with one of its containers. The others keep only their names, so that field paths stay correct. */
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
