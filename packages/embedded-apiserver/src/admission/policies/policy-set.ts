import { messageOf } from "@virtual-kubelet/errdefs";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { admissionRegistrationKinds } from "../../kinds/plain/admission-registration.ts";
import type { MatchResources } from "../../kinds/plain/validate-matching.ts";
import type { Disposables } from "../../resources/disposables.ts";
import type { Cluster } from "../../rest/cluster.ts";
import type { AdmissionRequest, AdmissionSubject } from "../admission-plugin.ts";
import { isExemptFromPolicies } from "../exempt-kinds.ts";
import { EquivalentKinds } from "../rule-matching.ts";
import { admissionNamespace } from "../selectors.ts";
import { collectParams, paramKindOf } from "./collect-params.ts";
import { matchedKind } from "./match-resources.ts";
import type { BindingSpec, PolicySpec } from "./policy-fields.ts";

/** A policy, and one of its bindings, by which it applies to a request. */
export interface PolicyInvocation {
  readonly policy: { readonly name: string; readonly spec: PolicySpec };
  readonly binding: { readonly name: string; readonly spec: BindingSpec };
  /** Kind in whose version the policy sees the objects. */
  readonly kind: Kind;
  readonly params: Readonly<ApiObject> | undefined;
  readonly problem?: never;
}

/** A policy that applies to a request, but cannot be evaluated. */
export interface PolicyProblem {
  readonly policy: { readonly name: string; readonly spec: PolicySpec };
  /** `undefined` if the policy cannot be evaluated for any binding. */
  readonly binding?: { readonly name: string };
  /** With the real server's words. */
  readonly problem: string;
}

/** The policies of one kind and their bindings, as they are now. */
export class PolicySet {
  readonly #cluster: Cluster;
  readonly #equivalents: EquivalentKinds;
  readonly #policies: ReadonlyMap<string, Readonly<ApiObject>>;
  readonly #bindings: ReadonlyMap<string, Readonly<ApiObject>>;

  constructor(
    { cluster, resources }: { readonly cluster: Cluster; readonly resources: Disposables },
    kind: "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy",
  ) {
    this.#cluster = cluster;
    this.#equivalents = new EquivalentKinds(cluster, resources);
    this.#policies = followed(cluster, kindNamed(kind), resources);
    this.#bindings = followed(cluster, kindNamed(`${kind}Binding`), resources);
  }

  /** Whether there are policies that may apply. */
  handles({ kind }: AdmissionSubject): boolean {
    return this.#bindings.size > 0 && this.#policies.size > 0 && !isExemptFromPolicies(kind);
  }

  /**
   * Policies that apply to a request: by their names, the names of their bindings, and their parameters. The real server has no order of
   * policies.
   *
   * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/policy/generic/policy_dispatcher.go.
   */
  *matching(request: AdmissionRequest): Iterable<PolicyInvocation | PolicyProblem> {
    for (const { metadata, spec } of byName(this.#policies)) {
      const bindings = byName(this.#bindings).filter((one) => (one["spec"] as BindingSpec).policyName === metadata.name);
      if (bindings.length > 0) yield* this.#applied({ name: metadata.name, spec: spec as PolicySpec }, bindings, request);
    }
  }

  *#applied(
    policy: PolicyInvocation["policy"],
    bindings: readonly Readonly<ApiObject>[],
    request: AdmissionRequest,
  ): Iterable<PolicyInvocation | PolicyProblem> {
    const { matchConstraints = {}, paramKind } = policy.spec;
    const match = this.#match(matchConstraints, request);
    if ("problem" in match) return yield { policy, problem: `failed to configure policy: ${match.problem}` };
    const { kind } = match;
    if (kind === undefined) return undefined;
    const paramsOf = paramKindOf(this.#cluster, paramKind);
    if (paramsOf.problem !== undefined) return yield { policy, problem: `failed to configure policy: ${paramsOf.problem}` };
    for (const bound of bindings) {
      const binding = { name: bound.metadata.name, spec: bound["spec"] as BindingSpec };
      const { matchResources, paramRef } = binding.spec;
      const boundMatch = matchResources === undefined ? match : this.#match(matchResources, request);
      const found =
        "problem" in boundMatch || boundMatch.kind === undefined
          ? boundMatch
          : collectParams(this.#cluster, paramsOf.kind, paramRef, admissionNamespace(request));
      if ("problem" in found) yield { policy, binding, problem: `failed to configure binding: ${found.problem}` };
      if ("params" in found) for (const params of found.params) yield { policy, binding, kind, params };
    }
  }

  #match(resources: MatchResources, request: AdmissionRequest): { readonly kind: Kind | undefined } | { readonly problem: string } {
    try {
      return { kind: matchedKind(resources, request, { cluster: this.#cluster, equivalents: this.#equivalents }) };
    } catch (error) {
      return { problem: messageOf(error) };
    }
  }
}

function kindNamed(name: string): Kind {
  const kind = admissionRegistrationKinds.find((one) => one.kind === name);
  if (kind === undefined) throw new RangeError(`evaluate admission policies: there is no kind ${name}`);
  return kind;
}

/** Objects of a kind by name, as they are now. */
function followed(cluster: Cluster, kind: Kind, resources: Disposables): ReadonlyMap<string, Readonly<ApiObject>> {
  const objects = new Map<string, Readonly<ApiObject>>(cluster.list(kind).map((object) => [object.metadata.name, object]));
  resources.use(
    cluster.watch(kind, ({ type, object }) => {
      if (type === "DELETED") objects.delete(object.metadata.name);
      else objects.set(object.metadata.name, object);
    }),
  );
  return objects;
}

function byName(objects: ReadonlyMap<string, Readonly<ApiObject>>): Readonly<ApiObject>[] {
  return [...objects.values()].toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}
