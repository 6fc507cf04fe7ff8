import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { isSidecar } from "@virtual-kubelet/kubernetes";
import { containerFields, refusedIf, refuseFields, type RefusedField } from "@virtual-kubelet/remote-pods";
import { probeFields } from "./probed-ports.ts";
import { annotationDomain } from "./annotations.ts";
import type { JobSettings } from "./settings.ts";
import { isEmptyDir, isReplaceable, sharedEmptyDirs, volumeOfClaim } from "./task-volumes.ts";

type PodVolume = DeepReadonly<NonNullable<NonNullable<Pod["spec"]>["volumes"]>[number]>;

/** @throws UnsupportedError naming the first field that cannot be had, and all others */
export function refuse(pod: DeepReadonly<Pod>, settings: JobSettings): void {
  refuseFields(refusedFields(pod, settings));
}

/** The fields of a pod that Nomad, or this configuration, cannot do, beyond what the capabilities say. */
function refusedFields(pod: DeepReadonly<Pod>, settings: JobSettings): RefusedField[] {
  const graceSeconds = pod.spec?.terminationGracePeriodSeconds ?? 30;
  const containers = containerFields(pod);
  return [
    ...refusedInSpec(pod, settings),
    ...containers.flatMap(({ container, path }) => [...refusedHooks(container, path), ...refusedInContainer(container, path, settings)]),
    ...containers.flatMap(({ container, path }) => refusedMounts(pod, container, path)),
    ...containers.flatMap(({ container, path }) => refusedProbes(container, path, { settings, graceSeconds })),
    ...refusedVolumes(pod, settings),
  ];
}

/** Longest time-out of a probe's command, in seconds: others wait for its connection meanwhile. */
const maxExecSeconds = 30;

/** Says in the annotations that the containers of a pod need no common localhost. */
const localhostAnnotation = `${annotationDomain}/shared-localhost`;

function refusedInSpec(pod: DeepReadonly<Pod>, settings: JobSettings): RefusedField[] {
  const fields: RefusedField[] = [];
  const spec = pod.spec ?? { containers: [] };
  const { initContainers = [], securityContext: security = {} } = spec;
  const add = (isAsked: unknown, field: string, message: string): void => {
    if (isAsked) fields.push({ fieldPath: `spec.${field}`, message });
  };
  const running = [...spec.containers, ...initContainers.filter(isSidecar)];
  add(
    settings.network === "task" && running.length > 1 && pod.metadata?.annotations?.[localhostAnnotation] !== "false",
    "containers[1]",
    `containers of one pod share no localhost with network: task; use bridge, or the annotation ${localhostAnnotation}: "false"`,
  );
  add(
    settings.config.secrets === "inline" && initContainers.length > 1,
    "initContainers[1]",
    "the order of init containers needs Nomad Variables, which secrets: inline does without",
  );
  for (const [field, text] of dnsTexts(spec)) add(text.includes("${"), `dnsConfig.${field}`, "${, where Nomad puts its own variables in");
  add(
    spec.activeDeadlineSeconds !== undefined,
    "activeDeadlineSeconds",
    "Nomad has no deadline for a job; put it on the Job of Kubernetes",
  );
  add(
    settings.config.imagePullSecrets === "refuse" && settings.driver === "docker" && spec.imagePullSecrets?.length,
    "imagePullSecrets",
    "set imagePullSecrets: ignore where the clients of Nomad hold the registries' passwords, or use, which hands them to the containers, too",
  );
  add(security.sysctls?.length, "securityContext.sysctls", "sysctls");
  add(security.seLinuxOptions, "securityContext.seLinuxOptions", "SELinux labels");
  add(security.appArmorProfile, "securityContext.appArmorProfile", "AppArmor profiles");
  add(security.seccompProfile?.type === "Localhost", "securityContext.seccompProfile", "seccomp profiles of the host");
  add(spec.runtimeClassName, "runtimeClassName", "runtime classes");
  add(spec.hostUsers === false, "hostUsers", "user namespaces");
  add(spec.resourceClaims?.length, "resourceClaims", "resource claims");
  return fields;
}

