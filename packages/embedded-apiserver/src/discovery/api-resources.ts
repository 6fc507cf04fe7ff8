import { componentStatusKind } from "../kinds/component-status.ts";
import type { Kind } from "../kinds/kind.ts";

/** Group and version, such as `apps/v1`; the group is empty for the core group. */
export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

/** Kind of a subresource's request body. */
export interface BodyKind extends GroupVersion {
  readonly kind: string;
}

/** A subresource such as `pods/binding`. */
interface Subresource {
  readonly name: string;
  readonly body: BodyKind;
  readonly verbs: readonly string[];
}

/** Fields of a kind that discovery shows. */
type DescribedKind = Pick<
  Kind,
  | "group"
  | "version"
  | "kind"
  | "plural"
  | "singular"
  | "namespaced"
  | "shortNames"
  | "categories"
  | "schema"
  | "custom"
  | "storageGroup"
  | "storageVersion"
>;

/** A resource and its verbs. */
export interface ApiResource {
  readonly kind: DescribedKind;
  readonly verbs: readonly string[];
  readonly subresources: readonly Subresource[];
}

const allVerbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/** Same order as in the real server. */
const customVerbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/** Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/customresource_discovery_controller.go. */
const terminatingVerbs = ["delete", "deletecollection", "get", "list", "watch"];
const namespaceVerbs = allVerbs.filter((verb) => verb !== "deletecollection");
const statusVerbs = ["get", "patch", "update"];
const connectVerbs = ["create", "get"];

const core = (kind: string): BodyKind => ({ group: "", version: "v1", kind });

const proxyVerbs = ["create", "delete", "get", "patch", "update"];

