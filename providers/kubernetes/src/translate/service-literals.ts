import type { EnvVar } from "@virtual-kubelet/kube-client";
import { literal } from "./literal.ts";
import type { Scope } from "./scope.ts";
import { isTokenVolume } from "./token-volume.ts";

/**
 * Returns the variables of home's services as literals: all of them if so configured, and those of home's API server for pods that have its
 * token. They come first, so that a container's own variables can refer to them. Unlike a kubelet's, they override a key of the same name
 * from `envFrom`.
 */
export function serviceLiterals({ spec, facts: { serviceVariables = [] }, context: { config } }: Scope): EnvVar[] {
  const all = config.network.serviceVariables === "home";
  const apiServer = config.carry.serviceAccountToken === "home" && spec.volumes?.some(isTokenVolume) === true;
  return serviceVariables
    .filter(({ name }) => all || (apiServer && name.startsWith("KUBERNETES_")))
    .map(({ name, value }) => ({ name, value: literal(value) }));
}
