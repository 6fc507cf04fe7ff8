import type { Cluster } from "../../rest/cluster.ts";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";

/** Replaces the status of an object if it differs and the stored object has the same UID. */
export function replaceStatus(cluster: Cluster, kind: Kind, { metadata }: Readonly<ApiObject>, status: object): void {
  const { namespace, name, uid } = metadata;
  const change = (object: ApiObject): ApiObject | undefined =>
    object.metadata.uid !== uid || equalJson(object["status"], status) ? undefined : { ...object, status };
  cluster.update(kind, namespace, name, change, "status");
}
