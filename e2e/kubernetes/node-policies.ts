/** A policy of the node for pods. */
export interface NodePolicy {
  readonly name: PolicyName;
  /** Description on the page. */
  readonly about: string;
  /** Field `policy` of the Docker provider's configuration; absent if the configuration has none. */
  readonly policy?: object;
}

/** Name of a policy under which `make conformance` runs. */
type PolicyName = "open" | "default";

/** All that Kubernetes' tests ask for. */
export const openPolicy: {
  readonly capabilities: readonly string[];
  readonly hostPaths: readonly string[];
  readonly [name: string]: unknown;
} = {
  privileged: true,
  hostPaths: ["/"],
  hostNetwork: true,
  hostPID: true,
  hostIPC: true,
  capabilities: ["ALL"],
  unconfined: true,
};

/** In the order in which they run. */
export const nodePolicies: readonly NodePolicy[] = [
  { name: "open", about: `all that these tests ask for is allowed: \`policy: ${JSON.stringify(openPolicy)}\``, policy: openPolicy },
  { name: "default", about: "the configuration has no `policy`, as on a node that nobody has opened" },
];
