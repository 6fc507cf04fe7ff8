import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { Container, DeepReadonly, EnvVar, Node, Pod } from "@virtual-kubelet/kube-client";
import type { ResolvedEnvVar } from "../provider/resolved-pod.ts";
import { missingConfig } from "./config-error.ts";
import type { ConfigSources } from "./config-sources.ts";
import { expand } from "./expansion.ts";
import { resolveFieldRef, type PodPlace } from "./field-ref.ts";
import { resolveResourceFieldRef } from "./resource-field-ref.ts";

/** Sources of an environment. */
interface EnvironmentSources extends PodPlace {
  readonly config: ConfigSources;
  /** The registered node; absent before it is registered. */
  readonly node: DeepReadonly<Node> | undefined;
  /** The variables of services. */
  services(signal: AbortSignal): Promise<readonly ResolvedEnvVar[]>;
}

/** Inputs of one container's environment. */
export interface EnvironmentInput {
  readonly pod: DeepReadonly<Pod>;
  readonly container: DeepReadonly<Container>;
  readonly sources: EnvironmentSources;
}

/**
 * Returns a container's environment in a kubelet's order: `envFrom`, overridden by `env`, then the variables of
 * services whose names are still free. A variable keeps the position of its first occurrence. `$(NAME)` in a literal value is
 * expanded from earlier variables and from those of services.
 * Source: makeEnvironmentVariables in kubernetes v1.36.3 pkg/kubelet/kubelet_pods.go.
 *
 * @throws InvalidInputError if a mandatory object is missing; UnavailableError or ForbiddenError if it cannot be read
 * or is not known yet; UnsupportedError for `fileKeyRef`. All but the last have a `waitingReasonOf`.
 */
export async function resolveEnvironment(input: EnvironmentInput, signal: AbortSignal): Promise<readonly ResolvedEnvVar[]> {
  const { container, sources } = input;
  const services = await sources.services(signal);
  const serviceValues = new Map(services.map(({ name, value }) => [name, value]));
  const values = new Map<string, string>();
  for (const source of container.envFrom ?? []) await addAllFrom(values, source, sources.config, signal);
  for (const variable of container.env ?? []) {
    const value = variable.value
      ? expand(variable.value, (name) => values.get(name) ?? serviceValues.get(name))
      : await referredValue(variable, input, signal);
    if (value !== undefined) values.set(variable.name, value);
  }
  const own = Array.from(values, ([name, value]) => ({ name, value }));
  return [...own, ...services.filter(({ name }) => !values.has(name))];
}

type EnvFrom = DeepReadonly<NonNullable<Container["envFrom"]>[number]>;

async function addAllFrom(
  values: Map<string, string>,
  { configMapRef, secretRef, prefix = "" }: EnvFrom,
  config: ConfigSources,
  signal: AbortSignal,
): Promise<void> {
  const reference = configMapRef ?? secretRef;
  if (!reference) return;
  const kind = configMapRef ? "ConfigMap" : "Secret";
  const data = await config.readAll({ kind, name: reference.name ?? "", optional: reference.optional === true }, signal);
  const invalid: string[] = [];
  for (const key of Object.keys(data).sort()) {
    if (isVariableName(prefix + key)) values.set(prefix + key, data[key] ?? "");
    else invalid.push(prefix + key);
  }
  if (invalid.length > 0) config.reportInvalidNames(kind, reference.name ?? "", invalid);
}

/** Returns the value of a variable, empty without a source; `undefined` if the source is optional and missing. */
async function referredValue(
  { name, valueFrom }: DeepReadonly<EnvVar>,
  input: EnvironmentInput,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { pod, container, sources } = input;
  if (!valueFrom) return "";
  const { configMapKeyRef, secretKeyRef, fieldRef, resourceFieldRef, fileKeyRef } = valueFrom;
  if (fieldRef) {
    const { apiVersion } = fieldRef;
    if (apiVersion && apiVersion !== "v1") throw missingConfig(`unsupported pod version: ${apiVersion}`);
    return resolveFieldRef(fieldRef.fieldPath, pod, sources);
  }
  if (resourceFieldRef) {
    return resolveResourceFieldRef(resourceFieldRef, { pod, container, allocatable: sources.node?.status?.allocatable });
  }
  const keyRef = configMapKeyRef ?? secretKeyRef;
  if (keyRef) {
    const kind = configMapKeyRef ? "ConfigMap" : "Secret";
    const reference = { kind, name: keyRef.name ?? "", optional: keyRef.optional === true, variable: name } as const;
    return sources.config.readKey(reference, keyRef.key, signal);
  }
  if (fileKeyRef) {
    const message = `make the environment of container ${container.name}: variable ${name} comes from a file in a volume (fileKeyRef), expected a value, a config map, a secret or a field`;
    throw new UnsupportedError(message, { fieldPath: "spec.containers[*].env[*].valueFrom.fileKeyRef" });
  }
  return "";
}

/**
 * Whether the API server would take the name: any printable ASCII but `=`.
 * Source: IsRelaxedEnvVarName in k8s.io/apimachinery v0.36.3, the rule since Kubernetes 1.34.
 */
function isVariableName(name: string): boolean {
  return /^[\x20-\x3c\x3e-\x7e]+$/.test(name);
}
