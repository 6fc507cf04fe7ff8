import { apiVersionOf } from "../../kinds/api-version.ts";
import { selectsLabels } from "@virtual-kubelet/kubernetes";
import type { ApiObject } from "../../kinds/kind.ts";
import type { Cluster } from "../../rest/cluster.ts";
import type { ParamRef, PolicySpec } from "./policy-fields.ts";

/** Parameters of a binding: one or more objects, or `undefined` for none; otherwise why there are none. */
export type Params =
  | { readonly params: readonly (Readonly<ApiObject> | undefined)[]; readonly problem?: never }
  | { readonly problem: string };

/**
 * Finds the parameters of a binding for a request.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/policy/generic/policy_dispatcher.go, `CollectParams`.
 *
 * @param namespace - namespace of the request; `""` if it has none
 */
export function collectParams(
  cluster: Cluster,
  paramKind: PolicySpec["paramKind"],
  reference: ParamRef | undefined,
  namespace: string,
): Params {
  if (paramKind === undefined || reference === undefined) return { params: [undefined] };
  const kind = cluster.kinds().find((one) => one.kind === paramKind.kind && apiVersionOf(one) === paramKind.apiVersion);
  if (kind === undefined) {
    const shown = `&ParamKind{APIVersion:${paramKind.apiVersion},Kind:${paramKind.kind},}`;
    return { problem: `paramKind kind \`${shown}\` not known` };
  }
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
