import type { KubernetesConfig } from "../config.ts";
import { readsFarNodes, readsQuotas } from "../config/node.ts";
import { farServiceRules } from "../services/service-rights.ts";

/** Rights for some resources in the far cluster. */
export interface FarRule {
  /** What they are for. */
  readonly why: string;
  /** `cluster`: in all namespaces, or of objects without a namespace; `pods`: in the namespaces in which the pods run. */
  readonly scope: "cluster" | "pods";
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** Whether the node also works without it, with less to show. */
  readonly isOptional?: boolean | undefined;
}

type Config = Pick<KubernetesConfig, "namespaces" | "node" | "scheduling" | "usage" | "events" | "services">;

/**
 * Returns exactly what the provider uses with this configuration. A setting `auto` counts as what needs least, except for the far nodes,
 * whose list harms nobody.
 */
export function farRules(config: Config): readonly FarRule[] {
  return [
    ...podRules,
    ...objectRules(config),
    ...nodeRules(config),
    ...usageRules(config),
    ...namespaceRules(config),
    ...farServiceRules(config),
  ];
}

const core = { scope: "pods", apiGroups: [""] } as const;

const podRules: readonly FarRule[] = [
  { ...core, why: "runs the pods", resources: ["pods"], verbs: ["create", "get", "list", "watch", "patch", "delete"] },
  { ...core, why: "reads logs", resources: ["pods/log"], verbs: ["get"] },
  {
    ...core,
    why: "runs commands, attaches and forwards ports",
    resources: ["pods/exec", "pods/attach", "pods/portforward"],
    // WebSockets begin with a GET, which API servers check as get, and from Kubernetes 1.35 on also as create.
    verbs: ["create", "get"],
  },
  { ...core, why: "adds ephemeral containers and resizes pods", resources: ["pods/ephemeralcontainers", "pods/resize"], verbs: ["patch"] },
];

const everything = ["create", "get", "list", "watch", "patch", "delete"];

function objectRules({ events }: Config): readonly FarRule[] {
  return [
    { ...core, why: "copies config maps for pods, and has one as owner of its objects", resources: ["configmaps"], verbs: everything },
    { ...core, why: "copies secrets for pods", resources: ["secrets"], verbs: everything },
    {
      ...core,
      why: "creates claims for the pods' volumes",
      resources: ["persistentvolumeclaims"],
      verbs: ["create", "get", "delete"],
    },
    ...(events ? [{ ...core, why: "shows events of far pods", resources: ["events"], verbs: ["list", "watch"] }] : []),
  ];
}

function nodeRules(config: Config): readonly FarRule[] {
  const { capacity, others } = config.node;
  const rules: FarRule[] = [];
  if (readsQuotas(config))
    rules.push({
      ...core,
      why: "reads the capacity from quotas",
      resources: ["resourcequotas"],
      verbs: ["list", "watch"],
      isOptional: capacity !== "quota",
    });
  if (readsFarNodes(config))
    rules.push({
      ...core,
      scope: "cluster",
      why: "describes the node by the far nodes",
      resources: ["nodes"],
      verbs: isEach(config) ? ["get", "list", "watch"] : ["list", "watch"],
      isOptional: !isEach(config) && capacity !== "nodes",
    });
  if (others === "subtract")
    rules.push({ ...core, scope: "cluster", why: "subtracts what pods of others request", resources: ["pods"], verbs: ["list"] });
  return rules;
}

/** Whether virtual nodes stand for single far nodes: each of those is also read by itself before it counts as gone. */
function isEach({ node, scheduling }: Config): boolean {
  return node.each || scheduling.farNode !== undefined;
}

function usageRules({ usage }: Config): readonly FarRule[] {
  if (usage === "none") return [];
  if (usage === "kubelets")
    return [{ ...core, scope: "cluster", why: "reads usage from the far kubelets", resources: ["nodes/proxy"], verbs: ["get"] }];
  const isOptional = usage === "auto";
  return [
    {
      ...core,
      apiGroups: ["metrics.k8s.io"],
      why: "reads usage from the metrics API",
      resources: ["pods"],
      verbs: ["list"],
      isOptional,
    },
  ];
}

function namespaceRules({ namespaces }: Config): readonly FarRule[] {
  const creates = namespaces.mode !== "one" && namespaces.create;
  return creates ? [{ ...core, scope: "cluster", why: "creates missing namespaces", resources: ["namespaces"], verbs: ["create"] }] : [];
}
