import type { FieldError } from "../kind.ts";
import { duplicate, forbiddenField, invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { each } from "../validation/labels.ts";
import { idProblems } from "../validation/names.ts";
import { descendingPathErrors } from "../validation/paths.ts";
import type { PodSpec, SecurityContext } from "./pod-fields.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, ValidateSecurityContext and validatePodSpecSecurityContext. */

const seccompTypes = ["Localhost", "RuntimeDefault", "Unconfined"];
const procMounts = ["Default", "Unmasked"];
const sysctlPattern = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
const sysctlRule = new RegExp(sysctlPattern);

/** @param hostUsers - whether the pod uses the host's user namespace */
export function containerSecurityErrors(context: SecurityContext, field: string, hostUsers: boolean): FieldError[] {
  const { runAsUser, runAsGroup, procMount, seccompProfile, allowPrivilegeEscalation, privileged, capabilities } = context;
  const errors = [
    ...(runAsUser === undefined ? [] : each(`${field}.runAsUser`, runAsUser, idProblems(runAsUser))),
    ...(runAsGroup === undefined ? [] : each(`${field}.runAsGroup`, runAsGroup, idProblems(runAsGroup))),
  ];
  if (procMount !== undefined && !procMounts.includes(procMount)) errors.push(notSupported(`${field}.procMount`, procMount, procMounts));
  if (procMount === "Unmasked" && hostUsers)
    errors.push(invalidValue(`${field}.procMount`, procMount, "`hostUsers` must be false to use `Unmasked`"));
  errors.push(...seccompErrors(seccompProfile, `${field}.seccompProfile`));
  if (allowPrivilegeEscalation === false) {
    const shown = internalForm(context);
    if (privileged) errors.push(invalidValue(field, shown, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"));
    if (capabilities?.add?.includes("CAP_SYS_ADMIN"))
      errors.push(invalidValue(field, shown, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"));
  }
  return errors;
}

/** The real server prints its internal struct, whose fields have no JSON names. */
function internalForm({ capabilities, seccompProfile, ...rest }: SecurityContext): unknown {
  const { privileged, runAsUser, runAsGroup, runAsNonRoot, readOnlyRootFilesystem, allowPrivilegeEscalation, procMount } = rest;
  return {
    Capabilities: capabilities === undefined ? null : { Add: capabilities.add ?? null, Drop: capabilities.drop ?? null },
    Privileged: privileged ?? null,
    SELinuxOptions: null,
    WindowsOptions: null,
    RunAsUser: runAsUser ?? null,
    RunAsGroup: runAsGroup ?? null,
    RunAsNonRoot: runAsNonRoot ?? null,
    ReadOnlyRootFilesystem: readOnlyRootFilesystem ?? null,
    AllowPrivilegeEscalation: allowPrivilegeEscalation ?? null,
    ProcMount: procMount ?? null,
    SeccompProfile:
      seccompProfile === undefined ? null : { Type: seccompProfile.type, LocalhostProfile: seccompProfile.localhostProfile ?? null },
    AppArmorProfile: null,
  };
}

export function podSecurityErrors(spec: PodSpec, field: string): FieldError[] {
  const { securityContext: context = {}, shareProcessNamespace, hostPID } = spec;
  const { fsGroup, runAsUser, runAsGroup, supplementalGroups = [], sysctls = [], fsGroupChangePolicy, seccompProfile } = context;
  const ids = Object.entries({ fsGroup, runAsUser, runAsGroup }).flatMap(([name, id]) =>
    id === undefined ? [] : each(`${field}.${name}`, id, idProblems(id)),
  );
  const groups = supplementalGroups.flatMap((id, index) => each(`${field}.supplementalGroups[${index}]`, id, idProblems(id)));
  const policies = ["Always", "OnRootMismatch"];
  return [
    ...ids,
    ...groups,
    ...(shareProcessNamespace && hostPID
      ? [invalidValue(`${field}.shareProcessNamespace`, true, "ShareProcessNamespace and HostPID cannot both be enabled")]
      : []),
    ...sysctlErrors(sysctls, `${field}.sysctls`),
    ...(fsGroupChangePolicy === undefined || policies.includes(fsGroupChangePolicy)
      ? []
      : [notSupported(`${field}.fsGroupChangePolicy`, fsGroupChangePolicy, policies)]),
    ...seccompErrors(seccompProfile, `${field}.seccompProfile`),
  ];
}

function sysctlErrors(sysctls: readonly { readonly name: string }[], field: string): FieldError[] {
  const names = new Set<string>();
  return sysctls.flatMap(({ name }, index) => {
    const path = `${field}[${index}].name`;
    const key = name.replaceAll("/", ".");
    if (name === "") return [required(path)];
    if (name.length > 253 || !sysctlRule.test(name))
      return [invalidValue(path, name, `must have at most 253 characters and match regex ${sysctlPattern}`)];
    if (names.has(key)) return [duplicate(path, name)];
    names.add(key);
    return [];
  });
}

function seccompErrors(profile: SecurityContext["seccompProfile"], field: string): FieldError[] {
  if (profile === undefined) return [];
  const { type, localhostProfile } = profile;
  const typeErrors =
    type === ""
      ? [required(`${field}.type`, "type is required when seccompProfile is set")]
      : seccompTypes.includes(type)
        ? []
        : [notSupported(`${field}.type`, type, seccompTypes)];
  if (type === "Localhost") {
    const path = `${field}.localhostProfile`;
    return [
      ...typeErrors,
      ...(localhostProfile === undefined
        ? [required(path, "must be set when seccomp type is Localhost")]
        : descendingPathErrors(localhostProfile, path)),
    ];
  }
  return localhostProfile === undefined
    ? typeErrors
    : [...typeErrors, invalidValue(`${field}.localhostProfile`, profile, "can only be set when seccomp type is Localhost")];
}

/** Validates a pod with a user namespace of its own. */
export function hostUsersErrors({ hostUsers, hostNetwork, hostPID, hostIPC }: PodSpec, field: string): FieldError[] {
  if (hostUsers !== false) return [];
  const message = "when `hostUsers` is false";
  return [
    ...(hostNetwork ? [forbiddenField(`${field}.hostNetwork`, message)] : []),
    ...(hostPID ? [forbiddenField(`${field}.HostPID`, message)] : []),
    ...(hostIPC ? [forbiddenField(`${field}.HostIPC`, message)] : []),
  ];
}
