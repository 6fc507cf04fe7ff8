/**
 * Writes packages/embedded-apiserver/data/bootstrap-objects.json: the roles, bindings, flow schemas, priority levels and API services that a
 * real kube-apiserver creates by itself. It starts etcd and kube-apiserver without controllers and reads them.
 *
 *   KUBEBUILDER_ASSETS=FOLDER node --conditions=@virtual-kubelet/source tools/bootstrap-objects.ts
 */
import { eventually, startControlPlane } from "@virtual-kubelet/testing";
import { writeFileSync } from "node:fs";
import { apiRequest, type ApiServerTarget } from "../packages/testing/src/control-plane/api-request.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const flowControl = "/apis/flowcontrol.apiserver.k8s.io/v1";
const lists = [
  `${rbac}/clusterroles`,
  `${rbac}/clusterrolebindings`,
  `${rbac}/roles`,
  `${rbac}/rolebindings`,
  `${flowControl}/prioritylevelconfigurations`,
  `${flowControl}/flowschemas`,
  "/apis/apiregistration.k8s.io/v1/apiservices",
] as const;

interface Listed {
  readonly metadata: Record<string, unknown>;
  readonly status?: { readonly conditions?: readonly { lastTransitionTime?: string }[] };
}

interface List {
  readonly apiVersion: string;
  readonly kind: string;
  readonly items: readonly Listed[];
}

async function read(target: ApiServerTarget, path: string): Promise<List> {
  return JSON.parse((await apiRequest(target, "GET", path)).body) as List;
}

/** Waits until the server has filled in all conditions, which takes a moment. */
async function isComplete(target: ApiServerTarget): Promise<void> {
  for (const path of lists.slice(-2)) {
    const { items } = await read(target, path);
    if (items.length === 0 || items.some(({ status }) => (status?.conditions ?? []).length === 0))
      throw new Error(`${path}: the conditions are not there yet`);
  }
}

/** Different values of `metadata.managedFields` as JSON, without times. */
const managers: string[] = [];

/** Leaves out what differs between servers. */
function portable({ metadata, ...fields }: Listed, apiVersion: string, kind: string): object {
  const { uid: _uid, resourceVersion: _version, creationTimestamp: _created, managedFields = [], ...rest } = metadata;
  for (const condition of fields.status?.conditions ?? []) delete condition.lastTransitionTime;
  return { kind, apiVersion, metadata: rest, ...fields, managers: managersIndex(managedFields as readonly object[]) };
}

/** Most objects of a kind have the same managers. */
function managersIndex(entries: readonly { readonly time?: string }[]): number {
  const text = JSON.stringify(entries.map(({ time: _time, ...entry }) => entry));
  if (!managers.includes(text)) managers.push(text);
  return managers.indexOf(text);
}

await using plane = await startControlPlane({ components: [] });
await eventually(() => isComplete(plane.target), { timeoutMs: 60_000 });
const lines: string[] = [];
for (const path of lists) {
  const { apiVersion, kind, items } = await read(plane.target, path);
  for (const item of items) lines.push(JSON.stringify(portable(item, apiVersion, kind.replace(/List$/, ""))));
}
const source = `kube-apiserver ${plane.version} (Apache-2.0, The Kubernetes Authors); recorded by tools/bootstrap-objects.ts`;
const text = `{\n  "source": ${JSON.stringify(source)},\n  "managers": [\n    ${managers.join(",\n    ")}\n  ],\n  "objects": [\n    ${lines.join(",\n    ")}\n  ]\n}\n`;
writeFileSync(new URL("../packages/embedded-apiserver/data/bootstrap-objects.json", import.meta.url), text);
console.log(`${String(lines.length)} objects`);
