import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { badRequest, conflict, modifiedConflict, notFound, plainFailure, uidConflictOnUpdate } from "../../errors/api-status-error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/json-value.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { withPodCondition } from "../../kinds/pod/pod-conditions.ts";
import { topologyLabelsOf } from "../../kinds/pod/topology-labels.ts";
import { admitBody, bodyObject } from "../admit-body.ts";
import type { DecodedType } from "../decode-object.ts";
import { admissionSubject, collectionOf, type RestContext, type WriteOptions } from "../rest-context.ts";
import type { Steps } from "../steps.ts";
import { updateObject } from "../update.ts";

/** Type of the body. */
export const bindingType: DecodedType = { group: "", version: "v1", kind: "Binding", schema: "io.k8s.api.core.v1.Binding" };

/** Content of a `Binding`. */
interface Binding {
  readonly name: string;
  readonly node: string;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Pod in the path of a binding; `name` is `undefined` if only the body names the pod. */
export interface BindingTarget {
  readonly pods: Kind;
  readonly namespace: string;
  readonly name: string | undefined;
}

/**
 * Binds a pod to a node.
 *
 * Source: pkg/registry/core/pod/storage/storage.go of Kubernetes v1.36.3, `BindingREST`.
 *
 * @throws ApiStatusError 400; 404 if the pod does not exist; 409 if it is already bound, being deleted, gated, or a different pod of that
 *   name
 */
export function* bindPod(
  context: RestContext,
  { pods, namespace, name }: BindingTarget,
  body: JsonObject,
  options: WriteOptions = {},
): Steps<void> {
  const sent = parseBinding(body);
  const subject = admissionSubject("CREATE", { kind: pods, namespace, name: sent.name }, { ...options, subresource: "binding" });
  const admitted = yield* admitBody(context, subject, () => bodyObject(bindingType, namespace, body));
  const binding = admitted === undefined ? sent : parseBinding(admitted);
  const { dryRun = false } = options;
  if (name !== undefined && name !== binding.name) throw badRequest("name in URL does not match name in Binding object");
  checkTarget(admitted ?? body);
  const stored = collectionOf(context, pods).get(namespace, binding.name);
  if (stored === undefined) throw notFound(pods, binding.name);
  const { metadata } = stored.object;
  if (binding.uid !== undefined && binding.uid !== metadata.uid)
    throw uidConflictOnUpdate(pods, { namespace, name: binding.name }, binding.uid, metadata.uid);
  if (binding.resourceVersion !== undefined && binding.resourceVersion !== metadata.resourceVersion)
    throw modifiedConflict(pods, binding.name);
  const problem = bindingProblem(stored.object);
  if (problem !== undefined) throw conflict({ group: "", plural: "pods/binding" }, binding.name, problem);
  const now = rfc3339(context.clock.now());
  const topology = topologyLabelsOf(context.cluster, binding.node);
  const bindingWithTopology = topology === undefined ? binding : { ...binding, labels: { ...binding.labels, ...topology } };
  const bind = (pod: Readonly<ApiObject>): ApiObject =>
    boundPod(withPodCondition(pod, { type: "PodScheduled", status: "True" }, now), bindingWithTopology);
  yield* updateObject(context, { kind: pods, namespace, name: binding.name }, bind, { scope: "all", dryRun });
}

function bindingProblem({ metadata, spec }: Readonly<ApiObject>): string | undefined {
  if (metadata.deletionTimestamp !== undefined) return `pod ${metadata.name} is being deleted, cannot be assigned to a host`;
  if (spec?.nodeName) return `pod ${metadata.name} is already assigned to node ${JSON.stringify(spec.nodeName)}`;
  if (spec?.schedulingGates?.length > 0) return `pod ${metadata.name} has non-empty .spec.schedulingGates`;
  return undefined;
}

function boundPod(pod: ApiObject, { node, labels, annotations }: Binding): ApiObject {
  const metadata = { ...pod.metadata };
  if (Object.keys(labels).length > 0) metadata.labels = { ...metadata.labels, ...labels };
  if (Object.keys(annotations).length > 0) metadata.annotations = { ...metadata.annotations, ...annotations };
  const { nominatedNodeName: _nominated, ...status } = pod["status"];
  return { ...pod, metadata, spec: { ...pod["spec"], nodeName: node }, status };
}

/** Source: pkg/apis/core/validation/validation.go of Kubernetes v1.36.3, `ValidatePodBinding`. @throws ApiStatusError 500 */
function checkTarget({ target = {} }: Readonly<JsonObject>): void {
  const { kind: targetKind = "", name: node } = isJsonObject<JsonValue>(target) ? target : {};
  const problems: string[] = [];
  if (targetKind !== "" && targetKind !== "Node")
    problems.push(`target.kind: Unsupported value: ${JSON.stringify(targetKind)}: supported values: "Node", "<empty>"`);
  if (typeof node !== "string" || node === "") problems.push("target.name: Required value");
  if (problems.length > 0) throw plainFailure(problems.length === 1 ? (problems[0] ?? "") : `[${problems.join(", ")}]`);
}

function parseBinding(body: Readonly<JsonObject>): Binding {
  const metadata = isJsonObject(body["metadata"]) ? body["metadata"] : {};
  const target = isJsonObject(body["target"]) ? body["target"] : {};
  return {
    name: textOf(metadata["name"]) ?? "",
    node: textOf(target["name"]) ?? "",
    uid: textOf(metadata["uid"]),
    resourceVersion: textOf(metadata["resourceVersion"]),
    labels: texts(metadata["labels"]),
    annotations: texts(metadata["annotations"]),
  };
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function texts(value: JsonValue | undefined): Record<string, string> {
  return isJsonObject(value) ? Object.fromEntries(Object.entries(value).map(([key, text]) => [key, String(text)])) : {};
}