/** All texts of a pod's `dnsConfig`, by their fields. Nomad has no way to write a `${` there that stays. */
function dnsTexts({ dnsConfig = {} }: DeepReadonly<NonNullable<Pod["spec"]>>): readonly (readonly [field: string, text: string])[] {
  const { nameservers = [], searches = [], options = [] } = dnsConfig;
  return [
    ...nameservers.map((text, index) => [`nameservers[${index}]`, text] as const),
    ...searches.map((text, index) => [`searches[${index}]`, text] as const),
    ...options.map(({ name = "" }, index) => [`options[${index}].name`, name] as const),
    ...options.map(({ value = "" }, index) => [`options[${index}].value`, value] as const),
  ];
}

function refusedHooks({ lifecycle = {} }: DeepReadonly<Container>, path: string): RefusedField[] {
  const message = "hooks by the network; use exec or sleep";
  return [
    ...(["postStart", "preStop"] as const).flatMap((name) =>
      (["httpGet", "tcpSocket"] as const).flatMap((action) =>
        refusedIf(lifecycle[name]?.[action], `${path}.lifecycle.${name}.${action}`, message),
      ),
    ),
    ...refusedIf(lifecycle.stopSignal !== undefined, `${path}.lifecycle.stopSignal`, "signals other than SIGTERM"),
  ];
}

function refusedInContainer(container: DeepReadonly<Container>, path: string, { driver }: JobSettings): RefusedField[] {
  const fields: RefusedField[] = [];
  const add = (isAsked: unknown, field: string, message: string): void => {
    if (isAsked) fields.push({ fieldPath: `${path}.${field}`, message });
  };
  const { securityContext = {}, resources } = container;
  for (const name of Object.keys({ ...resources?.limits, ...resources?.requests })) {
    const isKnown = ["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu"].includes(name);
    add(!isKnown, `resources.limits['${name}']`, "resources other than cpu, memory, ephemeral-storage and nvidia.com/gpu");
  }
  add(container.restartPolicyRules?.length, "restartPolicyRules", "restart rules of single containers");
  add(container.volumeDevices?.length, "volumeDevices", "block devices");
  add(securityContext.seLinuxOptions, "securityContext.seLinuxOptions", "SELinux labels");
  add(securityContext.appArmorProfile, "securityContext.appArmorProfile", "AppArmor profiles");
  add(securityContext.seccompProfile?.type === "Localhost", "securityContext.seccompProfile", "seccomp profiles of the host");
  add(securityContext.procMount !== undefined && securityContext.procMount !== "Default", "securityContext.procMount", "unmasked /proc");
  if (driver === "docker") return fields;
  add(
    (container.command ?? []).length + (container.args ?? []).length === 0,
    "command",
    `driver ${driver} runs a command of the client's; expected one`,
  );
  const { runAsUser: _, runAsGroup, ...others } = securityContext;
  for (const [field, value] of Object.entries({ runAsGroup, ...others })) {
    const isAsked = value !== undefined && value !== null && value !== false && field !== "runAsNonRoot";
    add(isAsked, `securityContext.${field}`, `driver ${driver} knows runAsUser only`);
  }
  add(container.tty, "tty", `driver ${driver} gives a task no terminal`);
  return fields;
}

function refusedMounts(pod: DeepReadonly<Pod>, { volumeMounts = [] }: DeepReadonly<Container>, path: string): RefusedField[] {
  return volumeMounts.flatMap((mount, index): RefusedField[] => {
    const { name, mountPath, subPath = "", mountPropagation = "None" } = mount;
    const at = `${path}.volumeMounts[${index}]`;
    const isClaim = pod.spec?.volumes?.some((volume) => volume.name === name && volume.persistentVolumeClaim);
    return [
      ...refusedIf(mount.subPathExpr, `${at}.subPathExpr`, "sub-paths made of variables"),
      ...refusedIf(mountPath.includes(":"), `${at}.mountPath`, "a colon in a path"),
      ...refusedIf(mountPath.includes("${"), `${at}.mountPath`, "${ in a path, where Nomad puts its own variables in"),
      ...refusedIf(subPath.includes(":"), `${at}.subPath`, "a colon in a path"),
      ...refusedIf(subPath !== "" && isClaim, `${at}.subPath`, "sub-paths of a claim: Nomad mounts the whole of a volume"),
      ...refusedIf(
        isReplaceable(pod, mount),
        `${at}.subPath`,
        "a container that may write to the folder around it could put a link to the client's files in its place; mount the others by sub-paths, too, or readOnly",
      ),
      ...refusedIf(mountPropagation !== "None", `${at}.mountPropagation`, "mounts that spread"),
    ];
  });
}

