import type { Container, PodSpec, Volume } from "../../kinds/pod/pod-fields.ts";

/** Checks of the Pod Security Standards. Source: k8s.io/pod-security-admission v0.36.3 policy/check_*.go. */

/** A pod or a pod template. */
export interface CheckedPod {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
}

/** Why a pod violates a check, such as `privileged` and the containers that are. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

/** A check, which is part of the standards from a minor version on. */
export interface PodSecurityCheck {
  readonly level: "baseline" | "restricted";
  /** Default: 0. */
  readonly since?: number;
  /** Whether the restricted level has a stricter check instead, from this minor version on. */
  readonly overriddenSince?: number;
  /** @param minor - version of the standards */
  readonly check: (pod: CheckedPod, minor: number) => Violation | undefined;
}

type Security = NonNullable<Container["securityContext"]>;

const quoted = (items: readonly string[]): string => items.map((item) => `"${item}"`).join(", ");
const plural = (one: string, many: string, count: number): string => (count === 1 ? one : many);
const sorted = (items: readonly string[]): string[] => [...new Set(items)].toSorted();

function containersOf({ spec }: CheckedPod): Container[] {
  return [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])];
}

function namesOf(pod: CheckedPod, isBad: (container: Container) => boolean): string[] {
  return containersOf(pod)
    .filter(isBad)
    .map(({ name }) => name);
}

function containersText(names: readonly string[]): string {
  return `${plural("container", "containers", names.length)} ${quoted(names)}`;
}

/** Whoever sets a bad value: the pod, containers, or both. */
function settersText(isPod: boolean, names: readonly string[]): string {
  return [...(isPod ? ["pod"] : []), ...(names.length > 0 ? [containersText(names)] : [])].join(" and ");
}

function securityOf(container: Container): Partial<Security> {
  return container.securityContext ?? {};
}

function isWindows({ spec }: CheckedPod): boolean {
  return spec.os?.name === "windows";
}

/** Pods with a user namespace of their own may be root in it, from version 1.35 on. */
function isRelaxed({ spec }: CheckedPod, minor: number): boolean {
  return minor >= 35 && spec.hostUsers === false;
}

function appArmorProfile(pod: CheckedPod): Violation | undefined {
  const isBad = (type: string | undefined): boolean => type !== undefined && type !== "RuntimeDefault" && type !== "Localhost";
  const podType = pod.spec.securityContext?.appArmorProfile?.type;
  const bad = containersOf(pod).filter((container) => isBad(securityOf(container).appArmorProfile?.type));
  const prefix = "container.apparmor.security.beta.kubernetes.io/";
  const annotations = Object.entries(pod.annotations)
    .filter(([key, value]) => key.startsWith(prefix) && value !== "" && value !== "runtime/default" && !value.startsWith("localhost/"))
    .map(([key, value]) => `${key}="${value}"`)
    .toSorted();
  const setters = [
    settersText(
      isBad(podType),
      bad.map(({ name }) => name),
    ),
    ...(annotations.length > 0 ? [plural("annotation", "annotations", annotations.length)] : []),
  ].filter((text) => text !== "");
  if (setters.length === 0) return undefined;
  const types = [...(isBad(podType) ? [podType ?? ""] : []), ...bad.map((container) => securityOf(container).appArmorProfile?.type ?? "")];
  const values = [...sorted(types), ...annotations];
  return {
    reason: plural("forbidden AppArmor profile", "forbidden AppArmor profiles", values.length),
    detail: `${setters.join(" and ")} must not set AppArmor profile type to ${quoted(values)}`,
  };
}

const defaultCapabilities: ReadonlySet<string> = new Set(
  "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT".split(" "),
);

/** Containers that add capabilities that are not allowed. */
function addedCapabilities(pod: CheckedPod, isAllowed: (capability: string) => boolean): { names: string[]; capabilities: string[] } {
  const forbidden = (container: Container): string[] => (securityOf(container).capabilities?.add ?? []).filter((one) => !isAllowed(one));
  return {
    names: namesOf(pod, (container) => forbidden(container).length > 0),
    capabilities: sorted(containersOf(pod).flatMap(forbidden)),
  };
}

