import type { Authorizer } from "../../authorization/authorizer.ts";
import { expressions } from "../../cel/engine.ts";
import { ApiStatusError, forbidden } from "../../errors/api-status-error.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { admissionRegistrationKinds } from "../../kinds/plain/admission-registration.ts";
import { namespaceKind } from "../../kinds/namespace.ts";
import type { Disposables } from "../../resources/disposables.ts";
import type { Cluster } from "../../rest/cluster.ts";
import type { AdmissionPlugin, AdmissionRequest } from "../admission-plugin.ts";
import { admissionRequestVariable } from "./admission-review.ts";
import { collectParams } from "./collect-params.ts";
import { matchesResources } from "./match-resources.ts";
import type { BindingSpec, PolicySpec } from "./policy-fields.ts";

/** Dependencies of {@link createValidatingPolicies}. */
export interface ValidatingPoliciesOptions {
  readonly cluster: Cluster;
  readonly authorizer: Authorizer;
  readonly resources: Disposables;
}

const group = "admissionregistration.k8s.io";

/**
 * Evaluates ValidatingAdmissionPolicies that are bound.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/policy/validating/dispatcher.go.
 */
export function createValidatingPolicies({ cluster, authorizer, resources }: ValidatingPoliciesOptions): AdmissionPlugin {
  const policies = followed(cluster, kindNamed("ValidatingAdmissionPolicy"), resources);
  const bindings = followed(cluster, kindNamed("ValidatingAdmissionPolicyBinding"), resources);
  return {
    name: "ValidatingAdmissionPolicy",
    handles: ({ kind }) => bindings.size > 0 && policies.size > 0 && kind.group !== group,
    validate(request) {
      const evaluation = new Evaluation(cluster, authorizer, request);
      for (const policy of byName(policies)) evaluation.apply(policy, boundTo(policy, bindings));
      evaluation.finish();
    },
  };
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

function boundTo(policy: Readonly<ApiObject>, bindings: ReadonlyMap<string, Readonly<ApiObject>>): Readonly<ApiObject>[] {
  return byName(bindings).filter(({ spec }) => (spec as BindingSpec).policyName === policy.metadata.name);
}

type PolicyProgram = ReturnType<ReturnType<typeof expressions>["compilePolicy"]>;

/** Compiled policies by their spec, which is replaced when it changes. */
const programs = new WeakMap<PolicySpec, PolicyProgram>();

function programOf(spec: PolicySpec): PolicyProgram {
  const known = programs.get(spec);
  if (known !== undefined) return known;
  const made = expressions().compilePolicy(spec);
  programs.set(spec, made);
  return made;
}

interface Denial {
  readonly policy: string;
  readonly binding?: string;
  readonly message: string;
  readonly reason?: string;
}

/** The policies' answer to one request. */
class Evaluation {
  readonly #cluster: Cluster;
  readonly #authorizer: Authorizer;
  readonly #request: AdmissionRequest;
  readonly #namespaceName: string;
  readonly #namespace: Readonly<ApiObject> | undefined;
  readonly #versions: readonly string[];
  readonly #denials: Denial[] = [];

  constructor(cluster: Cluster, authorizer: Authorizer, request: AdmissionRequest) {
    const { kind, namespace, name } = request;
    this.#cluster = cluster;
    this.#authorizer = authorizer;
    this.#request = request;
    // The real server takes a namespace to be inside itself.
    this.#namespaceName = kind === namespaceKind ? name : namespace;
    this.#namespace = namespace === "" ? undefined : cluster.get(namespaceKind, undefined, namespace);
    this.#versions = cluster
      .kinds()
      .filter((one) => one.group === kind.group && one.plural === kind.plural)
      .map(({ version }) => version);
  }

  apply({ metadata: { name: policy }, spec }: Readonly<ApiObject>, bindings: readonly Readonly<ApiObject>[]): void {
    const { matchConstraints, failurePolicy, paramKind } = spec as PolicySpec;
    if (!this.#matches(matchConstraints)) return;
    for (const { metadata, spec: bindingSpec } of bindings) {
      const { matchResources, paramRef, validationActions = [] } = bindingSpec as BindingSpec;
      if (!this.#matches(matchResources)) continue;
      const found = collectParams(this.#cluster, paramKind, paramRef, this.#namespaceName);
      if (found.problem !== undefined) {
        if (failurePolicy !== "Ignore")
          this.#denials.push({ policy, binding: metadata.name, message: `failed to configure binding: ${found.problem}` });
        continue;
      }
      for (const params of found.params)
        for (const denial of this.#evaluate(spec as PolicySpec, params))
          this.#act({ policy, binding: metadata.name, ...denial }, validationActions);
    }
  }

  /** @throws ApiStatusError for the first denial */
  finish(): void {
    const [denial] = this.#denials;
    if (denial === undefined) return;
    const binding = denial.binding === undefined ? "" : ` with binding '${denial.binding}'`;
    const message = `ValidatingAdmissionPolicy '${denial.policy}'${binding} denied request: ${denial.message}`;
    const { kind, name, object } = this.#request;
    const refused = forbidden(kind, name || (object?.metadata?.generateName ?? ""), message, [{ message }]).status;
    const { reason = "Invalid" } = denial;
    throw new ApiStatusError({ ...refused, reason, code: codes[reason] ?? 422 });
  }

  #matches(resources: PolicySpec["matchConstraints"]): boolean {
    return matchesResources(resources, this.#request, this.#namespace, this.#versions);
  }

  #evaluate(spec: PolicySpec, params: Readonly<ApiObject> | undefined): ReturnType<PolicyProgram["evaluate"]> {
    const { kind, subresource, name, namespace, user, object, old } = this.#request;
    const requested = { group: kind.group, resource: kind.plural, subresource, namespace, name };
    const authorizer = expressions().authorizerOf(user, (who, access) => this.#authorizer.authorize(who, access), requested);
    return programOf(spec).evaluate({
      object,
      oldObject: old,
      request: admissionRequestVariable(this.#request, this.#namespaceName),
      namespaceObject: this.#namespace === undefined ? undefined : withTimes(this.#namespace),
      params,
      authorizer,
    });
  }

  #act(denial: Denial, actions: readonly string[]): void {
    for (const action of actions) {
      if (action === "Deny") this.#denials.push(denial);
      if (action === "Warn")
        this.#request.warn(
          `Validation failed for ValidatingAdmissionPolicy '${denial.policy}' with binding '${String(denial.binding)}': ${denial.message}`,
        );
    }
  }
}

const codes: Readonly<Record<string, number>> = { Unauthorized: 401, Forbidden: 403, RequestEntityTooLarge: 413 };

/** Fields of a namespace that expressions see. */
function withTimes({ metadata, spec, status }: Readonly<ApiObject>): object {
  const { managedFields: _managed, ownerReferences: _owners, ...shown } = metadata;
  return { metadata: shown, spec, status };
}
