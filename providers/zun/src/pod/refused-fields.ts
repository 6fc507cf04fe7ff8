import type { Container, DeepReadonly, Pod, PodSpec } from "@virtual-kubelet/core";
import { refuseFields, type RefusedField } from "@virtual-kubelet/remote-pods";

/**
 * Refuses fields that neither containers nor capsules of Zun support, in addition to those that the capabilities exclude.
 * Source: zun 18.0.0 zun/api/controllers/v1/schemas/parameter_types.py.
 *
 * @throws UnsupportedError with the first such field in `fieldPath`, and all of them in the message
 */
export function refuse({ spec = { containers: [] } }: DeepReadonly<Pod>): void {
  const lists = { initContainers: spec.initContainers ?? [], containers: spec.containers };
  refuseFields([
    ...refusedInSpec(spec),
    ...Object.entries(lists).flatMap(([list, containers]) =>
      containers.flatMap((container, index) => refusedInContainer(container, `spec.${list}[${index}]`)),
    ),
  ]);
}

function refusedInSpec(spec: DeepReadonly<PodSpec>): RefusedField[] {
  const fields: RefusedField[] = [];
  const add = (isAsked: unknown, field: string, message: string): void => {
    if (isAsked) fields.push({ fieldPath: `spec.${field}`, message });
  };
  add(spec.activeDeadlineSeconds !== undefined, "activeDeadlineSeconds", "Zun has no deadline; put it on the Job of Kubernetes");
  add(spec.runtimeClassName, "runtimeClassName", "runtime classes; the configuration's runtime is for all pods");
  add(spec.hostAliases?.length, "hostAliases", "entries of /etc/hosts");
  const { nameservers = [], searches = [], options = [] } = spec.dnsConfig ?? {};
  add(
    nameservers.length + searches.length + options.length > 0,
    "dnsConfig",
    "name servers of a pod's own; they are its network's in Neutron",
  );
  add(spec.dnsPolicy === "None", "dnsPolicy", "name servers of a pod's own; they are its network's in Neutron");
  add(spec.setHostnameAsFQDN, "setHostnameAsFQDN", "host names with a domain");
  add(spec.resourceClaims?.length, "resourceClaims", "resource claims");
  add(spec.hostUsers === false, "hostUsers", "user namespaces");
  return fields;
}

function refusedInContainer(container: DeepReadonly<Container>, path: string): RefusedField[] {
  const fields: RefusedField[] = [];
  const add = (isAsked: unknown, field: string, message: string): void => {
    if (isAsked) fields.push({ fieldPath: `${path}.${field}`, message });
  };
  const { limits, requests } = container.resources ?? {};
  for (const name of Object.keys({ ...limits, ...requests }))
    add(!["cpu", "memory", "ephemeral-storage"].includes(name), `resources.limits['${name}']`, "resources other than cpu and memory");
  add(container.restartPolicyRules?.length, "restartPolicyRules", "restart rules of single containers");
  add(container.volumeDevices?.length, "volumeDevices", "block devices");
  for (const [index, { mountPropagation = "None", subPathExpr }] of (container.volumeMounts ?? []).entries()) {
    add(subPathExpr, `volumeMounts[${index}].subPathExpr`, "sub-paths made of variables");
    add(mountPropagation !== "None", `volumeMounts[${index}].mountPropagation`, "mounts that spread");
  }
  return fields;
}