function capabilitiesBaseline(pod: CheckedPod): Violation | undefined {
  const { names, capabilities } = addedCapabilities(pod, (capability) => defaultCapabilities.has(capability));
  if (names.length === 0) return undefined;
  const detail = `${containersText(names)} must not include ${quoted(capabilities)} in securityContext.capabilities.add`;
  return { reason: "non-default capabilities", detail };
}

function capabilitiesRestricted(pod: CheckedPod, minor: number): Violation | undefined {
  if (minor >= 25 && isWindows(pod)) return undefined;
  const keeping = namesOf(pod, (container) => securityOf(container).capabilities?.drop?.includes("ALL") !== true);
  const { names, capabilities } = addedCapabilities(pod, (capability) => capability === "NET_BIND_SERVICE");
  const details = [
    ...(keeping.length > 0 ? [`${containersText(keeping)} must set securityContext.capabilities.drop=["ALL"]`] : []),
    ...(names.length > 0 ? [`${containersText(names)} must not include ${quoted(capabilities)} in securityContext.capabilities.add`] : []),
  ];
  return details.length === 0 ? undefined : { reason: "unrestricted capabilities", detail: details.join("; ") };
}

function hostNamespaces({ spec }: CheckedPod): Violation | undefined {
  const used = (["hostNetwork", "hostPID", "hostIPC"] as const).filter((name) => spec[name] === true).map((name) => `${name}=true`);
  return used.length === 0 ? undefined : { reason: "host namespaces", detail: used.join(", ") };
}

function hostPathVolumes({ spec }: CheckedPod): Violation | undefined {
  const names = (spec.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined).map(({ name }) => name);
  return names.length === 0
    ? undefined
    : { reason: "hostPath volumes", detail: `${plural("volume", "volumes", names.length)} ${quoted(names)}` };
}

function hostPorts(pod: CheckedPod): Violation | undefined {
  const portsOf = ({ ports }: Container): number[] => (ports ?? []).map(({ hostPort = 0 }) => hostPort).filter((port) => port !== 0);
  const names = namesOf(pod, (container) => portsOf(container).length > 0);
  if (names.length === 0) return undefined;
  const ports = sorted(containersOf(pod).flatMap(portsOf).map(String));
  const uses = `${plural("uses", "use", names.length)} ${plural("hostPort", "hostPorts", ports.length)}`;
  return { reason: "hostPort", detail: `${containersText(names)} ${uses} ${ports.join(", ")}` };
}

interface HostHandler {
  readonly httpGet?: { readonly host?: string };
  readonly tcpSocket?: { readonly host?: string };
}

function hostProbes(pod: CheckedPod): Violation | undefined {
  const hostsOf = ({ livenessProbe, readinessProbe, startupProbe, lifecycle }: Container): string[] => {
    const handlers = [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop] as (HostHandler | undefined)[];
    return handlers.flatMap((handler) => [handler?.httpGet?.host ?? "", handler?.tcpSocket?.host ?? ""]).filter((host) => host !== "");
  };
  const names = sorted(namesOf(pod, (container) => hostsOf(container).length > 0));
  if (names.length === 0) return undefined;
  const hosts = sorted(containersOf(pod).flatMap(hostsOf));
  const uses = `${plural("uses", "use", names.length)} ${plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.length)}`;
  return { reason: "probe or lifecycle host", detail: `${containersText(names)} ${uses} ${quoted(hosts)}` };
}

function privileged(pod: CheckedPod): Violation | undefined {
  const names = namesOf(pod, (container) => securityOf(container).privileged === true);
  return names.length === 0
    ? undefined
    : { reason: "privileged", detail: `${containersText(names)} must not set securityContext.privileged=true` };
}

function procMount(pod: CheckedPod): Violation | undefined {
  const typeOf = (container: Container): string => securityOf(container).procMount ?? "Default";
  const bad = containersOf(pod).filter((container) => typeOf(container) !== "Default");
  if (bad.length === 0) return undefined;
  const names = containersText(bad.map(({ name }) => name));
  return { reason: "procMount", detail: `${names} must not set securityContext.procMount to ${quoted(sorted(bad.map(typeOf)))}` };
}

interface SeLinuxOptions {
  readonly type?: string;
  readonly user?: string;
  readonly role?: string;
}

