import { selectsLabels } from "@virtual-kubelet/kubernetes";
import { apiVersionOf, goKind } from "../../kinds/api-version.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import type { Cluster } from "../../rest/cluster.ts";
import type { ParamRef, PolicySpec } from "./policy-fields.ts";

/** Parameters of a binding: one or more objects, or `undefined` for none; otherwise why there are none. */
export type Params = { readonly params: readonly (Readonly<ApiObject> | undefined)[] } | { readonly problem: string };

/** Kind of a policy's parameters; `undefined` if it has none. Otherwise why the kind is not usable. */
export type ParamKind = { readonly kind: Kind | undefined; readonly problem?: never } | { readonly problem: string; readonly kind?: never };

/** Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/policy/generic/policy_source.go, `ensureParamsForPolicyLocked`. */
export function paramKindOf(cluster: Cluster, paramKind: PolicySpec["paramKind"]): ParamKind {
  if (paramKind === undefined) return { kind: undefined };
  const { apiVersion } = paramKind;
  const kind = cluster.kinds().find((one) => one.kind === paramKind.kind && apiVersionOf(one) === apiVersion);
  if (kind !== undefined) return { kind };
  return { problem: `failed to find resource referenced by paramKind: '${goKind(apiVersion, paramKind.kind)}'` };
}

/**
 * Finds the parameters of a binding for a request.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/policy/generic/policy_dispatcher.go, `CollectParams`.
 *
 * @param kind - kind of the policy's parameters
 * @param namespace - namespace of the request; `""` if it has none
 */
export function collectParams(cluster: Cluster, kind: Kind | undefined, reference: ParamRef | undefined, namespace: string): Params {
  if (kind === undefined || reference === undefined) return { params: [undefined] };
  const { name = "", selector, namespace: given = "" } = reference;
  const from = given === "" ? namespace : given;
  if (kind.namespaced && from === "")
    return { problem: "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources" };
  if (!kind.namespaced && given !== "") return { problem: "paramRef.namespace must not be provided for a cluster-scoped `paramKind`" };
  const place = kind.namespaced ? from : undefined;
  const found =
    name === ""
      ? cluster.list(kind, place).filter(({ metadata }) => selectsLabels(selector, metadata.labels))
      : [cluster.get(kind, place, name)];
  const params = found.filter((one) => one !== undefined);
  if (params.length === 0 && reference.parameterNotFoundAction === "Deny")
    return { problem: "no params found for policy binding with `Deny` parameterNotFoundAction" };
  return { params };
}
