/** What may be done to what. */
export interface PolicyRule {
  verbs: string[] | null;
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

/** Whom a binding is for. */
export interface Subject {
  kind: string;
  apiGroup?: string;
  name: string;
  namespace?: string;
}

/** The role a binding gives. */
export interface RoleRef {
  apiGroup: string;
  kind: string;
  name: string;
}

/** The group of roles and bindings. */
export const rbacGroup = "rbac.authorization.k8s.io";
