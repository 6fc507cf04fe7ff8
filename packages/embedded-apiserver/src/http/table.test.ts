import { describe, expect, test } from "vitest";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { eventKind } from "../kinds/event/event.ts";
import { kinds } from "../kinds/index.ts";
import { namespaceKind } from "../kinds/namespace.ts";
import { nodeKind } from "../kinds/node/node.ts";
import { serviceKind } from "../kinds/service/service.ts";
import { deploymentKind } from "../kinds/workload/deployment.ts";
import { type TableOptions, toTable } from "./table.ts";

const nowMs = Date.UTC(2026, 0, 1, 12);
const metadata = { name: "a", uid: "1", resourceVersion: "7", creationTimestamp: "2026-01-01T11:00:00Z" };
const namespace: ApiObject = { apiVersion: "v1", kind: "Namespace", metadata, spec: {}, status: { phase: "Active" } };

function cells(
  kind: Kind,
  object: Omit<ApiObject, "apiVersion" | "kind" | "metadata">,
  labels: Record<string, string> = {},
): unknown[] | undefined {
  const whole = { apiVersion: "v1", kind: kind.kind, metadata: { ...metadata, labels }, ...object };
  return toTable(kind, [whole], {}, { nowMs }).rows[0]?.cells.slice();
}

describe("toTable", () => {
  test("orders flow schemas by their precedence, then by name", () => {
    const flowSchema = kinds.find(({ kind }) => kind === "FlowSchema")!;
    const schema = (name: string, matchingPrecedence: number): ApiObject => ({
      ...namespace,
      metadata: { ...metadata, name },
      spec: { matchingPrecedence, priorityLevelConfiguration: { name: "p" } },
    });

    const { rows } = toTable(flowSchema, [schema("a", 100), schema("c", 9), schema("b", 9)], {}, { nowMs });

    expect(rows.map(({ cells: [name] }) => name)).toEqual(["b", "c", "a"]);
  });

  test("carries the list's metadata, columns and cells", () => {
    const table = toTable(namespaceKind, [namespace], { resourceVersion: "9", continue: "x", remainingItemCount: 2 }, { nowMs });

    expect(table.metadata).toEqual({ resourceVersion: "9", continue: "x", remainingItemCount: 2 });
    expect(table.columnDefinitions?.map(({ name, format }) => [name, format])).toEqual([
      ["Name", "name"],
      ["Status", ""],
      ["Age", ""],
    ]);
    expect(table.rows[0]?.cells).toEqual(["a", "Active", "60m"]);
  });

  test.each<[TableOptions["includeObject"], unknown]>([
    [undefined, { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata }],
    ["Metadata", { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata }],
    ["Object", namespace],
    ["None", null],
  ])("with includeObject %s, rows carry that", (includeObject, object) => {
    const options = includeObject === undefined ? { nowMs } : { nowMs, includeObject };

    expect(toTable(namespaceKind, [namespace], {}, options).rows[0]?.object).toEqual(object);
  });

  test("omits column definitions that were sent before", () => {
    expect(toTable(namespaceKind, [namespace], {}, { nowMs, noHeaders: true }).columnDefinitions).toBeNull();
  });

  test("every kind has columns, except those that the real server shows with name and age only", () => {
    const plain = ["clusterroles", "csistoragecapacities", "roles"];
    expect(
      kinds
        .filter((kind) => kind.columns === undefined)
        .map(({ plural }) => plural)
        .toSorted(),
    ).toEqual(plain);
  });
});

describe("cells", () => {
  test("of a node show its status, roles and addresses", () => {
    const status = {
      conditions: [{ type: "Ready", status: "True" }],
      addresses: [{ type: "InternalIP", address: "192.0.2.1" }],
      nodeInfo: {
        kubeletVersion: "v1.36.0",
        osImage: "Linux",
        kernelVersion: "6.1",
        architecture: "amd64",
        containerRuntimeVersion: "mock://1",
      },
    };

    expect(cells(nodeKind, { spec: { unschedulable: true }, status }, { "node-role.kubernetes.io/worker": "" })).toEqual([
      ...["a", "Ready,SchedulingDisabled", "worker", "60m", "v1.36.0", "192.0.2.1", "<none>", "Linux", "6.1 (amd64)", "mock://1"],
    ]);
    expect(cells(nodeKind, { spec: {}, status: { nodeInfo: {} } })?.slice(1, 3)).toEqual(["Unknown", "<none>"]);
  });

  test("of a service show its addresses and ports", () => {
    const spec = {
      type: "NodePort",
      clusterIPs: ["10.96.0.7"],
      ports: [
        { port: 80, nodePort: 30080, protocol: "TCP" },
        { port: 53, protocol: "UDP" },
      ],
      selector: { b: "2", a: "1" },
    };

    expect(cells(serviceKind, { spec, status: { loadBalancer: {} } })).toEqual([
      "a",
      "NodePort",
      "10.96.0.7",
      "<none>",
      "80:30080/TCP,53/UDP",
      "60m",
      "a=1,b=2",
    ]);
    expect(cells(serviceKind, { spec: { type: "LoadBalancer" }, status: { loadBalancer: {} } })?.[3]).toBe("<pending>");
    expect(cells(serviceKind, { spec: { type: "LoadBalancer" }, status: { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } } })?.[3]).toBe(
      "1.2.3.4",
    );
    expect(cells(serviceKind, { spec: { type: "ExternalName", externalName: "example.com" }, status: { loadBalancer: {} } })?.[3]).toBe(
      "example.com",
    );
  });

  test("of a deployment show its progress", () => {
    const spec = {
      replicas: 3,
      selector: { matchLabels: { app: "web" }, matchExpressions: [{ key: "tier", operator: "In", values: ["b", "a"] }] },
      template: {
        spec: {
          containers: [
            { name: "c", image: "i" },
            { name: "d", image: "j" },
          ],
        },
      },
    };

    expect(cells(deploymentKind, { spec, status: { readyReplicas: 1, updatedReplicas: 2 } })).toEqual([
      "a",
      "1/3",
      2,
      0,
      "60m",
      "c,d",
      "i,j",
      "app=web,tier in (a,b)",
    ]);
  });

  test("of an event show its age and object", () => {
    const event = {
      involvedObject: { kind: "Pod", name: "web", fieldPath: "spec.containers{main}" },
      reason: "Pulled",
      message: " Done \n",
      type: "Normal",
      source: { component: "kubelet", host: "n1" },
      reportingComponent: "kubelet",
      reportingInstance: "n1",
    };

    const old = cells(eventKind, { ...event, firstTimestamp: "2026-01-01T11:50:00Z", lastTimestamp: "2026-01-01T11:59:00Z", count: 4 });
    const modern = cells(eventKind, { ...event, firstTimestamp: null, lastTimestamp: null, eventTime: "2026-01-01T11:59:50.000000Z" });

    expect(old).toEqual(["60s", "Normal", "Pulled", "pod/web", "spec.containers{main}", "kubelet, n1", "Done", "10m", 4, "a"]);
    expect(modern?.[0]).toBe("10s");
    expect(modern?.[8]).toBe(1);
  });
});