function seLinuxOptions(pod: CheckedPod, minor: number): Violation | undefined {
  const types = ["", "container_t", "container_init_t", "container_kvm_t", ...(minor >= 31 ? ["container_engine_t"] : [])];
  const isBad = (options: SeLinuxOptions | undefined): boolean =>
    options !== undefined && (!types.includes(options.type ?? "") || (options.user ?? "") !== "" || (options.role ?? "") !== "");
  const podOptions: SeLinuxOptions | undefined = pod.spec.securityContext?.seLinuxOptions;
  const containers = containersOf(pod);
  const names = namesOf(pod, (container) => isBad(securityOf(container).seLinuxOptions));
  if (!isBad(podOptions) && names.length === 0) return undefined;
  const all: readonly SeLinuxOptions[] = [podOptions ?? {}, ...containers.map((container) => securityOf(container).seLinuxOptions ?? {})];
  const badTypes = sorted(all.map(({ type = "" }) => type).filter((type) => !types.includes(type)));
  const problems = [
    ...(badTypes.length > 0 ? [`${plural("type", "types", badTypes.length)} ${quoted(badTypes)}`] : []),
    ...(all.some(({ user = "" }) => user !== "") ? ["user may not be set"] : []),
    ...(all.some(({ role = "" }) => role !== "") ? ["role may not be set"] : []),
  ];
  const setters = settersText(isBad(podOptions), names);
  return { reason: "seLinuxOptions", detail: `${setters} set forbidden securityContext.seLinuxOptions: ${problems.join("; ")}` };
}

function isBadSeccomp(type: string | undefined): boolean {
  return type !== undefined && type !== "RuntimeDefault" && type !== "Localhost";
}

/** Seccomp profiles that are set and not allowed. Before version 1.19 they were annotations, which are not checked here. */
function badSeccomp(pod: CheckedPod): Violation | undefined {
  const podType = pod.spec.securityContext?.seccompProfile?.type;
  const bad = containersOf(pod).filter((container) => isBadSeccomp(securityOf(container).seccompProfile?.type));
  if (!isBadSeccomp(podType) && bad.length === 0) return undefined;
  const types = [...(isBadSeccomp(podType) ? [podType ?? ""] : []), ...bad.map((one) => securityOf(one).seccompProfile?.type ?? "")];
  const setters = settersText(
    isBadSeccomp(podType),
    bad.map(({ name }) => name),
  );
  return { reason: "seccompProfile", detail: `${setters} must not set securityContext.seccompProfile.type to ${quoted(sorted(types))}` };
}

function seccompRestricted(pod: CheckedPod, minor: number): Violation | undefined {
  if (minor >= 25 && isWindows(pod)) return undefined;
  const bad = badSeccomp(pod);
  if (bad !== undefined || pod.spec.securityContext?.seccompProfile !== undefined) return bad;
  const names = namesOf(pod, (container) => securityOf(container).seccompProfile === undefined);
  const rule = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"';
  return names.length === 0 ? undefined : { reason: "seccompProfile", detail: `pod or ${containersText(names)} ${rule}` };
}

const sysctlsSince: readonly (readonly [minor: number, names: readonly string[]])[] = [
  [
    0,
    [
      "kernel.shm_rmid_forced",
      "net.ipv4.ip_local_port_range",
      "net.ipv4.tcp_syncookies",
      "net.ipv4.ping_group_range",
      "net.ipv4.ip_unprivileged_port_start",
    ],
  ],
  [27, ["net.ipv4.ip_local_reserved_ports"]],
  [29, ["net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"]],
  [32, ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"]],
];

function sysctls({ spec }: CheckedPod, minor: number): Violation | undefined {
  const allowed = sysctlsSince.filter(([since]) => since <= minor).flatMap(([, names]) => names);
  const names = (spec.securityContext?.sysctls ?? []).map(({ name }) => name).filter((name) => !allowed.includes(name));
  return names.length === 0 ? undefined : { reason: "forbidden sysctls", detail: names.join(", ") };
}

function windowsHostProcess(pod: CheckedPod): Violation | undefined {
  const isHost = (context: Pick<Security, "windowsOptions"> | undefined): boolean => context?.windowsOptions?.hostProcess === true;
  const names = namesOf(pod, ({ securityContext }) => isHost(securityContext));
  const isPod = isHost(pod.spec.securityContext);
  if (!isPod && names.length === 0) return undefined;
  return { reason: "hostProcess", detail: `${settersText(isPod, names)} must not set securityContext.windowsOptions.hostProcess=true` };
}

function allowPrivilegeEscalation(pod: CheckedPod, minor: number): Violation | undefined {
  if (minor >= 25 && isWindows(pod)) return undefined;
  const names = namesOf(pod, (container) => securityOf(container).allowPrivilegeEscalation !== false);
  if (names.length === 0) return undefined;
  const detail = `${containersText(names)} must set securityContext.allowPrivilegeEscalation=false`;
  return { reason: "allowPrivilegeEscalation != false", detail };
}

const allowedVolumes = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
];

