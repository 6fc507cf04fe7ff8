import { podRequests, readResources } from "@virtual-kubelet/kubernetes";
import { forbidden } from "../../errors/api-status-error.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { collectionOf, findKind, type ObjectAddress, type RestContext } from "../rest-context.ts";

const osLabel = "kubernetes.io/os";
const nanosPerMilli = 1_000_000n;
const nanosPerUnit = 1_000_000_000n;

/**
 * Refuses a resize that exceeds the allocatable resources of the pod's node.
 *
 * Source: plugin/pkg/admission/podresize of Kubernetes v1.36.3.
 *
 * @throws ApiStatusError 403
 */
export function admitResize(context: RestContext, pod: ObjectAddress, spec: ApiObject["spec"]): void {
  const nodeName: unknown = spec.nodeName;
  const nodes = findKind(context, "", "nodes");
  if (typeof nodeName !== "string" || nodeName === "" || nodes === undefined) return;
  const node = collectionOf(context, nodes).get("", nodeName)?.object;
  if (node === undefined) throw forbidden(pod.kind, pod.name, `node ${JSON.stringify(nodeName)} not found`);
  const os = node.metadata.labels?.[osLabel] ?? "linux";
  if (os !== "linux") {
    const problem = `pod resize is only supported on linux nodes, node ${JSON.stringify(nodeName)} is ${JSON.stringify(os)}`;
    throw forbidden(pod.kind, pod.name, problem, [{ reason: "UnsupportedPlatform" }]);
  }
  const lacks = missing(spec, node);
  if (lacks.length > 0) {
    throw forbidden(pod.kind, pod.name, `node didn't have enough allocatable resources: ${lacks.join("; ")}`, [{ reason: "NodeCapacity" }]);
  }
}

function missing(spec: ApiObject["spec"], node: Readonly<ApiObject>): string[] {
  const requests = podRequests(spec);
  const allocatable = readResources(node["status"]?.allocatable);
  return (["cpu", "memory"] as const).flatMap((name) => {
    const requested = requests.get(name)?.nano ?? 0n;
    const available = allocatable.get(name)?.nano ?? 0n;
    const unit = name === "cpu" ? nanosPerMilli : nanosPerUnit;
    return requested > available ? [`${name}, requested: ${requested / unit}, allocatable: ${available / unit}`] : [];
  });
}
