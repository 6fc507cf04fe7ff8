import type { Logger, Owner, PodRef } from "@virtual-kubelet/core";
import { InvalidInputError, isNotFound, UnavailableError } from "@virtual-kubelet/errdefs";
import { isIP } from "node:net";
import type { NeutronApi, PortRequest } from "../neutron/neutron-api.ts";
import type { ZunNet } from "../pod/container-of.ts";
import { floatingIpDescription, ownerDescription, portName, type PodLabels } from "../pod/pod-labels.ts";
import type { PodSettings } from "../pod/pod-settings.ts";
import { portsOf, type ZunObject } from "../status/zun-object.ts";

export interface PodNetworkOptions {
  readonly neutron: NeutronApi;
  readonly owner: Owner;
  readonly logger: Logger;
  /** Records an event about the pod's floating IP. */
  readonly onFloatingIp: (ref: PodRef, address: string) => void;
  /** Network of the floating IPs; default: the only external network. */
  readonly floatingNetwork: string | undefined;
}

/** Manages the Neutron objects of pods: ports on subnets, security groups, floating IPs. */
export class PodNetwork {
  readonly #options: PodNetworkOptions;
  /** UIDs of pods for which a floating IP was requested, and of which no event tells it yet, because the answer was lost. */
  readonly #untold = new Set<string>();

  constructor(options: PodNetworkOptions) {
    this.#options = options;
  }

  /** The networks to make a container with; ports of its own are made first, or found again. */
  async prepare(labels: PodLabels, settings: PodSettings, signal: AbortSignal): Promise<readonly ZunNet[]> {
    if (!labels.ownsPorts) return netsOf(labels.ref, settings);
    const { neutron } = this.#options;
    const name = portName(labels.ref);
    const there = await neutron.portsBy({ name }, signal);
    if (there.length > 0) return there.map(({ id }) => ({ port: id }));
    const wanted = await this.#portRequests(labels.ref, settings, signal);
    const nets: ZunNet[] = [];
    for (const port of wanted) nets.push({ port: (await neutron.createPort(port, signal)).id });
    return nets;
  }

  /** What a plan shows in place of {@link PodNetwork.prepare}, which makes ports. */
  static planned(labels: PodLabels, settings: PodSettings): readonly ZunNet[] {
    if (!labels.ownsPorts) return netsOf(labels.ref, settings);
    return settings.subnets.map((subnet) => ({ port: `{port on subnet ${subnet}}` }));
  }

  /**
   * Does what can only be done once Zun has made the ports: a capsule's security groups, and the floating IP. What is done already is left
   * as it is.
   *
   * @throws UnavailableError before the ports are known
   */
  async settle(observed: ZunObject, signal: AbortSignal): Promise<void> {
    const { labels } = observed;
    const [port] = portsOf(observed);
    if (labels.securityGroups.length === 0 && labels.floatingIp === undefined) return;
    if (port === undefined) throw new UnavailableError("set up the pod's network: Zun does not tell its port yet");
    if (labels.securityGroups.length > 0) await this.#setSecurityGroups(observed, signal);
    if (labels.floatingIp !== undefined) await this.#giveFloatingIp(labels, port, signal);
  }

  /** Frees the ports and floating IP of a pod whose container is gone. */
  async release({ ref, ownsPorts, floatingIp }: PodLabels, signal: AbortSignal): Promise<void> {
    const { neutron, owner } = this.#options;
    this.#untold.delete(ref.uid);
    if (floatingIp === "new")
      for (const { id } of await neutron.floatingIpsBy({ description: floatingIpDescription(ref, owner) }, signal))
        await neutron.deleteFloatingIp(id, signal);
    if (ownsPorts) for (const { id } of await neutron.portsBy({ name: portName(ref) }, signal)) await neutron.deletePort(id, signal);
  }

