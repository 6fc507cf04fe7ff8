import type { PolicyRule } from "../kinds/rbac/rbac-fields.ts";

/** A default cluster role. */
export interface BootstrapRole {
  readonly name: string;
  readonly rules: readonly PolicyRule[];
  /** Role that includes this role's rules: `admin`, `edit` or `view`. */
  readonly aggregatesTo?: string;
  /** Whether the rules come from the roles that aggregate to this one. */
  readonly isAggregate?: boolean;
}

const read = "get list watch";
const write = "create delete deletecollection patch update";
const readWrite = "create delete deletecollection get list patch update watch";

function resources(group: string | readonly string[], names: string, verbs: string, resourceNames?: string[]): PolicyRule {
  const rule = { verbs: verbs.split(" "), apiGroups: [group].flat(), resources: names.split(" ") };
  return resourceNames === undefined ? rule : { ...rule, resourceNames };
}

function urls(nonResourceURLs: string, verbs: string): PolicyRule {
  return { verbs: verbs.split(" "), nonResourceURLs: nonResourceURLs.split(" ") };
}

/** Source of this file: Kubernetes v1.36.3 plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go. */

/** Rules for all nodes. The node authorizer restricts most of them to single objects. */
export const nodeRules: readonly PolicyRule[] = [
  resources("authentication.k8s.io", "tokenreviews", "create"),
  resources("authorization.k8s.io", "localsubjectaccessreviews subjectaccessreviews", "create"),
  resources("", "services", read),
  resources("", "nodes", "create get list watch"),
  resources("", "nodes/status", "patch update"),
  resources("", "nodes", "patch update"),
  resources(["", "events.k8s.io"], "events", "create patch update"),
  resources("", "pods", read),
  resources("", "pods", "create delete"),
  resources("", "pods/status", "patch update"),
  resources("", "pods/eviction", "create"),
  resources("", "configmaps secrets", read),
  resources("", "persistentvolumeclaims persistentvolumes", "get"),
  resources("", "endpoints", "get"),
  resources("certificates.k8s.io", "certificatesigningrequests", "create get list watch"),
  resources("coordination.k8s.io", "leases", "create delete get patch update"),
  resources("storage.k8s.io", "volumeattachments", "get"),
  resources("", "serviceaccounts/token", "create"),
  resources("", "persistentvolumeclaims/status", "get patch update"),
  resources("storage.k8s.io", "csidrivers", read),
  resources("storage.k8s.io", "csinodes", "create delete get patch update"),
  resources("node.k8s.io", "runtimeclasses", read),
  resources("resource.k8s.io", "resourceclaims", "get"),
  resources("resource.k8s.io", "resourceslices", "deletecollection"),
  resources("", "serviceaccounts", "get"),
];

