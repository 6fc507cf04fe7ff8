import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { isSidecar } from "@virtual-kubelet/kubernetes";
import { containerFields, refuseFields, type RefusedField } from "@virtual-kubelet/remote-pods";
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
  const byNetwork = (["postStart", "preStop"] as const).flatMap((name) =>
    (["httpGet", "tcpSocket"] as const)
      .filter((action) => lifecycle[name]?.[action])
      .map((action) => ({ fieldPath: `${path}.lifecycle.${name}.${action}`, message: "hooks by the network; use exec or sleep" })),
  );
  const signals = { fieldPath: `${path}.lifecycle.stopSignal`, message: "signals other than SIGTERM" };
  return lifecycle.stopSignal === undefined ? byNetwork : [...byNetwork, signals];
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
    const refusedIf = (isAsked: unknown, field: string, message: string): RefusedField[] =>
      isAsked ? [{ fieldPath: `${path}.volumeMounts[${index}].${field}`, message }] : [];
    const isClaim = pod.spec?.volumes?.some((volume) => volume.name === name && volume.persistentVolumeClaim);
    return [
      ...refusedIf(mount.subPathExpr, "subPathExpr", "sub-paths made of variables"),
      ...refusedIf(mountPath.includes(":"), "mountPath", "a colon in a path"),
      ...refusedIf(mountPath.includes("${"), "mountPath", "${ in a path, where Nomad puts its own variables in"),
      ...refusedIf(subPath.includes(":"), "subPath", "a colon in a path"),
      ...refusedIf(subPath !== "" && isClaim, "subPath", "sub-paths of a claim: Nomad mounts the whole of a volume"),
      ...refusedIf(
        isReplaceable(pod, mount),
        "subPath",
        "a container that may write to the folder around it could put a link to the client's files in its place; mount the others by sub-paths, too, or readOnly",
      ),
      ...refusedIf(mountPropagation !== "None", "mountPropagation", "mounts that spread"),
    ];
  });
}

function refusedProbes(
  container: DeepReadonly<Container>,
  path: string,
  { settings, graceSeconds }: { readonly settings: JobSettings; readonly graceSeconds: number },
): RefusedField[] {
  const ordered: RefusedField[] =
    container.startupProbe && isSidecar(container) && settings.config.secrets === "inline"
      ? [
          {
            fieldPath: `${path}.startupProbe`,
            message: "containers that wait for a sidecar's startup probe need Nomad Variables, which secrets: inline does without",
          },
        ]
      : [];
  return [
    ...ordered,
    ...probeFields.flatMap((field): RefusedField[] => {
      const probe = container[field];
      if (!probe) return [];
      const action = (["httpGet", "tcpSocket", "grpc"] as const).find((each) => probe[each]);
      const isUnreachable = action !== undefined && settings.network === "none" && !probe.httpGet?.host && !probe.tcpSocket?.host;
      const isSlow = probe.exec !== undefined && (probe.timeoutSeconds ?? 1) > maxExecSeconds;
      const isLonger = (probe.terminationGracePeriodSeconds ?? 0) > graceSeconds;
      return [
        ...(isUnreachable
          ? [{ fieldPath: `${path}.${field}.${action}`, message: "a pod with network: none has no address; use exec, or network: bridge" }]
          : []),
        ...(isSlow
          ? [
              {
                fieldPath: `${path}.${field}.timeoutSeconds`,
                message: `a command has ${maxExecSeconds} s at most: commands of probes share a few connections to Nomad`,
              },
            ]
          : []),
        ...(isLonger
          ? [
              {
                fieldPath: `${path}.${field}.terminationGracePeriodSeconds`,
                message: `a container has the pod's ${graceSeconds} s at most: Nomad's kill time-out; give the pod a longer terminationGracePeriodSeconds`,
              },
            ]
          : []),
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
  return (pod.spec?.volumes ?? []).flatMap((volume, index): RefusedField[] => {
    const fieldPath = `spec.volumes[${index}]`;
    if (isEmptyDir(volume)) {
      if (driver !== "docker") return [{ fieldPath: `${fieldPath}.emptyDir`, message: `driver ${driver} mounts nothing` }];
      if (runsAsOther && shared.length > 1 && shared.includes(volume))
        return [
          {
            fieldPath: `${fieldPath}.emptyDir`,
            message: "of several empty volumes Nomad lets only root write to any; use one, with sub-paths, or medium: Memory",
          },
        ];
      return [];
    }
    if (filePaths(volume).some((path) => path.includes("${")))
      return [{ fieldPath, message: "${ in the path of a file, where Nomad puts its own variables in" }];
    if (volume.hostPath) {
      if (driver !== "docker") return [{ fieldPath: `${fieldPath}.hostPath`, message: `driver ${driver} mounts nothing` }];
      if (volume.hostPath.path.includes(":")) return [{ fieldPath: `${fieldPath}.hostPath.path`, message: "a colon in a path" }];
    }
    const claim = volume.persistentVolumeClaim?.claimName;
    if (claim !== undefined && !volumeOfClaim(pod, claim, settings))
      return [
        {
          fieldPath: `${fieldPath}.persistentVolumeClaim.claimName`,
          message: `volumes of the configuration does not say what claim ${claim} is in Nomad`,
        },
      ];
    return [];
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
