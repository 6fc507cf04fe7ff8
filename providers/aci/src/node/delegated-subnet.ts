import type { Clock } from "@virtual-kubelet/clock";
import { InvalidInputError, isNotFound, UnavailableError } from "@virtual-kubelet/errdefs";
import { z } from "zod";
import type { ArmClient, ArmRequest } from "../azure/arm-client.ts";
import type { SubnetSettings } from "../config/settings.ts";

/** Version of Microsoft.Network's API. */
const apiVersion = "2024-05-01";
const service = "Microsoft.ContainerInstance/containerGroups";

/** Delay between two looks at a subnet that is being changed, and their number. */
const pollMs = 2_000;
const maxPolls = 60;

const subnetSchema = z.looseObject({
  name: z.string().optional(),
  properties: z.looseObject({
    provisioningState: z.string().nullish(),
    addressPrefix: z.string().nullish(),
    addressPrefixes: z.array(z.string()).nullish(),
    routeTable: z.looseObject({ id: z.string().nullish() }).nullish(),
    delegations: z.array(z.looseObject({ properties: z.looseObject({ serviceName: z.string().nullish() }).nullish() })).nullish(),
    serviceAssociationLinks: z
      .array(z.looseObject({ properties: z.looseObject({ linkedResourceType: z.string().nullish() }).nullish() }))
      .nullish(),
  }),
});

type Subnet = z.infer<typeof subnetSchema>;

/**
 * Makes sure that the pods' subnet exists and is delegated to container groups, as the original provider does. Only called with a configured range.
 * Source: azure-aci v1.6.4 pkg/network/aci_network.go.
 *
 * @throws InvalidInputError if the subnet has another range, a route table or another user; what Azure answers
 */
export async function ensureSubnet(arm: ArmClient, { id, cidr }: SubnetSettings, clock: Clock, signal: AbortSignal): Promise<void> {
  const request = (method: "get" | "put", body?: unknown): ArmRequest => ({
    method,
    path: id,
    apiVersion,
    attempted: `${method === "get" ? "read" : "set up"} subnet ${id.split("/").at(-1)}`,
    ...(body !== undefined && { body }),
    call: {
      class: method === "get" ? "read" : "write",
      operation: method === "get" ? "Subnets_Get" : "Subnets_CreateOrUpdate",
      isIdempotent: true,
      priority: "urgent",
    },
  });
  const found = await arm.send(request("get"), subnetSchema, signal).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  if (found && isDelegated(found, { id, cidr })) return;
  const delegation = {
    name: "aciDelegation",
    properties: { serviceName: service, actions: ["Microsoft.Network/virtualNetworks/subnets/action"] },
  };
  const properties = found
    ? { ...found.properties, delegations: [...(found.properties.delegations ?? []), delegation] }
    : { addressPrefix: cidr, delegations: [delegation] };
  await arm.send(request("put", { ...found, properties }), subnetSchema, signal);
  for (let polls = 0; polls < maxPolls; polls++) {
    const { properties: now } = await arm.send(request("get"), subnetSchema, signal);
    if (now.provisioningState === undefined || now.provisioningState === null || now.provisioningState === "Succeeded") return;
    if (now.provisioningState === "Failed") throw new UnavailableError(`set up subnet ${id}: Azure reports that it failed`);
    await clock.sleep(pollMs, signal);
  }
  throw new UnavailableError(`set up subnet ${id}: Azure is still changing it`);
}

/** Whether container groups may use the subnet already. @throws InvalidInputError if they never may */
function isDelegated({ properties }: Subnet, { id, cidr }: SubnetSettings): boolean {
  const refuse = (why: string): InvalidInputError => new InvalidInputError(`use subnet ${id} for container groups: ${why}`);
  const prefixes = [properties.addressPrefix, ...(properties.addressPrefixes ?? [])].filter((prefix) => prefix != null);
  if (cidr !== undefined && !prefixes.includes(cidr))
    throw refuse(`its range is ${prefixes.join(", ") || "not known"}, and subnetCidr is ${cidr}`);
  if (properties.routeTable) throw refuse(`it has the route table ${properties.routeTable.id ?? ""}`);
  const links = (properties.serviceAssociationLinks ?? []).map((link) => link.properties?.linkedResourceType);
  const other = links.find((type) => type != null && type !== service);
  if (other) throw refuse(`it is used by ${other}`);
  const delegations = (properties.delegations ?? []).map((each) => each.properties?.serviceName);
  if (links.includes(service) || delegations.includes(service)) return true;
  if (delegations.length > 0) throw refuse(`it is delegated to ${delegations.join(", ")}`);
  return false;
}
