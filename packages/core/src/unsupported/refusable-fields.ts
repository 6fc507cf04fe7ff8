import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { policyVerdict, type PolicyScope } from "../policy/check-policy.ts";
import type { Capabilities } from "../provider/capabilities.ts";
import { ignorableFields } from "./ignored-fields.ts";
import { unsupportedFields } from "./unsupported-fields.ts";
import { volumeSources } from "./volume-sources.ts";

/** A field for which a pod may be refused. */
export interface RefusableField {
  /** With `[*]` for each index, such as `spec.containers[*].livenessProbe`. */
  readonly fieldPath: string;
  /** What the field asks for, such as `probes`. */
  readonly feature: string;
  /** The capability of a provider that supports the field; `undefined` if every provider passes it on to its policy. */
  readonly capability: keyof Capabilities | undefined;
  /** Set if a provider's policy judges the field: its setting that allows it, or that none does. */
  readonly policy: { readonly setting: string | undefined } | undefined;
  /** Whether the setting `onUnsupported.ignore` may leave the field out. */
  readonly isIgnorable: boolean;
}

const confinement = {
  appArmorProfile: { type: "Unconfined", localhostProfile: "unconfined" },
  runAsGroup: 1,
  runAsNonRoot: true,
  runAsUser: 1,
  seLinuxOptions: { type: "other_t", user: "other_u", role: "other_r" },
  seccompProfile: { type: "Unconfined" },
  windowsOptions: { hostProcess: true },
};

const address = { httpGet: { host: "another-host", port: 1 }, tcpSocket: { host: "another-host", port: 1 } };

/** A container that asks for everything for which it could be refused. */
const container: Container = {
  name: "main",
  env: [{ name: "A", value: "1" }],
  envFrom: [{ prefix: "A_" }],
  startupProbe: address,
  readinessProbe: address,
  livenessProbe: address,
  lifecycle: { postStart: address, preStop: address },
  ports: [{ containerPort: 1, hostPort: 1 }],
  volumeDevices: [{ name: "device", devicePath: "/dev/a" }],
  resources: { limits: { "nvidia.com/gpu": "1" } },
  securityContext: {
    ...confinement,
    allowPrivilegeEscalation: true,
    capabilities: { add: ["SYS_ADMIN"] },
    privileged: true,
    procMount: "Unmasked",
    readOnlyRootFilesystem: true,
  },
};

/** A pod that asks for everything for which it could be refused. */
const pod: DeepReadonly<Pod> = {
  metadata: { name: "everything", namespace: "default" },
  spec: {
    initContainers: [container, { ...container, name: "sidecar", restartPolicy: "Always" }],
    containers: [container, { ...container, name: "other" }],
    ephemeralContainers: [{ ...container, name: "debugger" }],
    hostPID: true,
    hostIPC: true,
    hostUsers: false,
    shareProcessNamespace: true,
    os: { name: "windows" },
    resourceClaims: [{ name: "device" }],
    restartPolicy: "Always",
    securityContext: {
      ...confinement,
      fsGroup: 1,
      fsGroupChangePolicy: "OnRootMismatch",
      seLinuxChangePolicy: "Recursive",
      supplementalGroups: [1],
      supplementalGroupsPolicy: "Strict",
      sysctls: [{ name: "kernel.msgmax", value: "1" }],
    },
    volumes: volumeSources.map((source) => ({ name: source.toLowerCase(), [source]: { path: "/folder" } })),
  },
};

/** The host's network makes ports of their own unnecessary, so that it has a pod of its own. */
const networked: DeepReadonly<Pod> = {
  metadata: pod.metadata ?? {},
  spec: { containers: [{ name: "main" }], restartPolicy: "Never", hostNetwork: true },
};

/** Every capability, so that leaving one out shows what needs it. */
const everything: Required<Capabilities> = {
  initContainers: true,
  sidecarContainers: true,
  ephemeralContainers: true,
  multipleContainers: true,
  env: true,
  probes: true,
  lifecycleHooks: true,
  restarts: true,
  hostNetwork: true,
  hostPorts: true,
  sharedNamespaces: true,
  securityContext: true,
  privileged: true,
  gpus: true,
  volumes: volumeSources,
  operatingSystems: ["linux", "windows"],
  resize: true,
};

/**
 * Every field for which a pod may be refused, because a provider does not support it or its policy does not allow it. Found by asking the
 * functions that decide, so that it cannot differ from what happens.
 *
 * @param scope - annotations and volumes that the policy of a provider judges; default: none
 */
export function refusableFields(scope: PolicyScope = {}): readonly RefusableField[] {
  const found = new Map<string, RefusableField>();
  for (const capability of Object.keys(everything) as (keyof Capabilities)[]) {
    for (const { fieldPath, message } of refusedWithout(capability)) {
      const path = general(fieldPath);
      found.set(path, { fieldPath: path, feature: message, capability, policy: undefined, isIgnorable: ignorableFields.includes(path) });
    }
  }
  for (const each of [annotated(scope), networked]) {
    const verdict = policyVerdict(each, { hostPorts: false }, scope);
    if (verdict.kind !== "refused") continue;
    for (const { fieldPath, what, setting } of verdict.refusals) {
      const path = general(fieldPath);
      const known = found.get(path);
      const isIgnorable = ignorableFields.includes(path);
      found.set(path, { feature: what, capability: undefined, isIgnorable, ...known, fieldPath: path, policy: { setting } });
    }
  }
  return [...found.values()].toSorted((one, other) => (one.fieldPath < other.fieldPath ? -1 : 1));
}

/** Whether capabilities include a field of {@link refusableFields}; `undefined` if only a policy decides about it. */
export function supportsField({ capability, fieldPath }: RefusableField, capabilities: Capabilities): boolean | undefined {
  if (capability === undefined) return undefined;
  return !unsupported({ ...everything, [capability]: capabilities[capability] }).some(
    (refused) => general(refused.fieldPath) === fieldPath,
  );
}

function refusedWithout(capability: keyof Capabilities): ReturnType<typeof unsupported> {
  const none = capability === "volumes" || capability === "operatingSystems" ? [] : false;
  return unsupported({ ...everything, [capability]: none });
}

function unsupported(capabilities: Capabilities): ReturnType<typeof unsupportedFields> {
  return [pod, networked].flatMap((each) => unsupportedFields(each, capabilities));
}

function annotated({ annotations = [] }: PolicyScope): DeepReadonly<Pod> {
  return { ...pod, metadata: { ...pod.metadata, annotations: Object.fromEntries(annotations.map(({ name }) => [name, "value"])) } };
}

/** `spec.containers[0].env` as `spec.containers[*].env`. */
function general(fieldPath: string): string {
  return fieldPath.replaceAll(/\[\d+\]/g, "[*]");
}