function refusedProbes(
  container: DeepReadonly<Container>,
  path: string,
  { settings, graceSeconds }: { readonly settings: JobSettings; readonly graceSeconds: number },
): RefusedField[] {
  return [
    ...refusedIf(
      container.startupProbe && isSidecar(container) && settings.config.secrets === "inline",
      `${path}.startupProbe`,
      "containers that wait for a sidecar's startup probe need Nomad Variables, which secrets: inline does without",
    ),
    ...probeFields.flatMap((field): RefusedField[] => {
      const probe = container[field];
      if (!probe) return [];
      const at = `${path}.${field}`;
      const action = (["httpGet", "tcpSocket", "grpc"] as const).find((each) => probe[each]);
      return [
        ...refusedIf(
          action !== undefined && settings.network === "none" && !probe.httpGet?.host && !probe.tcpSocket?.host,
          `${at}.${action}`,
          "a pod with network: none has no address; use exec, or network: bridge",
        ),
        ...refusedIf(
          probe.exec && (probe.timeoutSeconds ?? 1) > maxExecSeconds,
          `${at}.timeoutSeconds`,
          `a command has ${maxExecSeconds} s at most: commands of probes share a few connections to Nomad`,
        ),
        ...refusedIf(
          (probe.terminationGracePeriodSeconds ?? 0) > graceSeconds,
          `${at}.terminationGracePeriodSeconds`,
          `a container has the pod's ${graceSeconds} s at most: Nomad's kill time-out; give the pod a longer terminationGracePeriodSeconds`,
        ),
      ];
    }),
  ];
}

function refusedVolumes(pod: DeepReadonly<Pod>, settings: JobSettings): RefusedField[] {
  const { driver } = settings;
  const shared = sharedEmptyDirs(pod);
  const runsAsOther = [
    pod.spec?.securityContext?.runAsUser,
    ...(pod.spec?.containers ?? []).map((each) => each.securityContext?.runAsUser),
  ].some((user) => (user ?? 0) !== 0);
  const isMounting = driver === "docker";
  return (pod.spec?.volumes ?? []).flatMap((volume, index): RefusedField[] => {
    const at = `spec.volumes[${index}]`;
    const isEmpty = isEmptyDir(volume);
    const claim = volume.persistentVolumeClaim?.claimName;
    return [
      ...refusedIf(isEmpty && !isMounting, `${at}.emptyDir`, `driver ${driver} mounts nothing`),
      ...refusedIf(
        isEmpty && isMounting && runsAsOther && shared.length > 1 && shared.includes(volume),
        `${at}.emptyDir`,
        "of several empty volumes Nomad lets only root write to any; use one, with sub-paths, or medium: Memory",
      ),
      ...refusedIf(
        filePaths(volume).some((path) => path.includes("${")),
        at,
        "${ in the path of a file, where Nomad puts its own variables in",
      ),
      ...refusedIf(volume.hostPath && !isMounting, `${at}.hostPath`, `driver ${driver} mounts nothing`),
      ...refusedIf(isMounting && volume.hostPath?.path.includes(":"), `${at}.hostPath.path`, "a colon in a path"),
      ...refusedIf(
        claim !== undefined && !volumeOfClaim(pod, claim, settings),
        `${at}.persistentVolumeClaim.claimName`,
        `volumes of the configuration does not say what claim ${claim} is in Nomad`,
      ),
    ];
  });
}

/** Paths that a volume gives to its files. */
function filePaths({ configMap, secret, downwardAPI, projected }: PodVolume): readonly string[] {
  const tokens = (projected?.sources ?? []).flatMap(({ serviceAccountToken }) => (serviceAccountToken ? [serviceAccountToken.path] : []));
  const lists = [{ configMap, secret, downwardAPI }, ...(projected?.sources ?? [])];
  return [
    ...tokens,
    ...lists.flatMap((each) =>
      [each.configMap, each.secret, each.downwardAPI].flatMap((source) => (source?.items ?? []).map(({ path }) => path)),
    ),
  ];
}
