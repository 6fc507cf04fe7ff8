import { randomUUID } from "node:crypto";
import { cloudProject } from "./fake-keystone.ts";
import type { ZunAnswer, ZunCall } from "./fake-zun.ts";

type Row = Record<string, unknown> & { readonly id: string };

const network = "6c2dee1c-8d4c-4b39-a4b1-5d6b8f0d7d2e";
const external = "0f6f3cf1-5d4f-4a0c-8f0e-3f0b3d7b6d10";

/** Query parameters that are not filters for columns of the table. */
const ignored: ReadonlySet<string> = new Set(["fields", "tenant_id", "project_id", "limit", "marker", "sort_key", "sort_dir"]);

/** Fields of a new port in addition to the requested ones. Source: Neutron's API reference, v2.0, "Create port". */
const newPort = {
  tenant_id: cloudProject.id,
  status: "DOWN",
  device_id: "",
  device_owner: "",
  mac_address: "fa:16:3e:00:00:01",
  fixed_ips: [],
  "binding:vnic_type": "normal",
  "binding:vif_type": "unbound",
};

/** Fake of Neutron: tables of networks, subnets, security groups, ports and floating IPs. Shapes: Neutron's API reference, v2.0. */
export class FakeNeutron {
  readonly tables: Readonly<Record<string, Row[]>> = {
    networks: [
      { id: network, name: "private", "router:external": false, shared: false, created_at: "2026-01-01T00:00:00Z" },
      { id: external, name: "public", "router:external": true, shared: false, created_at: "2026-02-01T00:00:00Z" },
    ],
    subnets: [{ id: "2b8ff8a9-4d0c-4c2a-9d65-5a1ad7d1cf41", name: "private-subnet", network_id: network }],
    "security-groups": [{ id: "7f1a9a0e-97ac-4e53-9c6b-1d2e4b5c6d7e", name: "web" }],
    ports: [],
    floatingips: [],
  };

  /** Answers a call; the path is without the version. */
  answer({ method, path, query, body }: ZunCall): ZunAnswer {
    const [, collection = "", id = ""] = path.split("/");
    const rows = this.tables[collection];
    if (!rows) return fault(404, "HTTPNotFound", `no ${collection}`);
    const one = collection.replace("-", "_").replace(/s$/, "");
    if (method === "POST") {
      const given = (body as Record<string, Record<string, unknown>>)[one] ?? {};
      if (collection === "floatingips") given["floating_ip_address"] = `203.0.113.${rows.length + 10}`;
      const row: Row = { ...(collection === "ports" && newPort), ...given, id: randomUUID(), created_at: new Date().toISOString() };
      rows.push(row);
      return { status: 201, body: { [one]: row } };
    }
    if (id === "") {
      const found = rows.filter((row) =>
        Object.entries(query).every(([key, value]) => ignored.has(key) || String(row[key]).toLowerCase() === value.toLowerCase()),
      );
      return { status: 200, body: { [collection.replace("-", "_")]: found } };
    }
    const at = rows.findIndex((row) => row.id === id);
    if (at < 0) return fault(404, "NotFound", `${one} ${id} could not be found`);
    if (method === "DELETE") {
      rows.splice(at, 1);
      return { status: 204 };
    }
    if (method === "PUT") Object.assign(rows[at] ?? {}, (body as Record<string, object>)[one]);
    return { status: 200, body: { [one]: rows[at] } };
  }
}

function fault(status: number, type: string, message: string): ZunAnswer {
  return { status, body: { NeutronError: { type, message, detail: "" } } };
}