  /**
   * Frees what earlier runs of the program left: ports and floating IPs of this node whose pods are not among these.
   *
   * @param uids - UIDs of all existing pods, including those being created
   */
  async sweep(uids: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const { neutron, owner, logger } = this.#options;
    const description = ownerDescription(owner);
    try {
      for (const { id, name } of await neutron.portsBy({ description }, signal)) {
        const [, uid] = /^vk-(\S+)$/.exec(name ?? "") ?? [];
        if (uid === undefined || uids.has(uid)) continue;
        await neutron.deletePort(id, signal);
        logger.info({ port: id }, "deleted a port whose pod is gone");
      }
      for (const { id, description: text } of await neutron.floatingIpsBy({}, signal)) {
        const [, uid] = text?.startsWith(`${description} pod=`) ? (/ pod=(\S+)$/.exec(text) ?? []) : [];
        if (uid === undefined || uids.has(uid)) continue;
        await neutron.deleteFloatingIp(id, signal);
        logger.info({ floatingIp: id }, "deleted a floating IP whose pod is gone");
      }
    } catch (error) {
      // A cloud without Neutron, or without the right to look.
      if (!isNotFound(error)) throw error;
    }
  }

  async #portRequests(
    ref: PodRef,
    { subnets, fixedIp, securityGroups }: PodSettings,
    signal: AbortSignal,
  ): Promise<readonly PortRequest[]> {
    const { neutron, owner } = this.#options;
    const groups: string[] = [];
    for (const group of securityGroups) groups.push(await neutron.securityGroupId(group, signal));
    const common = {
      name: portName(ref),
      description: ownerDescription(owner),
      ...(groups.length > 0 && { security_groups: groups }),
    };
    const requests: PortRequest[] = [];
    for (const name of subnets) {
      const { id, networkId } = await neutron.subnet(name, signal);
      // The address is on the first subnet.
      const address = requests.length === 0 && fixedIp !== undefined ? { ip_address: fixedIp } : {};
      requests.push({ ...common, network_id: networkId, fixed_ips: [{ subnet_id: id, ...address }] });
    }
    return requests;
  }

  async #setSecurityGroups(observed: ZunObject, signal: AbortSignal): Promise<void> {
    const { neutron } = this.#options;
    const ids: string[] = [];
    for (const group of observed.labels.securityGroups) ids.push(await neutron.securityGroupId(group, signal));
    for (const port of portsOf(observed)) await neutron.setSecurityGroups(port, ids, signal);
  }

  async #giveFloatingIp({ ref, floatingIp = "new" }: PodLabels, portId: string, signal: AbortSignal): Promise<void> {
    const { neutron, owner, floatingNetwork, onFloatingIp } = this.#options;
    if (isIP(floatingIp) !== 0) {
      const [given] = await neutron.floatingIpsBy({ floating_ip_address: floatingIp }, signal);
      if (!given)
        throw new InvalidInputError(
          `give pod ${ref.namespace}/${ref.name} the floating IP ${floatingIp}: the project has no floating IP with that address`,
        );
      if (given.port_id !== portId) await neutron.moveFloatingIp(given.id, portId, signal);
      return;
    }
    const description = floatingIpDescription(ref, owner);
    let [given] = await neutron.floatingIpsBy({ description }, signal);
    if (!given) {
      const networkId =
        floatingNetwork === undefined ? await neutron.externalNetworkId(signal) : await neutron.networkId(floatingNetwork, signal);
      this.#untold.add(ref.uid);
      given = await neutron.createFloatingIp({ networkId, portId, description }, signal);
    }
    if (this.#untold.delete(ref.uid)) onFloatingIp(ref, given.floating_ip_address ?? "");
  }
}

/** Networks that Zun makes the ports on. @throws InvalidInputError for an address without a network */
function netsOf(ref: PodRef, { networks, fixedIp }: PodSettings): readonly ZunNet[] {
  if (fixedIp === undefined) return networks.map((network) => ({ network }));
  const [first, ...others] = networks;
  if (first === undefined)
    throw new InvalidInputError(`give pod ${ref.namespace}/${ref.name} the address ${fixedIp}: name its network or subnet`);
  const address = isIP(fixedIp) === 6 ? { "v6-fixed-ip": fixedIp } : { "v4-fixed-ip": fixedIp };
  return [{ network: first, ...address }, ...others.map((network) => ({ network }))];
}
