import { TerminalError, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { Container, DeepReadonly, Pod, PodSpec } from "@virtual-kubelet/kube-client";
import { ownValue } from "@virtual-kubelet/kubernetes";
import type { Capabilities } from "../provider/capabilities.ts";
import { baselineCapabilities, isAllowedHostPath, type PodPolicy, type PolicyAnnotation, type PolicyVolume } from "./pod-policy.ts";
import { forbiddenSysctl } from "./pod-sysctls.ts";

/** A field of a pod that asks for more than it may. */
export interface PolicyRefusal {
  /** Such as `spec.hostNetwork`. */
  readonly fieldPath: string;
  /** What it asks for, such as `the node's network`. */
  readonly what: string;
  /** The setting of the policy that would allow it; absent: none does. */
  readonly setting?: string | undefined;
}

/** What a policy says of a pod. */
export type PolicyVerdict =
  | { readonly kind: "allowed" }
  /** It waits, or fails, as a pod does that asks for what the provider cannot do. */
  | { readonly kind: "refused"; readonly refusals: readonly [PolicyRefusal, ...PolicyRefusal[]] }
  /** It fails, as on a kubelet. */
  | { readonly kind: "rejected"; readonly reason: string; readonly message: string };

/** What a policy judges besides the fields that mean the same to every provider. */
export interface PolicyScope {
  /** Annotations by which a pod chooses how its provider runs it; others mean nothing to a policy. Default: none. */
  readonly annotations?: readonly PolicyAnnotation[] | undefined;
  /** Fields by which a pod names volumes of the back end. Default: none. */
  readonly volumes?: readonly PolicyVolume[] | undefined;
  /** Operating systems whose pods the provider runs: fields for Windows mean nothing where it is not among them. Default: any. */
  readonly operatingSystems?: Capabilities["operatingSystems"];
}

type Refuse = (isAsked: boolean, isAllowed: boolean | undefined, refusal: PolicyRefusal) => void;
type SecurityContext = NonNullable<Container["securityContext"]> | NonNullable<PodSpec["securityContext"]>;

/** Whether a policy allows what a pod asks of its node. */
export function policyVerdict(pod: DeepReadonly<Pod>, policy: PodPolicy, scope: PolicyScope = {}): PolicyVerdict {
  const [first, ...others] = [...refusalsOf(pod, policy, scope), ...hostProcessRefusals(pod, policy, scope.operatingSystems)];
  if (first) return { kind: "refused", refusals: [first, ...others] };
  const forbidden = forbiddenSysctl(pod, policy.sysctls ?? []);
  if (forbidden === undefined) return { kind: "allowed" };
  return { kind: "rejected", reason: "SysctlForbidden", message: `Pod was rejected: ${forbidden}` };
}

/** Refusals as a user is told of them. */
export function refusalMessage(refusals: readonly PolicyRefusal[]): string {
  const fields = refusals.map(({ fieldPath, what, setting }) => `${fieldPath} (${what}; ${remedy(setting)})`);
  return `not allowed on this node: ${fields.join(", ")}; the policy is in the provider's configuration`;
}

/** A refusal as it follows the path of its field. */
export function refusalText({ what, setting }: PolicyRefusal): string {
  return `asks for ${what}, which this node does not allow; ${remedy(setting)}`;
}

function remedy(setting: string | undefined): string {
  return setting === undefined ? "no setting allows it" : `policy.${setting} allows it`;
}

/**
 * As {@link policyVerdict}, for a provider that checks a pod again, such as before each start of a container, because the policy may have changed
 * while no program ran.
 *
 * @throws UnsupportedError naming all fields that are not allowed and how each can be allowed; its `fieldPath` is the first of them
 * @throws TerminalError with the reason `SysctlForbidden`, where only sysctls are to blame, as a kubelet
 */
export function checkPolicy(pod: DeepReadonly<Pod>, policy: PodPolicy, scope?: PolicyScope): void {
  const verdict = policyVerdict(pod, policy, scope);
  if (verdict.kind === "refused")
    throw new UnsupportedError(refusalMessage(verdict.refusals), { fieldPath: verdict.refusals[0].fieldPath });
  if (verdict.kind === "rejected") throw new TerminalError(verdict.message, { reason: verdict.reason });
}

function refusalsOf(pod: DeepReadonly<Pod>, policy: PodPolicy, { annotations = [], volumes = [] }: PolicyScope): readonly PolicyRefusal[] {
  const spec = pod.spec ?? { containers: [] };
  const refusals: PolicyRefusal[] = [];
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
  for (const annotation of annotations) checkAnnotation(pod, annotation, policy, refuse);
  for (const [index, { hostPath }] of (spec.volumes ?? []).entries()) {
    const isAllowed = hostPath && isAllowedHostPath(hostPath.path, policy);
    const fieldPath = `spec.volumes[${index}].hostPath.path`;
    refuse(Boolean(hostPath), isAllowed, { fieldPath, what: `${JSON.stringify(hostPath?.path)} of the node`, setting: "hostPaths" });
  }
  for (const volume of volumes) checkVolumeIds(pod, volume, policy, refuse);
  for (const list of ["initContainers", "containers", "ephemeralContainers"] as const) {
    const containers: readonly DeepReadonly<Container>[] = spec[list] ?? [];
    for (const [index, container] of containers.entries()) checkContainer(container, `spec.${list}[${index}]`, spec, policy, refuse);
  }
  return refusals;
}

/**
 * HostProcess containers own a Windows node. A kubelet on Linux does not look at the field, and pods for both carry it.
 * Source: k8s.io/pod-security-admission v0.36.3 policy/check_windowsHostProcess.go.
 */
function hostProcessRefusals(
  { spec }: DeepReadonly<Pod>,
  { privileged }: PodPolicy,
  operatingSystems?: Capabilities["operatingSystems"],
): readonly PolicyRefusal[] {
  if (privileged || operatingSystems?.includes("windows") === false) return [];
  const owners: readonly (readonly [path: string, owner: { readonly securityContext?: DeepReadonly<SecurityContext> | undefined }])[] = [
    ["spec", spec ?? {}],
    ...(["initContainers", "containers", "ephemeralContainers"] as const).flatMap((list) =>
      (spec?.[list] ?? []).map((container, index) => [`spec.${list}[${index}]`, container] as const),
    ),
  ];
  return owners.flatMap(([path, { securityContext }]) =>
    securityContext?.windowsOptions?.hostProcess === true
      ? [{ fieldPath: `${path}.securityContext.windowsOptions.hostProcess`, what: "all of the node", setting: "privileged" }]
      : [],
  );
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
  // What kubectl debug asks for: it reaches processes that the container sees, and these are its pod's.
  const sharesProcesses = path.startsWith("spec.ephemeralContainers") || spec.shareProcessNamespace === true;
  const tracesPod = sharesProcesses && spec.hostPID !== true;
  for (const [index, name] of (capabilities?.add ?? []).entries()) {
    const fieldPath = `${contextPath}.capabilities.add[${index}]`;
    refuse(true, isAllowedCapability(name, policy) || (tracesPod && plainCapability(name) === "SYS_PTRACE"), {
      fieldPath,
      what: `the capability ${name}`,
      setting: "capabilities",
    });
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

function checkAnnotation({ metadata }: DeepReadonly<Pod>, { name, separator }: PolicyAnnotation, policy: PodPolicy, refuse: Refuse): void {
  const text = metadata?.annotations?.[name];
  if (text === undefined) return;
  const allowed = policy.annotations?.[name] ?? [];
  const values = (separator === undefined ? [text] : text.split(separator)).map((value) => value.trim());
  const isAllowed = allowed.includes("*") || values.every((value) => allowed.includes(value));
  const fieldPath = `metadata.annotations['${name}']`;
  refuse(true, isAllowed, { fieldPath, what: JSON.stringify(text), setting: "annotations" });
}

function checkVolumeIds({ metadata, spec }: DeepReadonly<Pod>, { fieldPath, idOf }: PolicyVolume, policy: PodPolicy, refuse: Refuse): void {
  const allowed = [metadata?.namespace ?? "default", "*"].flatMap((namespace) => ownValue(policy.volumes, namespace) ?? []);
  for (const [index, volume] of (spec?.volumes ?? []).entries()) {
    const id = idOf(volume);
    if (id === undefined) continue;
    const isAllowed = allowed.includes("*") || allowed.includes(id);
    refuse(true, isAllowed, {
      fieldPath: `spec.volumes[${index}].${fieldPath}`,
      what: `the volume ${JSON.stringify(id)}`,
      setting: "volumes",
    });
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
