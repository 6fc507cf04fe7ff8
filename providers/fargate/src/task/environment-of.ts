import type { Container, DeepReadonly, ResolvedEnvVar, ResolvedPod } from "@virtual-kubelet/core";
import { isNotFound, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { KeyValuePair, Secret } from "@aws-sdk/client-ecs";

/** Environment and command line of a container, divided by where ECS is given them. */
export interface ContainerEnvironment {
  /** Same for all replicas of a pod: part of the task definition. */
  readonly shared: KeyValuePair[];
  /** Differs between pods, or comes from a Secret: part of the task's overrides. */
  readonly own: KeyValuePair[];
  /** Read by ECS itself. */
  readonly secrets: Secret[];
  readonly entryPoint: string[];
  readonly command: string[];
  /** Whether {@link command} belongs to the task's overrides. */
  readonly isCommandOwn: boolean;
}

/** Settings that determine how values of Kubernetes Secrets are passed on. */
export interface SecretRules {
  readonly plaintextSecrets: boolean;
  /** ARNs by `SECRET/KEY`. */
  readonly secretArns: ReadonlyMap<string, string>;
}

/** Origin of a variable, as far as it matters here. */
type Origin =
  | { readonly kind: "shared" }
  | { readonly kind: "own" }
  /** `arnKey` is undefined for a value that is composed of a Secret's. */
  | { readonly kind: "secret"; readonly fieldPath: string; readonly arnKey: string | undefined };

const reference = /\$\(([^)]+)\)/g;

/**
 * Resolves a container's environment and command line.
 *
 * @param path - the container's path in the pod
 * @throws UnsupportedError for a value of a Secret that may not be sent as plain text and has no ARN; what `resolved` throws
 */
export async function environmentOf(
  { container, path }: { readonly container: DeepReadonly<Container>; readonly path: string },
  resolved: ResolvedPod,
  rules: SecretRules,
  signal: AbortSignal,
): Promise<ContainerEnvironment> {
  const [variables, commandLine, origins] = await Promise.all([
    resolved.environment(container.name, signal),
    resolved.commandLine(container.name, signal),
    originsOf(container, path, resolved, signal),
  ]);
  const isArnOnly = (origin: Origin | undefined): boolean =>
    origin?.kind === "secret" && (origin.arnKey === undefined || !rules.plaintextSecrets);
  refuseInText(container.command, `${path}.command`, (name) => origins.get(name)?.kind === "secret");
  refuseInText(container.args, `${path}.args`, (name) => isArnOnly(origins.get(name)) && !rules.plaintextSecrets);
  return {
    ...divide(variables, origins, rules),
    entryPoint: [...commandLine.command],
    command: [...commandLine.args],
    isCommandOwn: namesIn(container.args).length > 0,
  };
}

function divide(
  variables: readonly ResolvedEnvVar[],
  origins: ReadonlyMap<string, Origin>,
  { plaintextSecrets, secretArns }: SecretRules,
): Pick<ContainerEnvironment, "shared" | "own" | "secrets"> {
  const shared: KeyValuePair[] = [];
  const own: KeyValuePair[] = [];
  const secrets: Secret[] = [];
  const values = new Map(variables.map(({ name, value }) => [name, value]));
  for (const [name, origin] of origins) {
    const arn = origin.kind === "secret" && origin.arnKey !== undefined ? secretArns.get(origin.arnKey) : undefined;
    if (arn !== undefined) {
      secrets.push({ name, valueFrom: arn });
      values.delete(name);
    } else if (origin.kind === "secret" && values.has(name) && !plaintextSecrets) throw refusedSecret(origin.fieldPath);
  }
  for (const [name, value] of values) ((origins.get(name)?.kind ?? "shared") === "shared" ? shared : own).push({ name, value });
  return { shared, own, secrets };
}

async function originsOf(
  container: DeepReadonly<Container>,
  path: string,
  resolved: ResolvedPod,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Origin>> {
  const origins = new Map<string, Origin>();
  for (const [index, { secretRef, prefix = "" }] of (container.envFrom ?? []).entries()) {
    if (!secretRef?.name) continue;
    const fieldPath = `${path}.envFrom[${index}].secretRef`;
    for (const key of await keysOf(secretRef.name, resolved, signal))
      origins.set(`${prefix}${key}`, { kind: "secret", fieldPath, arnKey: `${secretRef.name}/${key}` });
  }
  for (const [index, { name, value = "", valueFrom }] of (container.env ?? []).entries()) {
    const { secretKeyRef, fieldRef } = valueFrom ?? {};
    const fieldPath = `${path}.env[${index}].valueFrom.secretKeyRef`;
    if (secretKeyRef) origins.set(name, { kind: "secret", fieldPath, arnKey: `${secretKeyRef.name ?? ""}/${secretKeyRef.key}` });
    else if (fieldRef) origins.set(name, { kind: "own" });
    else origins.set(name, originOfText(value, `${path}.env[${index}].value`, origins));
  }
  return origins;
}

function originOfText(text: string, fieldPath: string, origins: ReadonlyMap<string, Origin>): Origin {
  const names = namesIn([text]);
  if (names.some((name) => origins.get(name)?.kind === "secret")) return { kind: "secret", fieldPath, arnKey: undefined };
  return { kind: names.length > 0 ? "own" : "shared" };
}

async function keysOf(name: string, resolved: ResolvedPod, signal: AbortSignal): Promise<readonly string[]> {
  try {
    return Object.keys((await resolved.secret(name, signal)).data ?? {});
  } catch (error) {
    // A missing Secret that is not optional fails in `environment`.
    if (isNotFound(error)) return [];
    throw error;
  }
}

function namesIn(texts: readonly string[] = []): readonly string[] {
  return texts.flatMap((text) => [...text.matchAll(reference)].map(([, name = ""]) => name));
}

function refuseInText(texts: readonly string[] | undefined, fieldPath: string, isRefused: (name: string) => boolean): void {
  const name = namesIn(texts).find(isRefused);
  if (name !== undefined)
    throw new UnsupportedError(
      `${fieldPath}: it contains $(${name}), the value of a Secret, which ECS would store as plain text; let the program read the variable ${name}`,
      { fieldPath },
    );
}

function refusedSecret(fieldPath: string): UnsupportedError {
  return new UnsupportedError(
    `${fieldPath}: ECS would store the value as plain text; name its copy in Secrets Manager or SSM with the annotation ` +
      `fargate.virtual-kubelet.io/secrets, or set plaintextSecrets`,
    { fieldPath },
  );
}