/** Subresources other than `status` and `scale`. */
const ownSubresources: Readonly<Record<string, readonly Subresource[]>> = {
  certificatesigningrequests: [
    {
      name: "approval",
      body: { group: "certificates.k8s.io", version: "v1", kind: "CertificateSigningRequest" },
      verbs: statusVerbs,
    },
  ],
  namespaces: [{ name: "finalize", body: core("Namespace"), verbs: ["update"] }],
  nodes: [{ name: "proxy", body: core("NodeProxyOptions"), verbs: proxyVerbs }],
  pods: [
    { name: "attach", body: core("PodAttachOptions"), verbs: connectVerbs },
    { name: "binding", body: core("Binding"), verbs: ["create"] },
    { name: "ephemeralcontainers", body: core("Pod"), verbs: statusVerbs },
    { name: "eviction", body: { group: "policy", version: "v1", kind: "Eviction" }, verbs: ["create"] },
    { name: "exec", body: core("PodExecOptions"), verbs: connectVerbs },
    { name: "log", body: core("Pod"), verbs: ["get"] },
    { name: "portforward", body: core("PodPortForwardOptions"), verbs: connectVerbs },
    { name: "proxy", body: core("PodProxyOptions"), verbs: proxyVerbs },
    { name: "resize", body: core("Pod"), verbs: statusVerbs },
  ],
  services: [{ name: "proxy", body: core("ServiceProxyOptions"), verbs: proxyVerbs }],
  serviceaccounts: [{ name: "token", body: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" }, verbs: ["create"] }],
};

/** Kinds that can be created but are never stored, such as reviews. */
const createOnly: readonly DescribedKind[] = [
  actionKind({ group: "", version: "v1", kind: "Binding" }, true),
  actionKind({ group: "authentication.k8s.io", version: "v1", kind: "SelfSubjectReview" }, false),
  actionKind({ group: "authentication.k8s.io", version: "v1", kind: "TokenReview" }, false),
  actionKind({ group: "authorization.k8s.io", version: "v1", kind: "LocalSubjectAccessReview" }, true),
  actionKind({ group: "authorization.k8s.io", version: "v1", kind: "SelfSubjectAccessReview" }, false),
  actionKind({ group: "authorization.k8s.io", version: "v1", kind: "SelfSubjectRulesReview" }, false),
  actionKind({ group: "authorization.k8s.io", version: "v1", kind: "SubjectAccessReview" }, false),
];

function actionKind(body: BodyKind, namespaced: boolean): DescribedKind {
  const singular = body.kind.toLowerCase();
  const schema = `io.k8s.api.${body.group === "" ? "core" : body.group.replace(".k8s.io", "")}.${body.version}.${body.kind}`;
  return { ...body, singular, plural: `${singular}s`, namespaced, schema };
}

/** Groups and versions of the server, core first. */
export function groupVersions(kinds: readonly Kind[]): GroupVersion[] {
  const known: GroupVersion[] = [];
  for (const { group, version } of [...kinds, ...createOnly])
    if (!known.some((one) => one.group === group && one.version === version)) known.push({ group, version });
  return known.toSorted((a, b) => rankOf(a.group) - rankOf(b.group) || Number(a.group > b.group) - Number(a.group < b.group));
}

/** Built-in groups in their order; source: the priorities of Kubernetes v1.36.3 pkg/controlplane/apiserver/apiservices.go. */
const groupOrder: readonly string[] = [
  "",
  "apiregistration.k8s.io",
  "apps",
  "events.k8s.io",
  "authentication.k8s.io",
  "authorization.k8s.io",
  "autoscaling",
  "batch",
  "certificates.k8s.io",
  "networking.k8s.io",
  "policy",
  "rbac.authorization.k8s.io",
  "storage.k8s.io",
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "scheduling.k8s.io",
  "coordination.k8s.io",
  "node.k8s.io",
  "discovery.k8s.io",
  "resource.k8s.io",
  "flowcontrol.apiserver.k8s.io",
];

/** Position of a built-in group; groups of custom resources are last. */
function rankOf(group: string): number {
  const index = groupOrder.indexOf(group);
  return index < 0 ? groupOrder.length : index;
}

/** A group and its versions, the preferred one first. */
export interface GroupVersions {
  readonly group: string;
  readonly versions: readonly string[];
}

/** Groups and versions of aggregated API servers. */
export interface AggregatedVersions {
  /** Adds their groups and versions to those of the server, in the order of all API services. */
  inOrder(own: readonly GroupVersions[]): readonly GroupVersions[];
  /** Their entries in aggregated discovery; `undefined` for other versions. */
  describe(groupVersion: GroupVersion): object | undefined;
  /** Entries of their documents at `/openapi/v3`. */
  openApiPaths(): Readonly<Record<string, object>>;
}

/** Groups of the server and of aggregated API servers. */
export function groupsOf(kinds: readonly Kind[], aggregated?: AggregatedVersions): readonly GroupVersions[] {
  const groups = [...new Set(groupVersions(kinds).map(({ group }) => group))];
  const own = groups.map((group) => ({ group, versions: versionsOf(group, kinds) }));
  return aggregated?.inOrder(own) ?? own;
}

/** Versions of a group, the preferred one first. */
function versionsOf(group: string, kinds: readonly Kind[]): string[] {
  const versions = groupVersions(kinds).filter((one) => one.group === group);
  return versions.map(({ version }) => version).toSorted(compareVersions);
}

/**
 * Sorts stable versions first, latest first, then betas, then alphas.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/version/helpers.go, `CompareKubeAwareVersionStrings`.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [versionRank(a), versionRank(b)];
  if (left === undefined || right === undefined) return left === right ? (a < b ? -1 : 1) : left === undefined ? 1 : -1;
  return right.stage - left.stage || right.major - left.major || right.minor - left.minor;
}

function versionRank(version: string): { readonly stage: number; readonly major: number; readonly minor: number } | undefined {
  const [, major, stage, minor = "0"] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? [];
  if (major === undefined) return undefined;
  return { stage: stage === undefined ? 2 : stage === "beta" ? 1 : 0, major: Number(major), minor: Number(minor) };
}

function verbsOf({ custom, group, plural, verbs }: Kind): readonly string[] {
  if (verbs !== undefined) return verbs;
  if (custom !== undefined) return custom.isTerminating() ? terminatingVerbs : customVerbs;
  return group === "" && plural === "namespaces" ? namespaceVerbs : allVerbs;
}

/** Resources of a group and version, sorted by name. */
export function apiResources({ group, version }: GroupVersion, kinds: readonly Kind[]): ApiResource[] {
  const stored = kinds.map((kind) => ({
    kind,
    verbs: verbsOf(kind),
    subresources: subresourcesOf(kind),
  }));
  const computed = { kind: componentStatusKind, verbs: verbsOf(componentStatusKind), subresources: [] };
  const actions = createOnly.map((kind) => ({ kind, verbs: ["create"], subresources: [] }));
  return [...stored, computed, ...actions]
    .filter(({ kind }) => kind.group === group && kind.version === version)
    .toSorted((a, b) => (a.kind.plural < b.kind.plural ? -1 : 1));
}

function subresourcesOf(kind: Kind): Subresource[] {
  const { group, version } = kind;
  const found = group === "" || group === "certificates.k8s.io" ? [...(ownSubresources[kind.plural] ?? [])] : [];
  if (kind.hasScale) found.push({ name: "scale", body: { group: "autoscaling", version: "v1", kind: "Scale" }, verbs: statusVerbs });
  if (kind.hasStatus) found.push({ name: "status", body: { group, version, kind: kind.kind }, verbs: statusVerbs });
  // Definitions of custom resources have the status first.
  if (kind.custom !== undefined) return found.toReversed();
  return found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