function restrictedVolumes({ spec }: CheckedPod): Violation | undefined {
  const typeOf = (volume: Volume): string => Object.keys(volume).find((name) => name !== "name") ?? "unknown";
  const bad = (spec.volumes ?? []).filter((volume) => !allowedVolumes.includes(typeOf(volume)));
  if (bad.length === 0) return undefined;
  const types = sorted(bad.map(typeOf));
  const names = `${plural("volume", "volumes", bad.length)} ${quoted(bad.map(({ name }) => name))}`;
  const uses = `${plural("uses", "use", bad.length)} ${plural("restricted volume type", "restricted volume types", types.length)}`;
  return { reason: "restricted volume types", detail: `${names} ${uses} ${quoted(types)}` };
}

function runAsNonRoot(pod: CheckedPod, minor: number): Violation | undefined {
  if (isRelaxed(pod, minor)) return undefined;
  const reason = "runAsNonRoot != true";
  const byPod = pod.spec.securityContext?.runAsNonRoot;
  const explicit = namesOf(pod, (container) => securityOf(container).runAsNonRoot === false);
  if (byPod === false || explicit.length > 0)
    return { reason, detail: `${settersText(byPod === false, explicit)} must not set securityContext.runAsNonRoot=false` };
  const implicit = byPod === true ? [] : namesOf(pod, (container) => securityOf(container).runAsNonRoot === undefined);
  return implicit.length === 0
    ? undefined
    : { reason, detail: `pod or ${containersText(implicit)} must set securityContext.runAsNonRoot=true` };
}

function runAsUser(pod: CheckedPod, minor: number): Violation | undefined {
  if (isRelaxed(pod, minor)) return undefined;
  const isPod = pod.spec.securityContext?.runAsUser === 0;
  const names = namesOf(pod, (container) => securityOf(container).runAsUser === 0);
  if (!isPod && names.length === 0) return undefined;
  return { reason: "runAsUser=0", detail: `${settersText(isPod, names)} must not set runAsUser=0` };
}

/** All checks in the order of their messages. */
export const podSecurityChecks: readonly PodSecurityCheck[] = [
  { level: "baseline", check: appArmorProfile },
  { level: "baseline", overriddenSince: 22, check: capabilitiesBaseline },
  { level: "baseline", check: hostNamespaces },
  { level: "baseline", overriddenSince: 0, check: hostPathVolumes },
  { level: "baseline", check: hostPorts },
  { level: "baseline", since: 34, check: hostProbes },
  { level: "baseline", check: privileged },
  { level: "baseline", overriddenSince: 35, check: (pod, minor) => (isRelaxed(pod, minor) ? undefined : procMount(pod)) },
  { level: "baseline", check: seLinuxOptions },
  { level: "baseline", since: 19, overriddenSince: 19, check: badSeccomp },
  { level: "baseline", check: sysctls },
  { level: "baseline", check: windowsHostProcess },
  { level: "restricted", since: 8, check: allowPrivilegeEscalation },
  { level: "restricted", since: 22, check: capabilitiesRestricted },
  { level: "restricted", since: 35, check: procMount },
  { level: "restricted", check: restrictedVolumes },
  { level: "restricted", check: runAsNonRoot },
  { level: "restricted", since: 23, check: runAsUser },
  { level: "restricted", since: 19, check: seccompRestricted },
];
