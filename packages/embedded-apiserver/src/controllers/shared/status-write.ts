import type { Cluster } from "../../rest/cluster.ts";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";

/** Writes the status of an object, if it says something new and the object is still the same one. */
export function replaceStatus(cluster: Cluster, kind: Kind, { metadata }: Readonly<ApiObject>, status: object): void {
  const { namespace, name, uid } = metadata;
  const change = (object: ApiObject): ApiObject | undefined =>
    object.metadata.uid !== uid || equalJson(object["status"], status) ? undefined : { ...object, status };
  cluster.update(kind, namespace, name, change, "status");
}
