import { get, patch, post, put, remove, waitFor, type ComparedRequest, type RequestGroup } from "./request.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const authorization = "/apis/authorization.k8s.io/v1";
const maps = "/api/v1/namespaces/{ns}/configmaps";

const as = (user: string, request: ComparedRequest, more: Readonly<Record<string, string>> = {}): ComparedRequest => ({
  ...request,
  headers: { ...request.headers, "impersonate-user": user, ...more },
});

const rule = { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] };
const role = { kind: "Role", name: "reader", apiGroup: "rbac.authorization.k8s.io" };

/** Users, roles, reviews and refusals. */
export const accessRequests: readonly RequestGroup[] = [
  {
    name: "access",
    steps: [
      post(`${rbac}/namespaces/{ns}/roles`, { metadata: { name: "reader" }, rules: [rule] }),
      post(`${rbac}/namespaces/{ns}/roles`, { metadata: { name: "bad" }, rules: [{ verbs: [] }] }),
      post(`${rbac}/namespaces/{ns}/rolebindings`, {
        metadata: { name: "dana" },
        roleRef: role,
        subjects: [{ kind: "User", name: "dana", apiGroup: "rbac.authorization.k8s.io" }],
      }),
      post(`${rbac}/namespaces/{ns}/rolebindings`, {
        metadata: { name: "bad" },
        roleRef: { kind: "Odd", name: "" },
        subjects: [{ kind: "Odd" }],
      }),
      patch("merge", `${rbac}/namespaces/{ns}/rolebindings/dana`, { roleRef: { ...role, name: "other" } }),
      // The real server's authorizer sees a binding some moments later.
      waitFor(as("dana", get(maps))),
      as("dana", get(maps)),
      as("dana", get(`${maps}/nosuch`)),
      as("dana", post(maps, { metadata: { name: "a" } })),
      as("dana", remove(maps)),
      as("dana", get("/api/v1/nodes")),
      as("dana", get("/api/v1/namespaces/{ns}/pods/x/log")),
      as("dana", get("/apis")),
      as("dana", get("/metrics")),
      as("dana", post(`${rbac}/namespaces/{ns}/roles`, { metadata: { name: "more" }, rules: [{ ...rule, verbs: ["*"] }] })),
      as("system:serviceaccount:{ns}:robot", get(maps)),
      as("dana", get(maps), { "impersonate-group": "system:masters" }),
      as("", get(maps), { "impersonate-group": "developers" }),
      { ...get(maps), anonymous: true },
      { ...get(maps), anonymous: true, headers: { authorization: "Bearer nonsense" } },
      { ...get(maps), anonymous: true, headers: { authorization: "Basic bm9uc2Vuc2U=" } },
      post(`${authorization}/selfsubjectaccessreviews`, {
        spec: { resourceAttributes: { namespace: "{ns}", verb: "get", resource: "configmaps" } },
      }),
      as(
        "dana",
        post(`${authorization}/selfsubjectaccessreviews`, {
          spec: { resourceAttributes: { namespace: "{ns}", verb: "get", resource: "pods" } },
        }),
      ),
      post(`${authorization}/selfsubjectaccessreviews`, { spec: {} }),
      post(`${authorization}/subjectaccessreviews`, {
        spec: { user: "dana", resourceAttributes: { namespace: "{ns}", verb: "list", resource: "configmaps" } },
      }),
      post(`${authorization}/subjectaccessreviews`, { spec: { resourceAttributes: { verb: "list", resource: "configmaps" } } }),
      post(`${authorization}/namespaces/{ns}/localsubjectaccessreviews`, {
        spec: { user: "dana", resourceAttributes: { namespace: "other", verb: "list", resource: "configmaps" } },
      }),
      post(`${authorization}/subjectaccessreviews`, { spec: { user: "dana", nonResourceAttributes: { path: "/metrics", verb: "get" } } }),
      // The order of the rules of a user is random there.
      post(`${authorization}/selfsubjectrulesreviews`, { spec: {} }),
      as("dana", post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})),
      post("/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token: "nonsense" } }),
      post("/apis/authentication.k8s.io/v1/tokenreviews", { spec: {} }),
      get(`${authorization}/selfsubjectaccessreviews`),
      post("/apis/certificates.k8s.io/v1/certificatesigningrequests", {
        metadata: { name: "{ns}" },
        spec: { request: "bm9uc2Vuc2U=", signerName: "example.com/x", usages: ["client auth"] },
      }),
      post("/apis/certificates.k8s.io/v1/certificatesigningrequests", { metadata: { name: "{ns}" }, spec: {} }),
      put(`${rbac}/clusterroles/nosuch`, { metadata: { name: "nosuch" }, rules: [] }),
      post(`${rbac}/clusterroles`, {
        metadata: { name: "{ns}:any" },
        rules: [{ nonResourceURLs: ["/x"], resources: ["pods"], verbs: ["get"] }],
      }),
    ],
  },
];
