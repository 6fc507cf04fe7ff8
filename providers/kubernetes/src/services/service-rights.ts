import type { NeededRights } from "@virtual-kubelet/core";
import type { KubernetesConfig } from "../config.ts";

type Config = Pick<KubernetesConfig, "services">;

const read = ["get", "list", "watch"];
const write = ["create", "update", "delete"];

const kinds = [
  { apiGroups: [""], resources: ["services"] },
  { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"] },
] as const;

/**
 * Rights at home for mirrored Services: in each namespace of the list. None if the option is off, or if the mirror has credentials of its own.
 */
export function homeServiceRights({ services }: Config): readonly NeededRights[] {
  if (services.home !== undefined) return [];
  const verbs = services.direction === "toFar" ? read : [...read, ...write];
  return [...new Set(services.namespaces)].map((namespace) => ({
    why: "mirrors Services",
    namespace,
    rules: [
      ...kinds.map((kind) => ({ ...kind, verbs })),
      // They tell a Service's owner why it is not mirrored.
      { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
    ],
  }));
}

/** Rights in the far namespaces for mirrored Services. None if the option is off. */
export function farServiceRules({ services }: Config): readonly {
  readonly why: string;
  readonly scope: "pods";
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}[] {
  if (services.namespaces.length === 0) return [];
  const verbs = services.direction === "toHome" ? read : [...read, ...write];
  return kinds.map((kind) => ({ ...kind, scope: "pods", why: "mirrors Services", verbs }));
}
