import type { FieldError } from "../kind.ts";
import { duplicate, forbiddenField, invalidValue, notFoundField, notSupported, required } from "../validation/field-errors.ts";
import { each } from "../validation/labels.ts";
import { dnsLabelProblems, portNameProblems, portNumberProblems } from "../validation/names.ts";
import type { Container, ContainerPort, PodSpec, Volume } from "./pod-fields.ts";
import { envErrors, envFromErrors } from "./validate-env.ts";
import { deviceErrors, mountErrors } from "./validate-mounts.ts";
import { lifecycleErrors, probesErrors } from "./validate-probes.ts";
import { containerResourceErrors } from "./validate-resources.ts";
import { containerSecurityErrors } from "./validate-security-context.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, validateContainers and its siblings. */

/** Context in which containers are validated. */
export interface ContainerScope {
  readonly spec: PodSpec;
  /** Volumes of the pod by name. */
  readonly volumes: ReadonlyMap<string, Volume>;
}

const protocols = ["SCTP", "TCP", "UDP"];
const pullPolicies = ["Always", "IfNotPresent", "Never"];
const restartPolicies = ["Always", "Never", "OnFailure"];

export function containersErrors(containers: readonly Container[] | null, scope: ContainerScope, field: string): FieldError[] {
  if (containers === null || containers.length === 0) return [required(field)];
  const { terminationGracePeriodSeconds: grace } = scope.spec;
  const names = new Set<string>();
  const errors = containers.flatMap((container, index) => {
    const path = `${field}[${index}]`;
    const isTaken = names.has(container.name);
    names.add(container.name);
    return [
      ...commonErrors(container, scope, path),
      ...(isTaken ? [duplicate(`${path}.name`, container.name)] : []),
      ...(container.lifecycle === undefined ? [] : lifecycleErrors(container.lifecycle, `${path}.lifecycle`, grace)),
      ...probesErrors(container, path, grace),
      ...restartPolicyErrors(container.restartPolicy, path),
    ];
  });
  return [...errors, ...hostPortConflicts(containers, field)];
}

export function initContainersErrors(containers: readonly Container[], scope: ContainerScope, field: string): FieldError[] {
  const { terminationGracePeriodSeconds: grace } = scope.spec;
  const names = new Set((scope.spec.containers ?? []).map(({ name }) => name));
  return containers.flatMap((container, index) => {
    const path = `${field}[${index}]`;
    const errors = [...commonErrors(container, scope, path), ...restartPolicyErrors(container.restartPolicy, path)];
    if (names.has(container.name)) errors.push(duplicate(`${path}.name`, container.name));
    if (container.name !== "") names.add(container.name);
    errors.push(...hostPortConflicts([container], field));
    if (container.restartPolicy === "Always") {
      if (container.lifecycle !== undefined) errors.push(...lifecycleErrors(container.lifecycle, `${path}.lifecycle`, grace));
      return [...errors, ...probesErrors(container, path, grace)];
    }
    for (const name of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const) {
      if (container[name] !== undefined)
        errors.push(forbiddenField(`${path}.${name}`, "may not be set for init containers without restartPolicy=Always"));
    }
    for (const [at, { restartPolicy }] of (container.resizePolicy ?? []).entries()) {
      if (restartPolicy === "RestartContainer") {
        errors.push(
          invalidValue(
            `${path}.resizePolicy[${at}].restartPolicy`,
            restartPolicy,
            "must not be set to 'RestartContainer' for non-sidecar initContainers",
          ),
        );
      }
    }
    return errors;
  });
}

const notForEphemeral = ["ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resizePolicy", "restartPolicy"] as const;

export function ephemeralContainersErrors(
  containers: NonNullable<PodSpec["ephemeralContainers"]>,
  scope: ContainerScope,
  field: string,
): FieldError[] {
  const others = new Set([...(scope.spec.containers ?? []), ...(scope.spec.initContainers ?? [])].map(({ name }) => name));
  const names = new Set(others);
  return containers.flatMap((container, index) => {
    const path = `${field}[${index}]`;
    const errors = [...commonErrors(container, scope, path), ...imageSpaceErrors([container], field)];
    if (names.has(container.name)) errors.push(duplicate(`${path}.name`, container.name));
    names.add(container.name);
    const { targetContainerName: target } = container;
    if (target !== undefined && !others.has(target)) errors.push(notFoundField(`${path}.targetContainerName`, target));
    const message = "cannot be set for an Ephemeral Container";
    for (const name of notForEphemeral) if (container[name] !== undefined) errors.push(forbiddenField(`${path}.${name}`, message));
    if (Object.keys(container.resources).length > 0) errors.push(forbiddenField(`${path}.resources`, message));
    for (const [at, mount] of (container.volumeMounts ?? []).entries()) {
      for (const name of ["subPath", "subPathExpr"] as const)
        if (mount[name] !== undefined) errors.push(forbiddenField(`${path}.volumeMounts[${at}].${name}`, message));
    }
    return errors;
  });
}

