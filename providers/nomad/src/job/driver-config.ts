import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { parseQuantity, wholeUnits } from "@virtual-kubelet/kubernetes";
import type { TaskLogin } from "./pull-credentials.ts";
import { reservedCpu } from "./resources.ts";
import type { JobSettings } from "./settings.ts";
import { escapeAll, escapeInterpolation, type TaskEnvironment } from "./task-environment.ts";
import type { TaskVolumes } from "./task-volumes.ts";

/** What a driver's configuration is made of. */
export interface DriverInput {
  readonly pod: DeepReadonly<Pod>;
  readonly container: DeepReadonly<Container>;
  readonly settings: JobSettings;
  readonly environment: TaskEnvironment;
  readonly volumes: TaskVolumes;
  /** How the driver logs in at the image's registry. */
  readonly login: TaskLogin | undefined;
  /** Labels of the group's ports that are this container's. */
  readonly ports: readonly string[];
}

/** The configuration of a task's driver. The API takes any; what is wrong in it fails on the client only. */
export function driverConfig(input: DriverInput): Record<string, unknown> {
  return input.settings.driver === "docker" ? dockerConfig(input) : execConfig(input);
}

/** `exec` and `raw_exec`: a command of the client's own. */
function execConfig({ container, environment }: DriverInput): Record<string, unknown> {
  const [command = "", ...args] = [...environment.words("command"), ...environment.words("args")];
  return { command, ...setFields({ args, work_dir: container.workingDir && escapeInterpolation(container.workingDir) }) };
}

function dockerConfig(input: DriverInput): Record<string, unknown> {
  const { container, environment, login } = input;
  return {
    image: escapeInterpolation(container.image ?? ""),
    ...setFields({
      entrypoint: environment.words("command"),
      args: environment.words("args"),
      work_dir: container.workingDir && escapeInterpolation(container.workingDir),
      auth: login && [login.auth],
      ...escapeAll(dockerSettings(input)),
    }),
  };
}

/** What stands in a docker task's configuration as it is said here. */
function dockerSettings({ pod, container, volumes, settings, ports }: DriverInput): Record<string, unknown> {
  const isHost = settings.network === "host";
  return setFields({
    force_pull: container.imagePullPolicy === "Always",
    interactive: container.stdin,
    tty: container.tty,
    network_mode: isHost ? "host" : undefined,
    ports: isHost ? [] : ports,
    extra_hosts: (pod.spec?.hostAliases ?? []).flatMap(({ ip, hostnames = [] }) => hostnames.map((name) => `${name}:${ip}`)),
    volumes: volumes.binds,
    mount: volumes.tmpfs.map(({ target, sizeBytes }) => ({
      type: "tmpfs",
      target,
      ...(sizeBytes !== undefined && { tmpfs_options: [{ size: sizeBytes }] }),
    })),
    ...dockerSecurity(pod, container),
    ...dockerLimits(container, settings),
    labels: [
      {
        "io.kubernetes.pod.namespace": pod.metadata?.namespace ?? "default",
        "io.kubernetes.pod.name": pod.metadata?.name ?? "",
        "io.kubernetes.pod.uid": pod.metadata?.uid ?? "",
        "io.kubernetes.container.name": container.name,
      },
    ],
  });
}

function dockerSecurity({ spec }: DeepReadonly<Pod>, { securityContext = {} }: DeepReadonly<Container>): Record<string, unknown> {
  const { privileged, readOnlyRootFilesystem, allowPrivilegeEscalation, capabilities, seccompProfile } = securityContext;
  const { supplementalGroups = [], fsGroup, seccompProfile: podProfile } = spec?.securityContext ?? {};
  const profile = seccompProfile ?? podProfile;
  return {
    privileged,
    readonly_rootfs: readOnlyRootFilesystem,
    cap_add: capabilities?.add?.map((name) => name.toLowerCase()),
    cap_drop: capabilities?.drop?.map((name) => name.toLowerCase()),
    security_opt: [
      ...(allowPrivilegeEscalation === false ? ["no-new-privileges"] : []),
      ...(profile?.type === "Unconfined" ? ["seccomp=unconfined"] : []),
    ],
    group_add: [...supplementalGroups, ...(fsGroup === undefined ? [] : [fsGroup])].map(String),
  };
}

/** A limit of the processor holds exactly where it is what is reserved: Nomad has one figure for both. */
function dockerLimits({ resources }: DeepReadonly<Container>, settings: JobSettings): Record<string, unknown> {
  const cpu = resources?.limits?.["cpu"];
  const reserved = reservedCpu(resources, settings);
  if (cpu === undefined || reserved === undefined) return {};
  const nano = (quantity: string): bigint => parseQuantity(quantity).nano;
  return nano(reserved) === nano(cpu) && wholeUnits(parseQuantity(cpu)) > 0n ? { cpu_hard_limit: true } : {};
}

/** Removes fields that have Nomad's default: `undefined`, `false` and empty lists. */
function setFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0)),
  );
}
