import type { Container, DeepReadonly, Pod, PodSpec } from "@virtual-kubelet/core";
import { TerminalError, UnsupportedError } from "@virtual-kubelet/errdefs";
import { baselineCapabilities, isAllowedHostPath, type PodPolicy } from "./pod-policy.ts";
import { forbiddenSysctl } from "./pod-sysctls.ts";

/** A field of a pod that asks for more than it may. */
interface Refusal {
  /** Such as `spec.hostNetwork`. */
  readonly fieldPath: string;
  /** What it asks for, such as `the node's network`. */
  readonly what: string;
  /** The setting that would allow it; absent: none does. */
  readonly setting?: string | undefined;
}

type Refuse = (isAsked: boolean, isAllowed: boolean | undefined, refusal: Refusal) => void;
type SecurityContext = NonNullable<Container["securityContext"]> | NonNullable<PodSpec["securityContext"]>;

/**
 * Refuses a pod that asks for more than its node's policy allows, or for what no container runtime can be told. For pods
 * that are new, and again when one changes: ephemeral containers come later.
 *
 * @throws UnsupportedError naming all such fields and how each can be allowed; its `fieldPath` is the first of them
 * @throws TerminalError with the reason `SysctlForbidden`, where only sysctls are to blame, as a kubelet
 */
export function checkPod(pod: DeepReadonly<Pod>, policy: PodPolicy): void {
  const refusals = refusalsOf(pod, policy);
  const [first] = refusals;
  if (first) {
    const fields = refusals.map(
      ({ fieldPath, what, setting }) => `${fieldPath} (${what}; ${setting ? `policy.${setting} allows it` : "no setting allows it"})`,
    );
    const message = `not allowed on this node: ${fields.join(", ")}; the policy is in the provider's configuration`;
    throw new UnsupportedError(message, { fieldPath: first.fieldPath });
  }
  const forbidden = forbiddenSysctl(pod, policy.sysctls ?? []);
  if (forbidden !== undefined) throw new TerminalError(`Pod was rejected: ${forbidden}`, { reason: "SysctlForbidden" });
}

function refusalsOf(pod: DeepReadonly<Pod>, policy: PodPolicy): readonly Refusal[] {
  const spec = pod.spec ?? { containers: [] };
  const refusals: Refusal[] = [];
  const refuse: Refuse = (isAsked, isAllowed, refusal) => void (isAsked && !isAllowed && refusals.push(refusal));

  refuse(spec.hostNetwork === true, policy.hostNetwork, {
    fieldPath: "spec.hostNetwork",
    what: "the node's network",
    setting: "hostNetwork",
  });
  refuse(spec.hostPID === true, policy.hostPID, { fieldPath: "spec.hostPID", what: "the node's processes", setting: "hostPID" });
  refuse(spec.hostIPC === true, policy.hostIPC, { fieldPath: "spec.hostIPC", what: "the node's shared memory", setting: "hostIPC" });
  refuse(spec.hostUsers === false, false, { fieldPath: "spec.hostUsers", what: "user ids of its own (false)" });
  refuse(Boolean(spec.resourceClaims?.length), false, { fieldPath: "spec.resourceClaims", what: "dynamically allocated devices" });
  checkConfinement(spec.securityContext, "spec.securityContext", policy, refuse);
  checkAppArmorAnnotations(pod, policy, refuse);
  for (const [index, { hostPath }] of (spec.volumes ?? []).entries()) {
    const isAllowed = hostPath && isAllowedHostPath(hostPath.path, policy);
    const fieldPath = `spec.volumes[${index}].hostPath.path`;
    refuse(Boolean(hostPath), isAllowed, { fieldPath, what: `${JSON.stringify(hostPath?.path)} of the node`, setting: "hostPaths" });
  }
  for (const list of ["initContainers", "containers", "ephemeralContainers"] as const) {
    const containers: readonly DeepReadonly<Container>[] = spec[list] ?? [];
    for (const [index, container] of containers.entries()) checkContainer(container, `spec.${list}[${index}]`, spec, policy, refuse);
  }
  return refusals;
}

