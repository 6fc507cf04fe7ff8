import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/kube-client";

/** A pod's references to one config map or secret. */
export interface KeyReferences {
  readonly kind: "ConfigMap" | "Secret";
  readonly name: string;
  /** The referenced keys. */
  readonly keys: ReadonlySet<string>;
  /** Whether all keys are referenced as well. */
  readonly takesAll: boolean;
}

/** Returns all config maps and secrets that a pod's environment and volumes refer to, by kind and name. */
export function keyReferences({ spec }: DeepReadonly<Pod>): readonly KeyReferences[] {
  const found = new Map<string, { kind: "ConfigMap" | "Secret"; name: string; keys: Set<string>; takesAll: boolean }>();
  const note = (kind: "ConfigMap" | "Secret", name: string | undefined, keys: readonly string[] | undefined): void => {
    if (name === undefined || name === "") return;
    const id = `${kind}/${name}`;
    const entry = found.get(id) ?? { kind, name, keys: new Set<string>(), takesAll: false };
    found.set(id, entry);
    for (const key of keys ?? []) entry.keys.add(key);
    if (keys === undefined || keys.length === 0) entry.takesAll = true;
  };
  const { containers = [], initContainers = [], ephemeralContainers = [], volumes = [] } = spec ?? {};
  for (const container of [...initContainers, ...containers, ...ephemeralContainers]) noteEnvironment(container, note);
  for (const { configMap, secret, projected } of volumes) {
    if (configMap)
      note(
        "ConfigMap",
        configMap.name,
        configMap.items?.map(({ key }) => key),
      );
    if (secret)
      note(
        "Secret",
        secret.secretName,
        secret.items?.map(({ key }) => key),
      );
    for (const source of projected?.sources ?? []) {
      if (source.configMap)
        note(
          "ConfigMap",
          source.configMap.name,
          source.configMap.items?.map(({ key }) => key),
        );
      if (source.secret)
        note(
          "Secret",
          source.secret.name,
          source.secret.items?.map(({ key }) => key),
        );
    }
  }
  return [...found.values()];
}

type Note = (kind: "ConfigMap" | "Secret", name: string | undefined, keys: readonly string[] | undefined) => void;

function noteEnvironment({ env = [], envFrom = [] }: DeepReadonly<Container>, note: Note): void {
  for (const { configMapRef, secretRef } of envFrom) {
    note("ConfigMap", configMapRef?.name, undefined);
    note("Secret", secretRef?.name, undefined);
  }
  for (const { valueFrom } of env) {
    const { configMapKeyRef, secretKeyRef } = valueFrom ?? {};
    if (configMapKeyRef) note("ConfigMap", configMapKeyRef.name, [configMapKeyRef.key]);
    if (secretKeyRef) note("Secret", secretKeyRef.name, [secretKeyRef.key]);
  }
}
