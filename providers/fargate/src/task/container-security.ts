import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import type { ContainerDefinition } from "@aws-sdk/client-ecs";
import type { RefusedField } from "@virtual-kubelet/remote-pods";

type PodSecurity = DeepReadonly<NonNullable<NonNullable<Pod["spec"]>["securityContext"]>>;
type ContainerSecurity = DeepReadonly<NonNullable<Container["securityContext"]>>;

/** Capabilities that a container of Fargate may add. Source: ECS API reference, KernelCapabilities. */
const addable: readonly string[] = ["SYS_PTRACE"];

/** Returns the fields of security contexts that a Fargate task cannot have. */
export function refusedSecurity({ spec }: DeepReadonly<Pod>): readonly RefusedField[] {
  const pod = spec?.securityContext ?? {};
  const containers = [
    ...(spec?.initContainers ?? []).map((container, index) => ({ container, path: `spec.initContainers[${index}]` })),
    ...(spec?.containers ?? []).map((container, index) => ({ container, path: `spec.containers[${index}]` })),
  ];
  return [
    ...refusedOfPod(pod),
    ...containers.flatMap(({ container, path }) => refusedOfContainer(container.securityContext ?? {}, pod, path)),
  ];
}

/** Returns the part of a container definition that its security context determines. */
export function securityOf(
  container: DeepReadonly<Container>,
  pod: PodSecurity = {},
): Pick<ContainerDefinition, "user" | "readonlyRootFilesystem" | "linuxParameters"> {
  const { capabilities, readOnlyRootFilesystem, runAsUser = pod.runAsUser, runAsGroup = pod.runAsGroup } = container.securityContext ?? {};
  const add = (capabilities?.add ?? []).map(plainName);
  const drop = (capabilities?.drop ?? []).map(plainName);
  return {
    ...(runAsUser !== undefined && { user: runAsGroup === undefined ? String(runAsUser) : `${runAsUser}:${runAsGroup}` }),
    ...(readOnlyRootFilesystem !== undefined && { readonlyRootFilesystem: readOnlyRootFilesystem }),
    ...(add.length + drop.length > 0 && {
      linuxParameters: { capabilities: { ...(add.length > 0 && { add }), ...(drop.length > 0 && { drop }) } },
    }),
  };
}

function refusedOfPod(pod: PodSecurity): readonly RefusedField[] {
  const { add, fields } = collect("spec.securityContext");
  add(pod.supplementalGroups?.length, "supplementalGroups", "ECS sets one group per container");
  add(pod.supplementalGroupsPolicy === "Strict", "supplementalGroupsPolicy", "ECS reads the groups in the image");
  add(pod.sysctls?.length, "sysctls", "kernel settings of a pod are not translated");
  addProfiles(pod, add);
  return fields;
}

function refusedOfContainer(own: ContainerSecurity, pod: PodSecurity, path: string): readonly RefusedField[] {
  const { add, fields } = collect(`${path}.securityContext`);
  const user = own.runAsUser ?? pod.runAsUser;
  add(own.privileged, "privileged", "Fargate has no privileged containers");
  add(
    own.allowPrivilegeEscalation === false,
    "allowPrivilegeEscalation",
    "Fargate does not set no_new_privs; let the node ignore the field if that is acceptable",
  );
  add(own.procMount !== undefined && own.procMount !== "Default", "procMount", "Fargate masks /proc");
  add(
    (own.runAsNonRoot ?? pod.runAsNonRoot) === true && (user === undefined || user === 0),
    "runAsNonRoot",
    user === 0 ? "runAsUser is 0" : "ECS does not check the image's user; set runAsUser",
  );
  add(
    (own.runAsGroup ?? pod.runAsGroup) !== undefined && user === undefined,
    "runAsGroup",
    "ECS sets a group only together with a user; set runAsUser",
  );
  for (const name of own.capabilities?.add ?? [])
    add(!addable.includes(plainName(name)), "capabilities.add", `Fargate adds only ${addable.join(", ")}, not ${name}`);
  addProfiles(own, add);
  return fields;
}

function addProfiles(
  { seLinuxOptions, seccompProfile, appArmorProfile, windowsOptions }: PodSecurity | ContainerSecurity,
  add: (isAsked: unknown, field: string, message: string) => void,
): void {
  add(seLinuxOptions && Object.keys(seLinuxOptions).length > 0, "seLinuxOptions", "Fargate has no SELinux");
  add(seccompProfile && seccompProfile.type !== "RuntimeDefault", "seccompProfile", "Fargate has only the runtime's profile");
  add(appArmorProfile && appArmorProfile.type !== "RuntimeDefault", "appArmorProfile", "Fargate has only the runtime's profile");
  add(windowsOptions && Object.keys(windowsOptions).length > 0, "windowsOptions", "the tasks run Linux");
}

function collect(path: string): {
  readonly fields: RefusedField[];
  readonly add: (isAsked: unknown, field: string, message: string) => void;
} {
  const fields: RefusedField[] = [];
  return {
    fields,
    add(isAsked, field, message) {
      if (isAsked) fields.push({ fieldPath: `${path}.${field}`, message });
    },
  };
}

/** Docker and ECS name capabilities without the prefix. */
function plainName(capability: string): string {
  return capability.replace(/^CAP_/, "");
}