function checkContainer(
  container: DeepReadonly<Container>,
  path: string,
  spec: DeepReadonly<PodSpec>,
  policy: PodPolicy,
  refuse: Refuse,
): void {
  const { securityContext, ports, volumeDevices } = container;
  const contextPath = `${path}.securityContext`;
  const { privileged, capabilities, procMount } = securityContext ?? {};
  refuse(privileged === true, policy.privileged, {
    fieldPath: `${contextPath}.privileged`,
    what: "all of the node",
    setting: "privileged",
  });
  for (const [index, name] of (capabilities?.add ?? []).entries()) {
    const fieldPath = `${contextPath}.capabilities.add[${index}]`;
    refuse(true, isAllowedCapability(name, policy), { fieldPath, what: `the capability ${name}`, setting: "capabilities" });
  }
  checkHosts(container, path, policy, refuse);
  const unmasked = { fieldPath: `${contextPath}.procMount`, what: "all of /proc (Unmasked)", setting: "unconfined" };
  refuse(procMount === "Unmasked", policy.unconfined, unmasked);
  checkConfinement(securityContext, contextPath, policy, refuse);
  // On the node's network every port is one of the node's, and the API server writes it so.
  for (const [index, { hostPort }] of (spec.hostNetwork ? [] : (ports ?? [])).entries()) {
    const refusal = { fieldPath: `${path}.ports[${index}].hostPort`, what: `port ${hostPort} of the node`, setting: "hostPorts" };
    refuse(Boolean(hostPort), policy.hostPorts ?? true, refusal);
  }
  refuse(Boolean(volumeDevices?.length), false, { fieldPath: `${path}.volumeDevices`, what: "volumes as devices" });
}

/**
 * Probes and hooks are asked from the node, which may reach what pods may not.
 * Source: k8s.io/pod-security-admission v0.36.3 policy/check_hostProbesAndhostLifecycle.go.
 */
function checkHosts(container: DeepReadonly<Container>, path: string, policy: PodPolicy, refuse: Refuse): void {
  const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  const actions = {
    livenessProbe,
    readinessProbe,
    startupProbe,
    "lifecycle.postStart": lifecycle?.postStart,
    "lifecycle.preStop": lifecycle?.preStop,
  };
  for (const [field, action] of Object.entries(actions)) {
    for (const kind of ["httpGet", "tcpSocket"] as const) {
      const host = action?.[kind]?.host;
      const refusal = { fieldPath: `${path}.${field}.${kind}.host`, what: `${host}, asked from the node`, setting: "hostNetwork" };
      refuse(Boolean(host), policy.hostNetwork, refusal);
    }
  }
}

/** Types that confine as much as the default. Source: k8s.io/pod-security-admission v0.36.3 policy/check_seLinuxOptions.go. */
const confinedTypes: readonly string[] = ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

function checkConfinement(context: DeepReadonly<SecurityContext> | undefined, path: string, policy: PodPolicy, refuse: Refuse): void {
  const { seccompProfile, appArmorProfile, seLinuxOptions } = context ?? {};
  const setting = "unconfined";
  const check = (isAsked: boolean, field: string, what: string): void =>
    refuse(isAsked, policy.unconfined, { fieldPath: `${path}.${field}`, what, setting });
  check(seccompProfile?.type === "Unconfined", "seccompProfile.type", "all system calls (Unconfined)");
  check(appArmorProfile?.type === "Unconfined", "appArmorProfile.type", "no AppArmor profile (Unconfined)");
  const { localhostProfile = "" } = appArmorProfile ?? {};
  check(!isConfiningName(localhostProfile), "appArmorProfile.localhostProfile", `the AppArmor profile ${localhostProfile}`);
  check(!confinedTypes.includes(seLinuxOptions?.type ?? ""), "seLinuxOptions.type", `the SELinux type ${seLinuxOptions?.type}`);
  check(Boolean(seLinuxOptions?.user), "seLinuxOptions.user", `the SELinux user ${seLinuxOptions?.user}`);
  check(Boolean(seLinuxOptions?.role), "seLinuxOptions.role", `the SELinux role ${seLinuxOptions?.role}`);
}

/** Whether a name is a profile's: runtimes take `unconfined` for no profile, and a colon or `&` leads to other namespaces. */
function isConfiningName(profile: string): boolean {
  return profile.trim() !== "unconfined" && !/[:&]/.test(profile);
}

/** What stood for `appArmorProfile` before Kubernetes 1.30. */
const appArmorAnnotation = "container.apparmor.security.beta.kubernetes.io/";

function checkAppArmorAnnotations({ metadata }: DeepReadonly<Pod>, policy: PodPolicy, refuse: Refuse): void {
  for (const [key, profile] of Object.entries(metadata?.annotations ?? {})) {
    if (!key.startsWith(appArmorAnnotation) || profile !== "unconfined") continue;
    const fieldPath = `metadata.annotations['${key}']`;
    refuse(true, policy.unconfined, { fieldPath, what: "no AppArmor profile (unconfined)", setting: "unconfined" });
  }
}

function isAllowedCapability(name: string, { capabilities = [] }: PodPolicy): boolean {
  const plain = plainCapability(name);
  return [...baselineCapabilities, ...capabilities.map(plainCapability)].some((allowed) => allowed === plain || allowed === "ALL");
}

/** `CAP_SYS_TIME` and `sys_time` as `SYS_TIME`: runtimes take them all. */
function plainCapability(name: string): string {
  return name.toUpperCase().replace(/^CAP_/, "");
}
