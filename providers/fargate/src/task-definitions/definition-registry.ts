import { KeyedMutex, SingleFlight } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import type { Owner } from "@virtual-kubelet/core";
import type { RegisterTaskDefinitionCommandInput } from "@aws-sdk/client-ecs";
import { deleteBatch, type EcsApi } from "../aws/ecs-api.ts";
import { familyPrefixOf } from "../task/definition-family.ts";
import { hasOwnerTags } from "../task/pod-identity.ts";

export interface DefinitionRegistryOptions {
  readonly api: Pick<
    EcsApi,
    | "registerTaskDefinition"
    | "describeTaskDefinition"
    | "listFamilies"
    | "listRevisions"
    | "deregisterTaskDefinition"
    | "deleteTaskDefinitions"
  >;
  readonly clock: Clock;
  readonly owner: Owner;
  /** Milliseconds after which an unused definition is deleted; 0: never. */
  readonly keepMs: number;
}

/** Families that one sweep removes at most, because AWS accepts about one change of definitions per second. */
const maxRemovedAtOnce = 20;

/**
 * Task definitions of a node. Each is registered once for all pods with the same content, also after a restart of the program, and removed when no
 * pod has used it for some time.
 */
export class DefinitionRegistry {
  readonly #options: DefinitionRegistryOptions;
  readonly #flights = new SingleFlight<string>();
  /** A family is never registered and removed at the same time. */
  readonly #families = new KeyedMutex();
  readonly #arns = new Map<string, string>();
  /** Monotonic time of the last use of each family, or of the time at which it was first seen. */
  readonly #usedMs = new Map<string, number>();

  constructor(options: DefinitionRegistryOptions) {
    this.#options = options;
  }

  /** Returns the ARN of the active definition with this content, and registers it if there is none. */
  ensure(definition: RegisterTaskDefinitionCommandInput, signal: AbortSignal): Promise<string> {
    const family = definition.family ?? "";
    this.#noteUse(family);
    return this.#flights.run(family, (shared) => this.#families.run(family, () => this.#ensure(family, definition, shared)), signal);
  }

  /** Forgets a definition that somebody has removed, so that it is registered again. */
  forget(family: string): void {
    this.#arns.delete(family);
  }

  /** Notes that a task of this definition exists. */
  noteTask(definitionArn: string): void {
    const family = familyOfArn(definitionArn);
    if (family.startsWith(familyPrefixOf(this.#options.owner))) this.#noteUse(family);
  }

  /**
   * Removes definitions of this node that no task has used for the configured time, and those that an earlier sweep has only deregistered.
   * Definitions without the node's tags stay.
   */
  async sweep(signal: AbortSignal): Promise<void> {
    const { api, owner, keepMs, clock } = this.#options;
    if (keepMs === 0) return;
    const prefix = familyPrefixOf(owner);
    const unused: string[] = [];
    for (const family of await api.listFamilies(prefix, "ACTIVE", signal)) {
      const usedMs = this.#usedMs.get(family);
      if (usedMs === undefined) this.#noteUse(family);
      else if (clock.monotonic() - usedMs >= keepMs) unused.push(family);
    }
    for (const family of unused.slice(0, maxRemovedAtOnce)) await this.#families.run(family, () => this.#deregister(family, signal));
    const inactive: string[] = [];
    for (const family of (await api.listFamilies(prefix, "INACTIVE", signal)).slice(0, maxRemovedAtOnce))
      if (await this.#isOwn(family, signal)) inactive.push(...(await api.listRevisions(family, "INACTIVE", signal)));
    for (let at = 0; at < inactive.length; at += deleteBatch) await api.deleteTaskDefinitions(inactive.slice(at, at + deleteBatch), signal);
  }

  async #ensure(family: string, definition: RegisterTaskDefinitionCommandInput, signal: AbortSignal): Promise<string> {
    const { api, owner } = this.#options;
    const known = this.#arns.get(family);
    if (known !== undefined) return known;
    const existing = await api.describeTaskDefinition(family, signal);
    const arn =
      existing?.status === "ACTIVE" && hasOwnerTags(existing.tags, owner)
        ? existing.arn
        : await api.registerTaskDefinition(definition, signal);
    this.#arns.set(family, arn);
    return arn;
  }

  async #deregister(family: string, signal: AbortSignal): Promise<void> {
    const { api, owner, clock, keepMs } = this.#options;
    // A pod may have used it while the sweep waited.
    if (clock.monotonic() - (this.#usedMs.get(family) ?? Number.NEGATIVE_INFINITY) < keepMs) return;
    const existing = await api.describeTaskDefinition(family, signal);
    if (!existing || !hasOwnerTags(existing.tags, owner)) return;
    this.#arns.delete(family);
    await api.deregisterTaskDefinition(existing.arn, signal);
    this.#usedMs.delete(family);
  }

  /** A family without an active revision is described by one of its revisions. */
  async #isOwn(family: string, signal: AbortSignal): Promise<boolean> {
    const { api, owner } = this.#options;
    const [revision] = await api.listRevisions(family, "INACTIVE", signal);
    const existing = revision === undefined ? undefined : await api.describeTaskDefinition(revision, signal);
    return existing !== undefined && hasOwnerTags(existing.tags, owner);
  }

  #noteUse(family: string): void {
    this.#usedMs.set(family, this.#options.clock.monotonic());
  }
}

/** `arn:aws:ecs:REGION:ACCOUNT:task-definition/FAMILY:REVISION` */
function familyOfArn(arn: string): string {
  return (arn.split("/").at(-1) ?? "").split(":")[0] ?? "";
}
