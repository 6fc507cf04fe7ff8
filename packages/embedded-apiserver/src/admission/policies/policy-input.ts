import type { Authorizer } from "../../authorization/authorizer.ts";
import { expressions } from "../../cel/engine.ts";
import { notFound } from "../../errors/api-status-error.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { namespaceKind } from "../../kinds/namespace.ts";
import type { Cluster } from "../../rest/cluster.ts";
import type { AdmissionRequest } from "../admission-plugin.ts";
import { admissionNamespace } from "../selectors.ts";
import type { VersionedObjects } from "../versioned-objects.ts";
import { reviewFacts } from "../webhook/admission-review.ts";

/** Values of the variables of a policy's expressions. */
type PolicyInput = Parameters<ReturnType<ReturnType<typeof expressions>["compilePolicy"]>["evaluate"]>[0];

/** Makes {@link PolicyInput}s for one request. Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/cel/condition.go and activation.go. */
export class PolicyInputs {
  readonly #request: AdmissionRequest;
  readonly #namespace: object | undefined;
  readonly #authorizer: PolicyInput["authorizer"];

  /** @throws ApiStatusError 404 if the namespace of the request does not exist */
  constructor(cluster: Cluster, authorizer: Authorizer, request: AdmissionRequest) {
    const { kind, subresource, name, user } = request;
    const requested = { group: kind.group, resource: kind.plural, subresource, namespace: admissionNamespace(request), name };
    this.#request = request;
    this.#namespace = namespaceOf(cluster, request);
    this.#authorizer = expressions().authorizerOf(user, (who, access) => authorizer.authorize(who, access), requested);
  }

  /** @param objects - as the policy sees them. @param params - as the policy sees them */
  of(objects: VersionedObjects, params: Readonly<ApiObject> | undefined): PolicyInput {
    return {
      object: objects.object,
      oldObject: objects.old,
      request: { uid: "", ...reviewFacts(this.#request, objects) },
      namespaceObject: this.#namespace,
      params,
      ...(this.#authorizer === undefined ? {} : { authorizer: this.#authorizer }),
    };
  }
}

/** Fields of the request's namespace that expressions see; `undefined` for a namespace itself and for cluster-scoped objects. */
function namespaceOf(cluster: Cluster, { kind, namespace: name }: AdmissionRequest): object | undefined {
  if (kind === namespaceKind || name === "") return undefined;
  const namespace = cluster.get(namespaceKind, undefined, name);
  if (namespace === undefined) throw notFound(namespaceKind, name);
  const { metadata, spec, status } = namespace;
  const { managedFields: _managed, ownerReferences: _owners, ...shown } = metadata;
  return { metadata: shown, spec, status };
}