/** Applies to pods only, not to templates. */
export function imageSpaceErrors(containers: readonly Container[], field: string): FieldError[] {
  return containers.flatMap(({ image = "" }, index) =>
    image === image.trim() ? [] : [invalidValue(`${field}[${index}].image`, image, "must not have leading or trailing whitespace")],
  );
}

function commonErrors(container: Container, { spec, volumes }: ContainerScope, path: string): FieldError[] {
  const podClaims = (spec.resourceClaims ?? []).map((claim) => claim.name);
  const { name, image, terminationMessagePolicy: messagePolicy = "", imagePullPolicy = "", ports = [], env = [], envFrom = [] } = container;
  return [
    ...(name === "" ? [required(`${path}.name`)] : each(`${path}.name`, name, dnsLabelProblems(name))),
    ...(image === undefined ? [required(`${path}.image`)] : []),
    ...(messagePolicy === "File" || messagePolicy === "FallbackToLogsOnError"
      ? []
      : [notSupported(`${path}.terminationMessagePolicy`, messagePolicy, ["File", "FallbackToLogsOnError"])]),
    ...portsErrors(ports, `${path}.ports`),
    ...envErrors(env, `${path}.env`),
    ...envFromErrors(envFrom, `${path}.envFrom`),
    ...mountErrors(container, volumes, `${path}.volumeMounts`),
    ...deviceErrors(container, volumes, `${path}.volumeDevices`),
    ...(pullPolicies.includes(imagePullPolicy) ? [] : [notSupported(`${path}.imagePullPolicy`, imagePullPolicy, pullPolicies)]),
    ...containerResourceErrors(container.resources, `${path}.resources`, podClaims),
    ...resizePolicyErrors(container, spec, `${path}.resizePolicy`),
    ...(container.securityContext === undefined
      ? []
      : containerSecurityErrors(container.securityContext, `${path}.securityContext`, spec.hostUsers !== false)),
  ];
}

function portsErrors(ports: readonly ContainerPort[], field: string): FieldError[] {
  const names = new Set<string>();
  return ports.flatMap(({ name = "", containerPort, hostPort = 0, protocol = "" }, index) => {
    const path = `${field}[${index}]`;
    const nameErrors = name === "" ? [] : each(`${path}.name`, name, portNameProblems(name));
    if (name !== "" && nameErrors.length === 0 && names.has(name)) nameErrors.push(duplicate(`${path}.name`, name));
    names.add(name);
    return [
      ...nameErrors,
      ...(containerPort === 0
        ? [required(`${path}.containerPort`)]
        : each(`${path}.containerPort`, containerPort, portNumberProblems(containerPort))),
      ...(hostPort === 0 ? [] : each(`${path}.hostPort`, hostPort, portNumberProblems(hostPort))),
      ...(protocols.includes(protocol) ? [] : [notSupported(`${path}.protocol`, protocol, protocols)]),
    ];
  });
}

function hostPortConflicts(containers: readonly Container[], field: string): FieldError[] {
  const taken = new Set<string>();
  return containers.flatMap(({ ports = [] }, index) =>
    ports.flatMap(({ hostPort = 0, hostIP = "", protocol }, at) => {
      if (hostPort === 0) return [];
      const key = `${protocol}/${hostIP}/${hostPort}`;
      if (taken.has(key)) return [duplicate(`${field}[${index}].ports[${at}].hostPort`, key)];
      taken.add(key);
      return [];
    }),
  );
}

function restartPolicyErrors(policy: string | undefined, path: string): FieldError[] {
  return policy === undefined || restartPolicies.includes(policy) ? [] : [notSupported(`${path}.restartPolicy`, policy, restartPolicies)];
}

function resizePolicyErrors({ resizePolicy = [] }: Container, spec: PodSpec, field: string): FieldError[] {
  const names = new Set<string>();
  return resizePolicy.flatMap(({ resourceName, restartPolicy }, index) => {
    const errors: FieldError[] = [];
    if (names.has(resourceName)) errors.push(duplicate(`${field}[${index}]`, resourceName));
    names.add(resourceName);
    if (resourceName !== "cpu" && resourceName !== "memory")
      errors.push(resourceName === "" ? required(field) : notSupported(field, resourceName, ["cpu", "memory"]));
    if (restartPolicy !== "NotRequired" && restartPolicy !== "RestartContainer")
      errors.push(restartPolicy === "" ? required(field) : notSupported(field, restartPolicy, ["NotRequired", "RestartContainer"]));
    if (spec.restartPolicy === "Never" && restartPolicy !== "NotRequired")
      errors.push(invalidValue(field, restartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"));
    return errors;
  });
}
