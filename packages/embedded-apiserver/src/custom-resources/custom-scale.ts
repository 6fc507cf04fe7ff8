import { badRequest } from "../errors/api-status-error.ts";
import { cloneJson, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import type { ApiObject, CustomKind } from "../kinds/kind.ts";
import { compileJsonPath } from "../json/json-path.ts";

type ScalePaths = NonNullable<CustomKind["scale"]>;

/**
 * Builds the `autoscaling/v1` Scale of a custom resource. Source: k8s.io/apiextensions-apiserver v0.36.3
 * pkg/registry/customresource/etcd.go.
 */
export function customScaleOf(object: Readonly<ApiObject>, paths: ScalePaths): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const at = (path: string | undefined): JsonValue | undefined => (path === undefined ? undefined : compileJsonPath(path)(object));
  const replicas = at(paths.specReplicasPath);
  const current = at(paths.statusReplicasPath);
  const selector = at(paths.labelSelectorPath);
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid, resourceVersion, creationTimestamp },
    spec: typeof replicas === "number" && replicas !== 0 ? { replicas } : {},
    status: {
      replicas: typeof current === "number" ? current : 0,
      ...(typeof selector === "string" && selector !== "" ? { selector } : {}),
    },
  };
}

/** Copies a custom resource with a new number of replicas. @throws ApiStatusError 400 if `specReplicasPath` does not exist */
export function withCustomReplicas(object: Readonly<ApiObject>, { specReplicasPath }: ScalePaths, replicas: number): ApiObject {
  const copy = cloneJson(object) as ApiObject;
  const names = specReplicasPath.split(".").filter((name) => name !== "");
  const last = names.pop() ?? "";
  let place: JsonObject = copy;
  for (const name of names) {
    const next = (place[name] ??= {});
    if (!isJsonObject(next)) throw badRequest(`set ${specReplicasPath}: ${name} is no object`);
    place = next;
  }
  place[last] = replicas;
  return copy;
}
