import { equalJson } from "../../json/json-value.ts";
import type { Kind } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { firstOf, plainKind, textColumn } from "./plain-kind.ts";
import { endpointSliceErrors, endpointSubsetsErrors } from "./validate-endpoints.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/apis/discovery, pkg/apis/core and pkg/printers/internalversion. */

interface Subset {
  readonly addresses?: readonly { readonly ip: string }[];
  readonly ports?: { port: number; protocol?: string }[];
}

/** Endpoints and endpoint slices. */
export const endpointKinds: readonly Kind[] = [
  plainKind({
    group: "",
    kind: "Endpoints",
    plural: "endpoints",
    singular: "endpoints",
    shortNames: ["ep"],
    namespaced: true,
    applyDefaults(endpoints) {
      const subsets: Subset[] = endpoints["subsets"] ?? [];
      for (const { ports = [] } of subsets) for (const port of ports) port.protocol ??= "TCP";
    },
    validate: endpointSubsetsErrors,
    columns: [
      nameColumn,
      textColumn("Endpoints", "The set of all endpoints is the union of all subsets.", ({ subsets }) => addressesOf(subsets ?? [])),
      ageColumn,
    ],
  }),
  plainKind({
    group: "discovery.k8s.io",
    kind: "EndpointSlice",
    plural: "endpointslices",
    namespaced: true,
    counted: ["addressType", "endpoints", "ports"],
    applyDefaults(slice) {
      for (const port of slice["ports"] ?? []) {
        port.name ??= "";
        port.protocol ??= "TCP";
      }
    },
    prepareForUpdate(slice, old) {
      if (!equalJson(slice.metadata.labels, old.metadata.labels)) slice.metadata.generation = (old.metadata.generation ?? 0) + 1;
    },
    validate: endpointSliceErrors,
    columns: [
      nameColumn,
      textColumn(
        "AddressType",
        "addressType specifies the type of address carried by this EndpointSlice.",
        ({ addressType }) => addressType,
      ),
      textColumn(
        "Ports",
        "ports specifies the list of network ports exposed by each endpoint in this slice.",
        ({ ports }) => firstOf(portsOf(ports ?? [])) || "<unset>",
      ),
      textColumn(
        "Endpoints",
        "endpoints is a list of unique endpoints in this slice.",
        ({ endpoints }) => firstOf(endpointsOf(endpoints ?? [])) || "<unset>",
      ),
      ageColumn,
    ],
  }),
];

function addressesOf(subsets: readonly Subset[]): string {
  const all = subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) => addresses.map(({ ip }) => `${ip.includes(":") ? `[${ip}]` : ip}:${port}`)),
  );
  return firstOf(all) || "<none>";
}

function portsOf(ports: readonly { readonly port?: number; readonly name?: string }[]): string[] {
  return ports.map(({ port, name }) => (port === undefined ? (name ?? "*") : String(port)));
}

function endpointsOf(endpoints: readonly { readonly addresses?: readonly string[] | null }[]): string[] {
  return endpoints.flatMap(({ addresses }) => addresses ?? []);
}
