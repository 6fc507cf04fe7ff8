import { ArmError } from "./arm-error.ts";
import type { ContainerBody, ContainerGroupBody } from "./container-group-body.ts";
import { schemaProblem, type SchemaProblem } from "./schema/check-schema.ts";
import { containerGroupFacts } from "./schema/container-group-facts.ts";

/** Maximum numbers. Source: https://learn.microsoft.com/azure/container-instances/container-instances-resource-and-quota-limits, 2026-11. */
const maxima = { containers: 60, volumes: 20, ports: 5, tags: 50, cpu: 31, memoryInGB: 240, tagKey: 512, tagValue: 256 };

/** Name of a container group, container or volume. */
const namePattern = /^(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const maxNameLength = 63;
const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Checks a body with the schema. @throws ArmError 400 `InvalidRequestContent` */
export function checkBody(type: string, body: unknown): void {
  const problem = schemaProblem(containerGroupFacts, type, body);
  if (problem) throw new ArmError(400, "InvalidRequestContent", messageOf(problem));
}

/**
 * Checks the body of a create: first with the schema, then with the rules that the service documents.
 *
 * The codes `InvalidOsType`, `ResourceRequestsNotSpecified`, `ContainerLimitGreaterThanContainerGroupTotalRequest` and `InaccessibleImage` are
 * those of threads of users; `InvalidContainerGroup` stands for codes that nobody has written down.
 *
 * @throws ArmError 400
 */
export function checkContainerGroup(name: string, body: unknown): ContainerGroupBody {
  checkBody("ContainerGroup", body);
  const group = body as ContainerGroupBody;
  const { properties, location, tags = {} } = group;
  const invalid = (message: string): ArmError => new ArmError(400, "InvalidContainerGroup", `Container group '${name}': ${message}`);
  if (!isName(name)) throw invalid("the name must have at most 63 lower-case letters, digits and single hyphens.");
  if (typeof location !== "string" || location === "")
    throw new ArmError(400, "LocationRequired", "The location property is required for this definition.");
  if (!["windows", "linux"].includes((properties.osType ?? "").toLowerCase())) {
    const message = `The 'osType' for container group '${name}' is invalid. The value must be one of 'Windows,Linux'.`;
    throw new ArmError(400, "InvalidOsType", message);
  }
  checkTags(tags, invalid);
  checkContainers(name, group, invalid);
  checkVolumes(group, invalid);
  checkAddress(group, invalid);
  return group;
}

type Invalid = (message: string) => ArmError;

function checkTags(tags: Readonly<Record<string, string>>, invalid: Invalid): void {
  if (Object.keys(tags).length > maxima.tags) throw invalid(`it has more than ${maxima.tags} tags.`);
  for (const [key, value] of Object.entries(tags)) {
    if (key.length > maxima.tagKey || /[<>%&\\?/]/.test(key))
      throw new ArmError(400, "InvalidTagNameCharacters", `The tag name '${key}' is invalid.`);
    if (value.length > maxima.tagValue) throw new ArmError(400, "InvalidTagValueLength", `The value of tag '${key}' is too long.`);
  }
}

function checkContainers(name: string, { properties }: ContainerGroupBody, invalid: Invalid): void {
  const { containers, initContainers = [], sku } = properties;
  if (containers.length === 0) throw invalid("it has no containers.");
  if (containers.length + initContainers.length > maxima.containers) throw invalid(`it has more than ${maxima.containers} containers.`);
  const all = [...containers, ...initContainers];
  const twice = all.find(({ name: each }, index) => all.findIndex((other) => other.name === each) !== index);
  if (twice) throw invalid(`the container name '${twice.name}' is used twice.`);
  for (const container of all) checkContainer(container, invalid);
  for (const { name: container, properties: each } of containers) {
    if (each.resources === undefined) {
      const message = `The resource requests are not specified in container '${container}' of contain group '${name}'. Both memory and CPU requests are required since API version '2017-07-01-preview'.`;
      throw new ArmError(400, "ResourceRequestsNotSpecified", message);
    }
    const { cpu, memoryInGB, gpu } = each.resources.requests;
    if (cpu <= 0 || !isMultiple(cpu, 0.01)) throw invalid(`the CPU request ${cpu} of container '${container}' is no multiple of 0.01.`);
    if (memoryInGB <= 0 || !isMultiple(memoryInGB, 0.1))
      throw invalid(`the memory request ${memoryInGB} of container '${container}' is no multiple of 0.1 GB.`);
    if (gpu) throw invalid("GPU resources were retired on July 14, 2025.");
  }
  checkTotals(name, containers, { isConfidential: sku === "Confidential", invalid });
}

function checkContainer({ name, properties }: ContainerBody, invalid: Invalid): void {
  if (!isName(name)) throw invalid(`the container name '${name}' is invalid.`);
  if ((properties.image ?? "") === "") throw invalid(`container '${name}' has no image.`);
  for (const variable of properties.environmentVariables ?? []) {
    const given = [variable.value, variable.secureValue, variable.secureValueReference].filter((each) => each != null).length;
    if (given > 1) throw invalid(`the environment variable '${variable.name}' of container '${name}' has several values.`);
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(variable.name))
      throw invalid(`the environment variable name '${variable.name}' of container '${name}' is invalid.`);
  }
  for (const probe of [properties.livenessProbe, properties.readinessProbe])
    if (probe && (probe.exec === undefined) === (probe.httpGet === undefined))
      throw invalid(`a probe of container '${name}' must have either exec or httpGet.`);
}

