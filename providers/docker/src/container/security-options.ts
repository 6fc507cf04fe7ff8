import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";

/** What of a container's confinement depends on the engine and on files. */
export interface Confinement {
  readonly hasAppArmor: boolean;
  /** Content of the seccomp profile that the container names by `localhostProfile`. */
  readonly seccompProfile?: string | undefined;
}

/**
 * A container's `SecurityOpt`: seccomp, AppArmor, SELinux and privilege escalation. A container without a seccomp
 * profile gets the engine's own, where a kubelet without `--seccomp-default` leaves it unconfined.
 *
 * @throws InvalidInputError for a profile that cannot be applied
 */
export function securityOptions(
  pod: DeepReadonly<Pod>,
  container: DeepReadonly<Container>,
  { hasAppArmor, seccompProfile }: Confinement,
): string[] {
  const own = container.securityContext;
  const shared = pod.spec?.securityContext;
  const options: string[] = [];
  if (own?.allowPrivilegeEscalation === false) options.push("no-new-privileges:true");

  const seccomp = own?.seccompProfile ?? shared?.seccompProfile;
  if (seccomp?.type === "Unconfined") options.push("seccomp=unconfined");
  if (seccomp?.type === "Localhost") {
    if (seccompProfile === undefined) throw new InvalidInputError(`apply seccomp profile "${seccomp.localhostProfile}": it was not read`);
    options.push(`seccomp=${seccompProfile}`);
  }

  const appArmor = own?.appArmorProfile ?? shared?.appArmorProfile;
  if (appArmor?.type === "Localhost" && !hasAppArmor) {
    const name = appArmor.localhostProfile;
    throw new InvalidInputError(`apply AppArmor profile "${name}": the Docker engine has no AppArmor; take the profile out, or enable it`);
  }
  if (appArmor?.type === "Localhost") options.push(`apparmor=${appArmor.localhostProfile}`);
  if (appArmor?.type === "Unconfined" && hasAppArmor) options.push("apparmor=unconfined");

  const { user, role, type, level } = own?.seLinuxOptions ?? shared?.seLinuxOptions ?? {};
  for (const [key, value] of Object.entries({ user, role, type, level })) if (value) options.push(`label=${key}:${value}`);
  return options;
}

/** The seccomp profile that a container names by file; `undefined` if it names none. */
export function localSeccompProfile(pod: DeepReadonly<Pod>, container: DeepReadonly<Container>): string | undefined {
  const profile = container.securityContext?.seccompProfile ?? pod.spec?.securityContext?.seccompProfile;
  return profile?.type === "Localhost" ? (profile.localhostProfile ?? "") : undefined;
}
