import type { Container, DeepReadonly, Pod, PodSpec } from "@virtual-kubelet/core";
import { isSidecar } from "@virtual-kubelet/kubernetes";
import { refuseFields, type RefusedField } from "@virtual-kubelet/remote-pods";

/**
 * Refuses fields of a pod that a Fargate task cannot have, in addition to those that the capabilities exclude.
 * Source: Amazon ECS Developer Guide, "Fargate task definition differences".
 *
 * @throws UnsupportedError with the first such field in `fieldPath`, and all of them in the message
 */
export function refuse({ spec = { containers: [] } }: DeepReadonly<Pod>): void {
  refuseFields([
    ...refusedInSpec(spec),
    ...(spec.initContainers ?? []).flatMap((container, index) => [
      ...refusedInContainer(container, `spec.initContainers[${index}]`),
      ...(isSidecar(container) ? [] : refusedProbesOfInit(container, `spec.initContainers[${index}]`)),
    ]),
    ...spec.containers.flatMap((container, index) => refusedInContainer(container, `spec.containers[${index}]`)),
  ]);
}

const gpuMessage = "Fargate has no GPUs; they need ECS Managed Instances, which this provider does not start";
const resolverMessage = "a Fargate task uses the VPC's DNS resolver, and ECS takes no other with network mode awsvpc";

function refusedInSpec(spec: DeepReadonly<PodSpec>): RefusedField[] {
  const fields: RefusedField[] = [];
  const add = (isAsked: unknown, field: string, message: string): void => {
    if (isAsked) fields.push({ fieldPath: `spec.${field}`, message });
  };
  add(spec.runtimeClassName, "runtimeClassName", "Fargate has one runtime");
  add(spec.hostAliases?.length, "hostAliases", "ECS takes no entries of /etc/hosts with network mode awsvpc");
  const { nameservers = [], searches = [], options = [] } = spec.dnsConfig ?? {};
  add(nameservers.length + searches.length + options.length > 0, "dnsConfig", resolverMessage);
  add(spec.dnsPolicy === "None", "dnsPolicy", resolverMessage);
  add(spec.setHostnameAsFQDN, "setHostnameAsFQDN", "ECS sets the host name with network mode awsvpc");
  add(spec.resourceClaims?.length, "resourceClaims", "Fargate has no devices");
  add(spec.hostUsers === false, "hostUsers", "Fargate has no user namespaces");
  return fields;
}

function refusedInContainer(container: DeepReadonly<Container>, path: string): RefusedField[] {
  const fields: RefusedField[] = [];
  const add = (isAsked: unknown, field: string, message: string): void => {
    if (isAsked) fields.push({ fieldPath: `${path}.${field}`, message });
  };
  const { limits, requests } = container.resources ?? {};
  for (const name of Object.keys({ ...requests, ...limits }))
    add(
      !["cpu", "memory", "ephemeral-storage"].includes(name),
      `resources.${limits?.[name] === undefined ? "requests" : "limits"}['${name}']`,
      name.includes("gpu") ? gpuMessage : "Fargate has only cpu, memory and ephemeral-storage",
    );
  add(container.restartPolicyRules?.length, "restartPolicyRules", "ECS has no restart rules of single containers");
  add(
    container.restartPolicy !== undefined && container.restartPolicy !== "Always",
    "restartPolicy",
    "the restart policy of a single container may only be Always, for a sidecar",
  );
  add(container.volumeDevices?.length, "volumeDevices", "Fargate has no block devices");
  add(
    container.resizePolicy?.some(({ restartPolicy }) => restartPolicy === "NotRequired"),
    "resizePolicy",
    "a task's size is final",
  );
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    add(mount.subPath, `volumeMounts[${index}].subPath`, "ECS mounts whole volumes; mount the volume at a folder of its own");
    add(mount.subPathExpr, `volumeMounts[${index}].subPathExpr`, "ECS mounts whole volumes; mount the volume at a folder of its own");
    add((mount.mountPropagation ?? "None") !== "None", `volumeMounts[${index}].mountPropagation`, "mounts of a task do not propagate");
  }
  return fields;
}

function refusedProbesOfInit(container: DeepReadonly<Container>, path: string): RefusedField[] {
  return (["startupProbe", "readinessProbe", "livenessProbe"] as const).flatMap((probe) =>
    container[probe] ? [{ fieldPath: `${path}.${probe}`, message: "an init container that ends has no probes" }] : [],
  );
}
