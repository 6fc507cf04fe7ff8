import { problemOf } from "@virtual-kubelet/core";
import { InvalidInputError, isNotFound, UnavailableError } from "@virtual-kubelet/errdefs";
import { z } from "zod";
import type { ServiceRequest, Session } from "../openstack/session.ts";

/** Port, with the fields that are used here. */
export interface NeutronPort {
  readonly id: string;
  readonly name?: string | null | undefined;
  readonly description?: string | null | undefined;
}

/** Floating IP, with the fields that are used here. */
export interface FloatingIp {
  readonly id: string;
  readonly floating_ip_address?: string | null | undefined;
  readonly port_id?: string | null | undefined;
  readonly description?: string | null | undefined;
}

/** Values of a new port. */
export interface PortRequest {
  readonly network_id: string;
  readonly fixed_ips?: readonly { readonly subnet_id?: string; readonly ip_address?: string }[];
  readonly security_groups?: readonly string[];
  /** Identifies the owner; see pod-labels.ts. */
  readonly name: string;
  readonly description: string;
}

/** Lists of Neutron in which objects are found by name. */
type Collection = "networks" | "subnets" | "security-groups";

interface Named {
  readonly id: string;
  readonly name?: string | null | undefined;
  readonly network_id?: string | undefined;
}

/** The id becomes part of a URL's path. */
const id = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/);
const portSchema: z.ZodType<NeutronPort> = z.object({ id, name: z.string().nullish(), description: z.string().nullish() });
const floatingIpSchema: z.ZodType<FloatingIp> = z.object({
  id,
  floating_ip_address: z.string().nullish(),
  port_id: z.string().nullish(),
  description: z.string().nullish(),
});
const namedSchema: z.ZodType<Named> = z.object({ id, name: z.string().nullish(), network_id: z.string().optional() });

const uuidPattern = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