/** Default cluster roles, without those of control plane components and controllers. */
export const bootstrapClusterRoles: readonly BootstrapRole[] = [
  { name: "admin", isAggregate: true, rules: [] },
  { name: "cluster-admin", rules: [resources("*", "*", "*"), urls("*", "*")] },
  { name: "edit", aggregatesTo: "admin", isAggregate: true, rules: [] },
  {
    name: "system:aggregate-to-admin",
    aggregatesTo: "admin",
    rules: [
      resources("authorization.k8s.io", "localsubjectaccessreviews", "create"),
      resources("rbac.authorization.k8s.io", "rolebindings roles", readWrite),
    ],
  },
  {
    name: "system:aggregate-to-edit",
    aggregatesTo: "edit",
    rules: [
      resources("", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy", read),
      resources("", "serviceaccounts", "impersonate"),
      resources("", "pods pods/attach pods/exec pods/portforward pods/proxy", write),
      resources("", "pods/eviction", "create"),
      resources(
        "",
        "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy",
        write,
      ),
      resources("", "serviceaccounts/token", "create"),
      resources(["", "events.k8s.io"], "events", write),
      resources(
        "apps",
        "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale",
        write,
      ),
      resources("autoscaling", "horizontalpodautoscalers", write),
      resources("batch", "cronjobs jobs", write),
      resources(
        "extensions",
        "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale",
        write,
      ),
      resources("policy", "poddisruptionbudgets", write),
      resources("networking.k8s.io", "ingresses networkpolicies", write),
      resources("coordination.k8s.io", "leases", readWrite),
      resources("resource.k8s.io", "resourceclaims resourceclaimtemplates", write),
    ],
  },
  {
    name: "system:aggregate-to-view",
    aggregatesTo: "view",
    rules: [
      resources(
        "",
        "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status",
        read,
      ),
      resources(
        "",
        "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status",
        read,
      ),
      resources("", "namespaces", read),
      resources(["", "events.k8s.io"], "events", read),
      resources("discovery.k8s.io", "endpointslices", read),
      resources(
        "apps",
        "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
        read,
      ),
      resources("autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status", read),
      resources("batch", "cronjobs cronjobs/status jobs jobs/status", read),
      resources(
        "extensions",
        "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale",
        read,
      ),
      resources("policy", "poddisruptionbudgets poddisruptionbudgets/status", read),
      resources("networking.k8s.io", "ingresses ingresses/status networkpolicies", read),
      resources("resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates", read),
    ],
  },
  {
    name: "system:auth-delegator",
    rules: [
      resources("authentication.k8s.io", "tokenreviews", "create"),
      resources("authorization.k8s.io", "subjectaccessreviews", "create"),
    ],
  },
  {
    name: "system:basic-user",
    rules: [
      resources("authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews", "create"),
      resources("authentication.k8s.io", "selfsubjectreviews", "create"),
    ],
  },
  {
    name: "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
    rules: [resources("certificates.k8s.io", "certificatesigningrequests/nodeclient", "create")],
  },
  {
    name: "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
    rules: [resources("certificates.k8s.io", "certificatesigningrequests/selfnodeclient", "create")],
  },
  {
    name: "system:certificates.k8s.io:kube-apiserver-client-approver",
    rules: [resources("certificates.k8s.io", "signers", "approve", ["kubernetes.io/kube-apiserver-client"])],
  },
  {
    name: "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver",
    rules: [resources("certificates.k8s.io", "signers", "approve", ["kubernetes.io/kube-apiserver-client-kubelet"])],
  },
  {
    name: "system:certificates.k8s.io:kubelet-serving-approver",
    rules: [resources("certificates.k8s.io", "signers", "approve", ["kubernetes.io/kubelet-serving"])],
  },
  {
    name: "system:certificates.k8s.io:legacy-unknown-approver",
    rules: [resources("certificates.k8s.io", "signers", "approve", ["kubernetes.io/legacy-unknown"])],
  },
  {
    name: "system:discovery",
    rules: [urls("/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/", "get")],
  },
  {
    name: "system:kubelet-api-admin",
    rules: [
      resources("", "nodes", read),
      resources("", "nodes", "proxy"),
      resources("", "nodes/log nodes/metrics nodes/proxy nodes/stats", "*"),
      resources("", "nodes/configz nodes/healthz nodes/pods", "*"),
    ],
  },
  {
    name: "system:monitoring",
    rules: [
      urls("/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz", "get"),
      resources("", "nodes/metrics", "get"),
    ],
  },
  { name: "system:node", rules: nodeRules },
  { name: "system:node-bootstrapper", rules: [resources("certificates.k8s.io", "certificatesigningrequests", "create get list watch")] },
  {
    name: "system:node-problem-detector",
    rules: [
      resources("", "nodes", "get"),
      resources("", "nodes/status", "patch"),
      resources(["", "events.k8s.io"], "events", "create patch update"),
    ],
  },
  {
    name: "system:node-proxier",
    rules: [
      resources("", "endpoints services", "list watch"),
      resources("", "nodes", read),
      resources(["", "events.k8s.io"], "events", "create patch update"),
      resources("networking.k8s.io", "servicecidrs", "list watch"),
      resources("discovery.k8s.io", "endpointslices", "list watch"),
    ],
  },
  {
    name: "system:persistent-volume-provisioner",
    rules: [
      resources("", "persistentvolumes", "create delete get list watch"),
      resources("", "persistentvolumeclaims", "get list update watch"),
      resources("storage.k8s.io", "storageclasses", read),
      resources("", "events", "watch"),
      resources(["", "events.k8s.io"], "events", "create patch update"),
    ],
  },
  { name: "system:public-info-viewer", rules: [urls("/healthz /livez /readyz /version /version/", "get")] },
  { name: "view", aggregatesTo: "edit", isAggregate: true, rules: [] },
];

/** Default bindings: the cluster role of this name and its group or user. */
export const bootstrapBindings: readonly (readonly [role: string, kind: "Group" | "User", ...names: string[]])[] = [
  ["cluster-admin", "Group", "system:masters"],
  ["system:basic-user", "Group", "system:authenticated"],
  ["system:discovery", "Group", "system:authenticated"],
  ["system:monitoring", "Group", "system:monitoring"],
  ["system:node", "Group"],
  ["system:node-proxier", "User", "system:kube-proxy"],
  ["system:public-info-viewer", "Group", "system:authenticated", "system:unauthenticated"],
];
