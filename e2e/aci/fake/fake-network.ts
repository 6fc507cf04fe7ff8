import { ArmError, resourceNotFound } from "./arm-error.ts";
import type { ArmAnswer, ArmPath, ArmRequest } from "./arm-request.ts";

/** A subnet as the network API writes it. */
export interface FakeSubnet {
  readonly name: string;
  readonly properties: {
    readonly addressPrefix?: string | undefined;
    readonly delegations?: readonly { readonly name: string; readonly properties: { readonly serviceName: string } }[] | undefined;
    readonly routeTable?: { readonly id: string } | undefined;
  };
}

/** Virtual networks and their subnets. */
export class FakeNetwork {
  /** Subnets by resource group, virtual network and subnet in lower case: `rg/vnet/subnet`. */
  readonly subnets: Map<string, FakeSubnet> = new Map<string, FakeSubnet>();
  /** Virtual networks: `rg/vnet` in lower case. */
  readonly networks: Set<string> = new Set<string>();

  /** Answers a request of `Microsoft.Network/virtualNetworks`. @throws ArmError */
  answer({ method, body }: ArmRequest, { subscription, resourceGroup = "", rest }: ArmPath): ArmAnswer {
    const [, network = "", , subnet] = rest;
    const networkKey = `${resourceGroup}/${network}`.toLowerCase();
    if (!this.networks.has(networkKey)) throw resourceNotFound("Microsoft.Network/virtualNetworks", network, resourceGroup);
    const networkId = `/subscriptions/${subscription}/resourceGroups/${resourceGroup}/providers/Microsoft.Network/virtualNetworks/${network}`;
    const view = (each: FakeSubnet): object => ({
      id: `${networkId}/subnets/${each.name}`,
      name: each.name,
      properties: { ...each.properties, provisioningState: "Succeeded" },
    });
    if (subnet === undefined) {
      const own = [...this.subnets].filter(([key]) => key.startsWith(`${networkKey}/`)).map(([, each]) => view(each));
      return { status: 200, body: { id: networkId, name: network, properties: { subnets: own, provisioningState: "Succeeded" } } };
    }
    const key = `${networkKey}/${subnet}`.toLowerCase();
    if (method === "PUT") {
      const { properties = {} } = (body ?? {}) as Partial<FakeSubnet>;
      if (properties.addressPrefix === undefined)
        throw new ArmError(400, "NoAddressPrefixOrPoolProvided", `Subnet '${subnet}' does not have an address prefix.`);
      const isNew = !this.subnets.has(key);
      const made = { name: subnet, properties };
      this.subnets.set(key, made);
      return { status: isNew ? 201 : 200, body: view(made) };
    }
    const found = this.subnets.get(key);
    if (!found) throw new ArmError(404, "NotFound", `Resource ${networkId}/subnets/${subnet} not found.`);
    return { status: 200, body: view(found) };
  }
}
