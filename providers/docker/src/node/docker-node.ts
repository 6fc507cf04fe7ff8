import type { NodeDescription, NodeImage, ProviderHost } from "@virtual-kubelet/core";
import { isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import { hostMachine, type EvictionRules } from "@virtual-kubelet/pod-runtime";
import type { DockerConfig } from "../config.ts";
import type { DockerRuntime } from "../docker-runtime.ts";
import { gpusOf } from "./host-gpus.ts";
import { describeNode, diskSize, type NodeFacts } from "./node-description.ts";
import { serviceRouting, serviceRoutingCondition, type NodeCondition } from "./service-routing.ts";

/** How often images and the kernel's network settings are compared, in milliseconds. Source: a kubelet's image cache and status updates. */
const watchMs = 60_000;

export interface DockerNodeOptions {
  readonly host: Pick<ProviderHost, "clock" | "logger">;
  readonly config: DockerConfig;
  readonly runtime: DockerRuntime;
  readonly rules: EvictionRules;
}

/** The part of the node's description that changes while the provider runs. */
interface Changing {
  readonly images: readonly NodeImage[];
  readonly conditions: readonly [NodeCondition];
}

/** Describes the node of the engine's machine, and watches for changes. */
export class DockerNode {
  readonly #options: DockerNodeOptions;
  /** Images and conditions that were last described. */
  #described: string | undefined;
  /** The problem with the kernel's network settings that was last logged. */
  #loggedRouting: string | undefined;
  /** Why pods have no network; `undefined` if it was found, or was not looked for yet. */
  #networkProblem: string | undefined;
  #onChanged: (() => void) | undefined;
  #watching: Promise<void> | undefined;

  constructor(options: DockerNodeOptions) {
    this.#options = options;
  }

  /** Looks for the network of new pods. @throws NotFoundError or UnavailableError */
  async checkNetwork(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.runtime.findNetwork(signal);
      this.#setNetworkProblem(undefined);
    } catch (error) {
      if (isNotFound(error)) this.#setNetworkProblem(messageOf(error));
      throw error;
    }
  }

  /**
   * Describes the node.
   *
   * @param pressureConditions - the pressure conditions at the end of the measurements
   * @throws UnavailableError; InvalidInputError if more is reserved than there is
   */
  async describe(pressureConditions: () => readonly NodeCondition[], signal: AbortSignal): Promise<NodeDescription> {
    const { config, host } = this.#options;
    const measured = await this.measure(signal);
    const changing = await this.#readChanging(signal);
    this.#described = JSON.stringify(changing);
    const [{ status, message }] = changing.conditions;
    if (status === "False" && message !== this.#loggedRouting) host.logger.warn({ network: config.network }, message);
    this.#loggedRouting = message;
    return describeNode({
      ...measured,
      images: changing.images,
      conditions: [...pressureConditions(), this.#networkCondition(), ...changing.conditions],
    });
  }

  /** Reads the size of the node. @throws UnavailableError */
  async measure(signal: AbortSignal): Promise<Omit<NodeFacts, "images" | "conditions">> {
    const { runtime, config, rules } = this.#options;
    const facts = await runtime.facts(signal);
    const [gpus, diskBytes, machine] = await Promise.all([gpusOf(config), diskSize(facts.rootDirectory), hostMachine()]);
    return { facts, config, gpus, diskBytes, machine, thresholds: rules.thresholds };
  }

  /** Calls back, until the signal, when images, the kernel's network settings or the pods' network have changed. */
  watch(onChanged: () => void, signal: AbortSignal): void {
    this.#onChanged = onChanged;
    this.#watching ??= this.#watch(onChanged, signal).catch(() => {});
  }

  /** Resolves when the watch has ended. */
  async ended(): Promise<void> {
    await this.#watching;
  }

  /** @throws only `signal.reason` */
  async #watch(onChanged: () => void, signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#options.host.clock.sleep(watchMs, signal);
      // An engine that does not answer is no change.
      const changing = await this.#readChanging(signal).catch(() => undefined);
      signal.throwIfAborted();
      if (changing && this.#described !== undefined && JSON.stringify(changing) !== this.#described) onChanged();
    }
  }

  async #readChanging(signal: AbortSignal): Promise<Changing> {
    const images = await this.#options.runtime.images.nodeImages(signal);
    return { images, conditions: [await this.#routingCondition(signal)] };
  }

  /** A missing network does not prevent the description: it makes the node not ready. */
  async #routingCondition(signal: AbortSignal): Promise<NodeCondition> {
    try {
      return await serviceRouting(await this.#options.runtime.findNetwork(signal));
    } catch (error) {
      signal.throwIfAborted();
      return { type: serviceRoutingCondition, status: "Unknown", reason: "NetworkUnknown", message: messageOf(error) };
    }
  }

  #networkCondition(): NodeCondition {
    const type = "NetworkUnavailable";
    const problem = this.#networkProblem;
    if (problem !== undefined) return { type, status: "True", reason: "NetworkNotFound", message: problem };
    const { cni, network } = this.#options.config;
    const message = cni ? `network plugins of ${cni.confDir} connect pods` : `the engine has the pods' network "${network}"`;
    return { type, status: "False", reason: "NetworkFound", message };
  }

  #setNetworkProblem(problem: string | undefined): void {
    if (problem === this.#networkProblem) return;
    this.#networkProblem = problem;
    this.#onChanged?.();
  }
}