function checkTotals(
  name: string,
  containers: readonly ContainerBody[],
  { isConfidential, invalid }: { readonly isConfidential: boolean; readonly invalid: Invalid },
): void {
  const sum = (pick: (requests: { readonly cpu: number; readonly memoryInGB: number }) => number): number =>
    containers.reduce((total, { properties }) => total + (properties.resources ? pick(properties.resources.requests) : 0), 0);
  const [cpu, memoryInGB] = [sum((each) => each.cpu), sum((each) => each.memoryInGB)];
  const maxMemoryInGB = isConfidential ? 180 : maxima.memoryInGB;
  if (cpu > maxima.cpu || memoryInGB > maxMemoryInGB)
    throw invalid(`it requests ${cpu} CPU and ${memoryInGB} GB; the maximum is ${maxima.cpu} CPU and ${maxMemoryInGB} GB.`);
  const tolerance = 1e-9;
  for (const { name: container, properties } of containers) {
    const { limits = {} } = properties.resources ?? {};
    if ((limits.cpu ?? 0) > cpu + tolerance || (limits.memoryInGB ?? 0) > memoryInGB + tolerance) {
      const message = `The limits of container '${container}' in container group '${name}' are greater than the total requests of the container group.`;
      throw new ArmError(400, "ContainerLimitGreaterThanContainerGroupTotalRequest", message);
    }
  }
}

function checkVolumes({ properties }: ContainerGroupBody, invalid: Invalid): void {
  const { volumes = [], containers, initContainers = [] } = properties;
  if (volumes.length > maxima.volumes) throw invalid(`it has more than ${maxima.volumes} volumes.`);
  for (const { name, azureFile, emptyDir, secret, gitRepo } of volumes) {
    if (!isName(name)) throw invalid(`the volume name '${name}' is invalid.`);
    if ([azureFile, emptyDir, secret, gitRepo].filter(Boolean).length !== 1) throw invalid(`volume '${name}' must have exactly one type.`);
    for (const [file, content] of Object.entries(secret ?? {}))
      if (!base64Pattern.test(content)) throw invalid(`the file '${file}' of secret volume '${name}' is not in Base64.`);
  }
  for (const { name: container, properties: each } of [...containers, ...initContainers])
    for (const { name, mountPath } of each.volumeMounts ?? []) {
      if (!volumes.some((volume) => volume.name === name))
        throw invalid(`container '${container}' mounts the volume '${name}', which does not exist.`);
      if (mountPath.includes(":")) throw invalid(`the mount path '${mountPath}' of container '${container}' contains a colon.`);
    }
}

function checkAddress({ properties }: ContainerGroupBody, invalid: Invalid): void {
  const { ipAddress, subnetIds = [], containers } = properties;
  if (!ipAddress) return;
  const { ports, type } = ipAddress;
  if (ports.length > maxima.ports) throw invalid(`its IP address has more than ${maxima.ports} ports.`);
  if (type.toLowerCase() === "private" && subnetIds.length === 0) throw invalid("a private IP address needs a subnet.");
  if (type.toLowerCase() === "public" && subnetIds.length > 0)
    throw invalid("a container group in a subnet cannot have a public IP address.");
  if (ports.length === 0 && type.toLowerCase() === "public") throw invalid("a public IP address needs ports.");
  const open = new Set(containers.flatMap(({ properties: each }) => (each.ports ?? []).map(({ port }) => port)));
  const closed = ports.find(({ port }) => !open.has(port));
  if (closed) throw invalid(`port ${closed.port} of the IP address is not a port of a container.`);
}

function isName(name: string): boolean {
  return name.length <= maxNameLength && namePattern.test(name);
}

function isMultiple(value: number, step: number): boolean {
  const quotient = value / step;
  return Math.abs(quotient - Math.round(quotient)) < 1e-6;
}

function messageOf({ path, kind, expected }: SchemaProblem): string {
  const prefix = "The request content was invalid and could not be deserialized";
  switch (kind) {
    case "unknown":
      return `${prefix}: 'Could not find member '${path.split(".").at(-1) ?? path}' on object of type '${expected}'. Path '${path}'.'.`;
    case "missing":
      return `${prefix}: 'Required property '${path.split(".").at(-1) ?? path}' not found in JSON. Path '${path}'.'.`;
    case "enum":
      return `${prefix}: 'The value of '${path}' must be one of '${expected}'.'.`;
    case "type":
      return `${prefix}: 'Error converting value to type '${expected}'. Path '${path}'.'.`;
  }
}
