import type { Container, DeepReadonly, PodSpec } from "@virtual-kubelet/core";
import type { GroupSecurityContext } from "../azure/container-group.ts";
import { unsupported, type PlacedContainer } from "./fields.ts";

type Context = DeepReadonly<NonNullable<Container["securityContext"]>>;

/**
 * Translates a container's security context, completed by the pod's; `undefined` if neither asks for anything.
 *
 * @throws UnsupportedError with the field
 */
export function securityOf(
  { path, container }: PlacedContainer,
  pod: DeepReadonly<PodSpec>["securityContext"],
): GroupSecurityContext | undefined {
  const own = container.securityContext ?? {};
  refuseProfiles({ path, container }, pod);
  const runAsUser = own.runAsUser ?? pod?.runAsUser;
  const runAsGroup = own.runAsGroup ?? pod?.runAsGroup;
  // Azure does not tell the image's user, so that only an explicit one can be checked.
  if ((own.runAsNonRoot ?? pod?.runAsNonRoot) === true && (runAsUser === undefined || runAsUser === 0))
    throw unsupported(
      `${own.runAsNonRoot === undefined ? "spec" : path}.securityContext.runAsNonRoot`,
      "the image's user is not known here: set runAsUser, too",
    );
  const context: GroupSecurityContext = {
    ...(own.privileged !== undefined && { privileged: own.privileged }),
    ...(own.allowPrivilegeEscalation !== undefined && { allowPrivilegeEscalation: own.allowPrivilegeEscalation }),
    ...capabilitiesOf(own.capabilities),
    ...(runAsUser !== undefined && { runAsUser }),
    ...(runAsGroup !== undefined && { runAsGroup }),
  };
  return Object.keys(context).length === 0 ? undefined : context;
}

function capabilitiesOf({ add = [], drop = [] }: Context["capabilities"] = {}): Pick<GroupSecurityContext, "capabilities"> {
  if (add.length + drop.length === 0) return {};
  return { capabilities: { ...(add.length > 0 && { add }), ...(drop.length > 0 && { drop }) } };
}

function refuseProfiles({ path, container }: PlacedContainer, pod: DeepReadonly<PodSpec>["securityContext"]): void {
  const own = container.securityContext ?? {};
  for (const field of ["seccompProfile", "appArmorProfile"] as const) {
    const profile = own[field] ?? pod?.[field];
    const owner = own[field] === undefined ? "spec" : path;
    if (profile && profile.type !== "RuntimeDefault")
      throw unsupported(`${owner}.securityContext.${field}.type`, "containers run with Azure's own profile: use RuntimeDefault");
  }
}
