import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import type { NomadTask } from "../api/types.ts";
import type { NomadDriver } from "../config.ts";

/** Driver `exec` runs a task without a user as `nobody`. Source: Nomad's documentation of `task.user`. */
const nobody = 65_534;

/** User and group that a container runs as, as Nomad writes them. */
export function userOf(pod: DeepReadonly<Pod>, container: DeepReadonly<Container>): Pick<NomadTask, "User"> {
  const user = runAsUser(pod, container);
  const group = container.securityContext?.runAsGroup ?? pod.spec?.securityContext?.runAsGroup;
  if (user === undefined) return {};
  return { User: group === undefined ? String(user) : `${user}:${group}` };
}

/** Number of the user that a container runs as; `undefined` where the image says it, or the client's own user is taken. */
export function userIdOf(pod: DeepReadonly<Pod>, container: DeepReadonly<Container>, driver: NomadDriver): number | undefined {
  return runAsUser(pod, container) ?? (driver === "exec" ? nobody : undefined);
}

function runAsUser({ spec }: DeepReadonly<Pod>, { securityContext }: DeepReadonly<Container>): number | undefined {
  return securityContext?.runAsUser ?? spec?.securityContext?.runAsUser;
}
