import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";

/** Facts of the engine and of files that a container's confinement depends on. */
export interface Confinement {
  readonly hasAppArmor: boolean;
  /** Content of the seccomp profile that the container names by `localhostProfile`. */
  readonly seccompProfile?: string | undefined;
}

/**
 * A container's `SecurityOpt`: seccomp, AppArmor, SELinux and privilege escalation. Without a seccomp profile a container gets the engine's
 * default; a kubelet without `--seccomp-default` would leave it unconfined.
 *
 * @throws InvalidInputError for a profile that cannot be applied
 */
export function securityOptions(
  pod: DeepReadonly<Pod>,
  container: DeepReadonly<Container>,
  { hasAppArmor, seccompProfile }: Confinement,
): string[] {
  const escalation = container.securityContext?.allowPrivilegeEscalation === false ? ["no-new-privileges:true"] : [];
  const contexts = { own: container.securityContext, shared: pod.spec?.securityContext };
  return [...escalation, ...seccomp(contexts, seccompProfile), ...appArmor(contexts, hasAppArmor), ...seLinux(contexts)];
}

/** Security contexts of a container and its pod. The container's takes precedence. */
interface Contexts {
  readonly own: DeepReadonly<Container["securityContext"]>;
  readonly shared: NonNullable<DeepReadonly<Pod>["spec"]>["securityContext"];
}

function seccomp({ own, shared }: Contexts, content: string | undefined): string[] {
  const profile = own?.seccompProfile ?? shared?.seccompProfile;
  switch (profile?.type) {
    case "Unconfined":
      return ["seccomp=unconfined"];
    case "Localhost":
      if (content === undefined) throw new InvalidInputError(`apply seccomp profile "${profile.localhostProfile}": it was not read`);
      return [`seccomp=${content}`];
    default:
      return [];
  }
}

function appArmor({ own, shared }: Contexts, hasAppArmor: boolean): string[] {
  const profile = own?.appArmorProfile ?? shared?.appArmorProfile;
  switch (profile?.type) {
    case "Unconfined":
      return hasAppArmor ? ["apparmor=unconfined"] : [];
    case "Localhost": {
      const name = profile.localhostProfile;
      if (hasAppArmor) return [`apparmor=${name}`];
      throw new InvalidInputError(
        `apply AppArmor profile "${name}": the Docker engine has no AppArmor; take the profile out, or enable it`,
      );
    }
    default:
      return [];
  }
}

function seLinux({ own, shared }: Contexts): string[] {
  const { user, role, type, level } = own?.seLinuxOptions ?? shared?.seLinuxOptions ?? {};
  return Object.entries({ user, role, type, level }).flatMap(([key, value]) => (value ? [`label=${key}:${value}`] : []));
}

/** The `localhostProfile` of a container; `undefined` if it has none. */
export function localSeccompProfile(pod: DeepReadonly<Pod>, container: DeepReadonly<Container>): string | undefined {
  const profile = container.securityContext?.seccompProfile ?? pod.spec?.securityContext?.seccompProfile;
  return profile?.type === "Localhost" ? (profile.localhostProfile ?? "") : undefined;
}
