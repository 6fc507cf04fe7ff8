import { resolveFieldRef } from "@virtual-kubelet/core";
import type { Container, EnvVar } from "@virtual-kubelet/kube-client";
import { carriesAnnotation, farLabelKey } from "./far-metadata.ts";
import { applyTable, type FieldTable } from "./field-table.ts";
import { literal } from "./literal.ts";
import type { AnyContainer, EphemeralContainer, Scope } from "./scope.ts";
import { serviceLiterals } from "./service-literals.ts";

/** One translation of a container. */
export interface ContainerScope {
  readonly pod: Scope;
  /** Such as `spec.containers[0]`. */
  readonly path: string;
}

/** How each field of a container travels, whatever its kind. */
export const containerFields: FieldTable<Container, ContainerScope> = {
  args: "keep",
  command: "keep",
  env: farEnv,
  envFrom: ({ envFrom }, { pod, path }) =>
    envFrom?.map((source, index) => {
      const { configMapRef, secretRef } = source;
      const fieldPath = `${path}.envFrom[${index}]`;
      return {
        ...source,
        ...(configMapRef && {
          configMapRef: pod.references.rename(configMapRef, { kind: "ConfigMap", fieldPath: `${fieldPath}.configMapRef` }),
        }),
        ...(secretRef && { secretRef: pod.references.rename(secretRef, { kind: "Secret", fieldPath: `${fieldPath}.secretRef` }) }),
      };
    }),
  image: "keep",
  imagePullPolicy: "keep",
  lifecycle: "keep",
  livenessProbe: "keep",
  name: "keep",
  ports: "keep",
  readinessProbe: "keep",
  resizePolicy: "keep",
  // Claims for devices are refused with the pod's resourceClaims.
  resources: "keep",
  restartPolicy: "keep",
  restartPolicyRules: "keep",
  securityContext: "keep",
  startupProbe: "keep",
  stdin: "keep",
  stdinOnce: "keep",
  terminationMessagePath: "keep",
  terminationMessagePolicy: "keep",
  tty: "keep",
  volumeDevices: "keep",
  volumeMounts: ({ volumeMounts }, { pod }) => volumeMounts?.filter(({ name }) => !pod.droppedVolumes.has(name)),
  workingDir: "keep",
};

/** How each field of an ephemeral container travels. */
export const ephemeralContainerFields: FieldTable<EphemeralContainer, ContainerScope> = { ...containerFields, targetContainerName: "keep" };

/** Returns a container or init container as the far pod has it. */
export function farContainer(container: Container, scope: ContainerScope): Container {
  return applyTable(container, containerFields, { scope, onUnknown: noteUnknown(scope) });
}

/** Returns an ephemeral container as the far pod has it. */
export function farEphemeralContainer(container: EphemeralContainer, scope: ContainerScope): EphemeralContainer {
  return applyTable(container, ephemeralContainerFields, { scope, onUnknown: noteUnknown(scope) });
}

function noteUnknown({ pod, path }: ContainerScope): (field: string) => void {
  return (field) => pod.findings.note(`${path}.${field}`, "left out, because this version does not know the field");
}

function farEnv(container: AnyContainer, { pod, path }: ContainerScope): EnvVar[] | undefined {
  const own = (container.env ?? []).map((variable, index) => farVariable(variable, `${path}.env[${index}]`, pod));
  const names = new Set(own.map(({ name }) => name));
  const services = serviceLiterals(pod).filter(({ name }) => !names.has(name));
  return container.env === undefined && services.length === 0 ? undefined : [...services, ...own];
}

/**
 * Returns the field of the far pod that has the value of this field of the home pod; `undefined` if only the home pod has it. Addresses are the
 * far cluster's to know. A carried label or annotation stays a reference, because a kubelet reads it again for each start of the container.
 */
function farField(fieldPath: string, { context: { config } }: Scope): string | undefined {
  if (fieldPath.startsWith("status.")) return fieldPath;
  const [, map, key = ""] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(fieldPath) ?? [];
  if (map === "annotations") return carriesAnnotation(key, config.carry) ? fieldPath : undefined;
  const farKey = map === "labels" ? farLabelKey(key, config.carry) : undefined;
  return farKey === undefined ? undefined : `metadata.labels['${farKey}']`;
}

function farVariable(variable: EnvVar, path: string, scope: Scope): EnvVar {
  const { home, references } = scope;
  const { configMapKeyRef, secretKeyRef, fieldRef } = variable.valueFrom ?? {};
  const fieldPath = `${path}.valueFrom`;
  if (fieldRef) {
    const field = farField(fieldRef.fieldPath, scope);
    return field === undefined
      ? { name: variable.name, value: literal(resolveFieldRef(fieldRef.fieldPath, home, { hostIPs: [] })) }
      : { ...variable, valueFrom: { fieldRef: { ...fieldRef, fieldPath: field } } };
  }
  if (configMapKeyRef) {
    const renamed = references.rename(configMapKeyRef, { kind: "ConfigMap", fieldPath: `${fieldPath}.configMapKeyRef` });
    return { ...variable, valueFrom: { configMapKeyRef: renamed } };
  }
  if (secretKeyRef) {
    const renamed = references.rename(secretKeyRef, { kind: "Secret", fieldPath: `${fieldPath}.secretKeyRef` });
    return { ...variable, valueFrom: { secretKeyRef: renamed } };
  }
  return variable;
}