/** Client of Neutron, with a method for each call. All methods throw the errors of {@link Session.send}. */
export class NeutronApi {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Id of a network. @throws InvalidInputError if there is none, or more than one, with that name */
  async networkId(nameOrId: string, signal: AbortSignal): Promise<string> {
    return uuidPattern.test(nameOrId) ? nameOrId : (await this.#find("networks", nameOrId, signal)).id;
  }

  /** A subnet, with its network. @throws InvalidInputError if there is none, or more than one, with that name */
  async subnet(nameOrId: string, signal: AbortSignal): Promise<{ readonly id: string; readonly networkId: string }> {
    const { id, network_id: networkId = "" } = await this.#find("subnets", nameOrId, signal);
    return { id, networkId };
  }

  /** Id of a security group. @throws InvalidInputError if there is none, or more than one, with that name */
  async securityGroupId(nameOrId: string, signal: AbortSignal): Promise<string> {
    return uuidPattern.test(nameOrId) ? nameOrId : (await this.#find("security-groups", nameOrId, signal)).id;
  }

  /** Id of the external network, which provides floating IPs. @throws InvalidInputError unless there is exactly one */
  async externalNetworkId(signal: AbortSignal): Promise<string> {
    const networks = await this.#list("networks", namedSchema, { "router:external": "true" }, signal);
    const [only] = networks;
    if (only && networks.length === 1) return only.id;
    throw new InvalidInputError(`find the external network: there are ${networks.length}, so set floatingNetwork (ZUN_FLOATING_NETWORK)`);
  }

  /** Creates a port. */
  async createPort(port: PortRequest, signal: AbortSignal): Promise<NeutronPort> {
    const { body } = await this.#send("POST", "/ports", "create a port", signal, { port });
    return read("create a port", z.object({ port: portSchema }), body).port;
  }

  /** Sets the security groups of a port. */
  async setSecurityGroups(portId: string, ids: readonly string[], signal: AbortSignal): Promise<void> {
    await this.#send("PUT", `/ports/${portId}`, "put a port into security groups", signal, { port: { security_groups: ids } });
  }

  /** Ports with these values. */
  async portsBy(filter: Readonly<Partial<Record<"name" | "description", string>>>, signal: AbortSignal): Promise<readonly NeutronPort[]> {
    return matching(filter, await this.#list("ports", portSchema, filter, signal));
  }

  /** Deletes a port. Succeeds if the port does not exist. */
  deletePort(id: string, signal: AbortSignal): Promise<void> {
    return this.#delete(`/ports/${id}`, "delete a port", signal);
  }

  /** Allocates a floating IP from the pool for a port. */
  async createFloatingIp(
    request: { readonly networkId: string; readonly portId: string; readonly description: string },
    signal: AbortSignal,
  ): Promise<FloatingIp> {
    const floatingip = { floating_network_id: request.networkId, port_id: request.portId, description: request.description };
    const { body } = await this.#send("POST", "/floatingips", "create a floating IP", signal, { floatingip });
    return read("create a floating IP", z.object({ floatingip: floatingIpSchema }), body).floatingip;
  }

  /** Assigns an existing floating IP of the project to a port; `null` removes the assignment. */
  async moveFloatingIp(id: string, portId: string | null, signal: AbortSignal): Promise<void> {
    await this.#send("PUT", `/floatingips/${id}`, "give a floating IP to a port", signal, { floatingip: { port_id: portId } });
  }

  /** Floating IPs with these values. */
  async floatingIpsBy(
    filter: Readonly<Partial<Record<"description" | "floating_ip_address", string>>>,
    signal: AbortSignal,
  ): Promise<readonly FloatingIp[]> {
    return matching(filter, await this.#list("floatingips", floatingIpSchema, filter, signal));
  }

  /** Releases a floating IP to the pool. */
  deleteFloatingIp(id: string, signal: AbortSignal): Promise<void> {
    return this.#delete(`/floatingips/${id}`, "delete a floating IP", signal);
  }

  async #find(collection: Collection, nameOrId: string, signal: AbortSignal): Promise<Named> {
    const key = uuidPattern.test(nameOrId) ? "id" : "name";
    const found = matching({ [key]: nameOrId }, await this.#list(collection, namedSchema, { [key]: nameOrId }, signal));
    const [only] = found;
    if (only && found.length === 1) return only;
    const what = collection.replace("-", " ").replace(/s$/, "");
    throw new InvalidInputError(
      `find the ${what} ${JSON.stringify(nameOrId)}: the project can see ${found.length} with that name, expected one; use the id`,
    );
  }

  /** @throws UnavailableError if the answer is not a list, because nothing is known then. Entries that cannot be read are left out */
  async #list<T>(
    collection: string,
    schema: z.ZodType<T>,
    filter: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<readonly T[]> {
    const query = new URLSearchParams(filter);
    const what = `list ${collection.replace("-", " ")}`;
    const { body } = await this.#send("GET", `/${collection}?${query.toString()}`, what, signal);
    const entries = read(what, z.record(z.string(), z.unknown()), body)[collection.replace("-", "_")];
    return read(what, z.array(z.unknown()), entries).flatMap((entry) => schema.safeParse(entry).data ?? []);
  }

  async #delete(path: string, what: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#send("DELETE", path, what, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  #send(method: ServiceRequest["method"], path: string, what: string, signal: AbortSignal, body?: unknown): ReturnType<Session["send"]> {
    return this.#session.send({ service: "network", method, path, what, signal, body });
  }
}

/** Applied again here, because a Neutron that does not support a filter returns everything, including other people's objects. */
function matching<T extends object>(filter: Readonly<Record<string, string>>, found: readonly T[]): readonly T[] {
  return found.filter((each) => Object.entries(filter).every(([key, value]) => (each as Readonly<Record<string, unknown>>)[key] === value));
}

/** @throws UnavailableError with the field */
function read<T>(what: string, schema: z.ZodType<T>, value: unknown): T {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  throw new UnavailableError(`${what}: the server does not answer as Neutron does: ${problemOf(error)}`);
}
