import type { Container, DeepReadonly, Pod, PodSpec } from "@virtual-kubelet/core";
import { refuseFields, type RefusedField } from "@virtual-kubelet/remote-pods";
import { groupContainers, type PlacedContainer } from "./fields.ts";

/**
 * Refuses fields that Azure Container Instances cannot do, in addition to those that the capabilities exclude.
 *
 * @throws UnsupportedError with the first such field in `fieldPath`, and all of them in the message
 */
export function refuse(pod: DeepReadonly<Pod>, operatingSystem: "Linux" | "Windows"): void {
  const { spec = { containers: [] } } = pod;
  const { init, main, sidecars } = groupContainers(pod);
  refuseFields([
    ...inSpec(spec, operatingSystem),
    ...[...init, ...main].flatMap(inContainer),
    ...init.flatMap(inInitContainer),
    ...main.filter(({ container }) => sidecars.includes(container.name)).flatMap((placed) => inSidecar(placed, spec)),
  ]);
}

function inSpec(spec: DeepReadonly<PodSpec>, operatingSystem: string): RefusedField[] {
  const fields: RefusedField[] = [];
  const add = (isAsked: unknown, field: string, message: string): void => {
    if (isAsked) fields.push({ fieldPath: `spec.${field}`, message });
  };
  const system = spec.os?.name;
  add(system !== undefined && system !== operatingSystem.toLowerCase(), "os.name", `this node's pods run on ${operatingSystem}`);
  add(spec.runtimeClassName, "runtimeClassName", "there are no runtime classes");
  add(spec.hostAliases?.length, "hostAliases", "/etc/hosts cannot be changed");
  add(spec.setHostnameAsFQDN, "setHostnameAsFQDN", "the host name cannot be set");
  add(spec.hostUsers === false, "hostUsers", "there are no user namespaces");
  add(spec.resourceClaims?.length, "resourceClaims", "there are no resource claims");
  add(hasEntries(spec.resources), "resources", "only containers have resources");
  const context = spec.securityContext ?? {};
  for (const field of ["fsGroup", "supplementalGroups", "sysctls", "seLinuxOptions", "windowsOptions"] as const)
    add(hasEntries(context[field]), `securityContext.${field}`, "Azure Container Instances has no such setting");
  for (const [index, { name }] of (spec.volumes ?? []).entries())
    add(spec.volumes?.[index]?.emptyDir?.medium === "Memory", `volumes[${index}].emptyDir.medium`, `volume ${name} cannot be in memory`);
  return fields;
}

function inContainer({ path, container }: PlacedContainer): RefusedField[] {
  const fields: RefusedField[] = [];
  const add = (isAsked: unknown, field: string, message: string): void => {
    if (isAsked) fields.push({ fieldPath: `${path}.${field}`, message });
  };
  add(
    container.args?.length && !container.command?.length,
    "args",
    "a command replaces the image's entry point as a whole, so that args need command as well",
  );
  add(container.workingDir, "workingDir", "the working directory is the image's");
  add(container.stdin, "stdin", "containers have no standard input");
  add(container.tty, "tty", "containers have no terminal");
  add(container.imagePullPolicy === "Never", "imagePullPolicy", "images are always pulled");
  add(container.restartPolicyRules?.length, "restartPolicyRules", "all containers follow spec.restartPolicy");
  add(container.restartPolicy !== undefined && !path.startsWith("spec.init"), "restartPolicy", "all containers follow spec.restartPolicy");
  add(container.volumeDevices?.length, "volumeDevices", "there are no block devices");
  add(container.startupProbe, "startupProbe", "there are liveness and readiness probes only; use initialDelaySeconds");
  add(container.lifecycle?.stopSignal, "lifecycle.stopSignal", "the signal is the image's");
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const at = `volumeMounts[${index}]`;
    add(mount.subPathExpr, `${at}.subPathExpr`, "sub-paths of variables cannot be mounted");
    add(mount.mountPropagation !== undefined && mount.mountPropagation !== "None", `${at}.mountPropagation`, "mounts are private");
    add(mount.recursiveReadOnly === "Enabled", `${at}.recursiveReadOnly`, "Azure Container Instances has no such setting");
  }
  for (const [index, entry] of (container.env ?? []).entries())
    add(
      /^status\.podIPs?$/.test(entry.valueFrom?.fieldRef?.fieldPath ?? ""),
      `env[${index}].valueFrom.fieldRef`,
      "variables are set before Azure chooses the pod's address",
    );
  return [...fields, ...inSecurityContext(path, container)];
}

function inSecurityContext(path: string, { securityContext: context = {} }: DeepReadonly<Container>): RefusedField[] {
  const fields: RefusedField[] = [];
  const add = (isAsked: unknown, field: string, message: string): void => {
    if (isAsked) fields.push({ fieldPath: `${path}.securityContext.${field}`, message });
  };
  const none = "Azure Container Instances has no such setting";
  add(context.readOnlyRootFilesystem, "readOnlyRootFilesystem", none);
  add(hasEntries(context.seLinuxOptions), "seLinuxOptions", none);
  add(hasEntries(context.windowsOptions), "windowsOptions", none);
  add(context.procMount !== undefined && context.procMount !== "Default", "procMount", none);
  return fields;
}

/** Source: `InitContainerPropertiesDefinition` of Microsoft.ContainerInstance 2025-09-01: no ports, resources and probes. */
function inInitContainer({ path, container }: PlacedContainer): RefusedField[] {
  const message = "Azure Container Instances' init containers have no such setting";
  const fields = ["ports", "livenessProbe", "readinessProbe"] as const;
  const set = fields.filter((field) => hasEntries(container[field])).map((field) => ({ fieldPath: `${path}.${field}`, message }));
  const { requests = {}, limits = {} } = container.resources ?? {};
  const special = Object.keys({ ...requests, ...limits }).filter((name) => !["cpu", "memory", "ephemeral-storage"].includes(name));
  return [...set, ...special.map((name) => ({ fieldPath: `${path}.resources.limits['${name}']`, message }))];
}

/** A sidecar is a container like all others, which keeps a group from ending. */
function inSidecar({ path }: PlacedContainer, { restartPolicy = "Always" }: DeepReadonly<PodSpec>): RefusedField[] {
  if (restartPolicy === "Always") return [];
  const message = `a sidecar would keep a pod with restartPolicy ${restartPolicy} from ending, because Azure Container Instances has no sidecars`;
  return [{ fieldPath: `${path}.restartPolicy`, message }];
}

function hasEntries(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value !== undefined && value !== null;
  return Object.values(value).some((entry) => entry !== undefined && entry !== null);
}
