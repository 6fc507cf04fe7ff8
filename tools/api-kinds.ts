import { kinds } from "../packages/embedded-apiserver/src/kinds/index.ts";
import type { Kind } from "../packages/embedded-apiserver/src/kinds/kind.ts";

/** A type whose objects cross the wire. */
export interface ApiKind extends Pick<Kind, "group" | "version" | "kind"> {
  /** Name of its OpenAPI definition, such as `io.k8s.api.core.v1.Pod`. */
  readonly schema: string;
  /** Whether there are lists of it. */
  readonly hasLists: boolean;
}

/** Bodies of subresources and reviews, and the answers that are no stored objects, by the package of their definitions. */
const bodies: readonly (readonly [apiVersion: string, definitions: string, kinds: readonly string[]])[] = [
  ["v1", "io.k8s.api.core.v1", ["Binding"]],
  ["authentication.k8s.io/v1", "io.k8s.api.authentication.v1", ["SelfSubjectReview", "TokenRequest", "TokenReview"]],
  [
    "authorization.k8s.io/v1",
    "io.k8s.api.authorization.v1",
    ["LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"],
  ],
  ["autoscaling/v1", "io.k8s.api.autoscaling.v1", ["Scale"]],
  ["policy/v1", "io.k8s.api.policy.v1", ["Eviction"]],
  ["v1", "io.k8s.apimachinery.pkg.apis.meta.v1", ["Status"]],
];

/** All kinds that the embedded API server reads or writes: the ones that it stores or computes, and {@link bodies}. */
export const apiKinds: readonly ApiKind[] = [
  { group: "", version: "v1", kind: "ComponentStatus", schema: "io.k8s.api.core.v1.ComponentStatus", hasLists: true },
  ...kinds.map(({ group, version, kind, schema }) => ({ group, version, kind, schema, hasLists: true })),
  ...bodies.flatMap(([apiVersion, definitions, names]) => {
    const slash = apiVersion.indexOf("/");
    const type = { group: apiVersion.slice(0, Math.max(slash, 0)), version: apiVersion.slice(slash + 1) };
    return names.map((kind) => ({ ...type, kind, schema: `${definitions}.${kind}`, hasLists: false }));
  }),
];
